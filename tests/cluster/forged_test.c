/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Bodies with a MAC: jobs that somebody without the key puts on a node are never run. */
#include <weir/admin.h>
#include <weir/consumer.h>

#include "cluster/servers.h"
#include "support/jobs.h"

#define KEY "0123456789abcdef0123456789abcdef"

struct world {
    struct servers servers;
    weir_broker *broker;
    _Atomic int runs;
    _Atomic int told; /* forged jobs that the log tells of */
};

static void keep_log(enum weir_log_level level, const char *message, void *arg)
{
    struct world *world = arg;
    if (level == WEIR_LOG_WARNING && strstr(message, "may be forged") != NULL) {
        const char *others = strstr(message, ", after ");
        (void)atomic_fetch_add(&world->told, 1 + (others == NULL ? 0 : atoi(others + 8)));
    }
}

static int handle(weir_context *context, const struct weir_job *job, void *arg)
{
    struct world *world = arg;
    (void)context;
    CHECK_INT(job->body_size, ==, 5);
    CHECK(memcmp(job->body, "hello", 5) == 0);
    (void)atomic_fetch_add(&world->runs, 1);
    return WEIR_OK;
}

static void write_keys(const char *text)
{
    FILE *file = fopen("key", "w");
    CHECK(file != NULL);
    CHECK(fputs(text, file) >= 0);
    CHECK(fclose(file) == 0);
}

/* One node, so that all is where the test looks for it. key_file: NULL: none. */
static enum weir_status open_keyed(struct world *world, const char *key_file,
                                   struct weir_error *ret_error)
{
    char url[128];
    struct weir_broker_options options = {0};
    options.allocator = *test_allocator();
    options.log = keep_log;
    options.log_arg = world;
    (void)snprintf(url, sizeof(url), "beanstalk://127.0.0.1:%d/?replicas=1%s%s",
                   world->servers.node[0].port,
                   key_file == NULL ? "" : "&hmac_key_file=", key_file == NULL ? "" : key_file);
    return weir_broker_open(url, &options, &world->broker, ret_error);
}

static void begin(struct world *world, const char *keys)
{
    struct weir_error error;
    memset(world, 0, sizeof(*world));
    node_start(&world->servers, 0);
    write_keys(keys);
    CHECK_STATUS(open_keyed(world, "key", &error), WEIR_OK);
}

static void end(struct world *world)
{
    weir_broker_close(world->broker);
    servers_end(&world->servers);
}

static void put(struct world *world)
{
    struct weir_body body = {"hello", 5, NULL};
    struct weir_error error;
    CHECK_STATUS(weir_broker_put(world->broker, "t", &body, 1, NULL, NULL, &error), WEIR_OK);
}

static void put_raw(struct world *world, const char *tube, const char *body)
{
    char command[400];
    char answer[64] = "";
    (void)snprintf(command, sizeof(command), "use %s\r\n", tube);
    (void)snprintf(command + strlen(command), sizeof(command) - strlen(command),
                   "put 2 0 60 %zu\r\n%s\r\n", strlen(body), body);
    int fd = connect_port(world->servers.node[0].port);
    CHECK(write(fd, command, strlen(command)) == (ssize_t)strlen(command));
    size_t used = 0;
    while (strstr(answer, "INSERTED") == NULL || answer[used - 1] != '\n') {
        ssize_t count = read(fd, answer + used, sizeof(answer) - 1 - used);
        CHECK(count > 0);
        used += (size_t)count;
        answer[used] = '\0';
    }
    (void)close(fd);
}

/* The bytes of a job, as any other client sees them. */
static void peek_raw(struct world *world, int id, char *body, size_t size)
{
    char command[32];
    int fd = connect_port(world->servers.node[0].port);
    (void)snprintf(command, sizeof(command), "peek %d\r\nquit\r\n", id);
    CHECK(write(fd, command, strlen(command)) == (ssize_t)strlen(command));
    char answer[400];
    size_t used = 0;
    ssize_t count;
    while ((count = read(fd, answer + used, sizeof(answer) - 1 - used)) > 0) {
        used += (size_t)count;
    }
    answer[used] = '\0';
    (void)close(fd);
    const char *start = strchr(answer, '\n');
    CHECK(strncmp(answer, "FOUND", 5) == 0 && start != NULL);
    (void)snprintf(body, size, "%.*s", (int)strcspn(start + 1, "\r"), start + 1);
}

static void consume_all(struct world *world, const char *tube)
{
    struct weir_consumer_options options = {0};
    options.handler = handle;
    options.arg = world;
    options.flags = WEIR_CONSUMER_UNTIL_EMPTY;
    weir_consumer *consumer = NULL;
    struct weir_error error;
    CHECK_STATUS(weir_consumer_new(world->broker, tube, &options, &consumer, &error), WEIR_OK);
    CHECK_STATUS(weir_consumer_start(consumer, &error), WEIR_OK);
    CHECK_STATUS(weir_consumer_wait(consumer, WEIR_FOREVER, &error), WEIR_OK);
    weir_consumer_free(consumer);
}

static uint64_t buried(struct world *world, const char *tube)
{
    struct weir_tube_counts counts = {.buried = 0};
    struct weir_error error;
    CHECK_STATUS(weir_broker_tubes(world->broker, tube, jobs_keep_counts, &counts, &error),
                 WEIR_OK);
    return counts.buried;
}

static int check_reason(const struct weir_job *job, void *arg)
{
    CHECK(strstr(job->reason, "may be forged") != NULL);
    (*(int *)arg)++;
    return 0;
}

TEST(runs_its_own_only, "a job with a good MAC runs, with the body that was put; one without, with "
                        "another's, or moved to another time or tube is buried, told and counted")
{
    struct world world;
    char genuine[200];
    char forged[200];
    struct weir_error error;
    int shown = 0;
    begin(&world, KEY "\n");
    put(&world);
    peek_raw(&world, 1, genuine, sizeof(genuine));
    char *mac = strstr(genuine, "/weir1:");
    CHECK(mac != NULL && strlen(mac) == strlen("/weir1:") + 64 + strlen(":hello"));
    consume_all(&world, "t");
    CHECK_INT(world.runs, ==, 1);
    put_raw(&world, "t", "1/hello");
    put_raw(&world, "t", "1/weir1:");
    (void)snprintf(forged, sizeof(forged), "1%s", mac); /* another time */
    put_raw(&world, "t", forged);
    (void)snprintf(forged, sizeof(forged), "%s", genuine); /* another body */
    forged[strlen(forged) - 1] = '0';
    put_raw(&world, "t", forged);
    consume_all(&world, "t");
    CHECK_INT(buried(&world, "t"), ==, 4);
    put_raw(&world, "u", genuine); /* another tube */
    consume_all(&world, "u");
    CHECK_INT(buried(&world, "u"), ==, 1);
    CHECK_INT(world.runs, ==, 1);
    CHECK_STATUS(
        weir_broker_peek(world.broker, "t", WEIR_JOB_BURIED, 9, check_reason, &shown, &error),
        WEIR_OK);
    CHECK_INT(shown, ==, 1);
    end(&world);
    CHECK_INT(world.told, ==, 5);
}

TEST(stays_buried_when_kicked, "a forged job that somebody kicks is buried again")
{
    struct world world;
    struct weir_error error;
    size_t count = 0;
    begin(&world, KEY "\n");
    put_raw(&world, "t", "1/hello");
    consume_all(&world, "t");
    CHECK_STATUS(weir_broker_kick(world.broker, "t", 9, &count, &error), WEIR_OK);
    CHECK_INT(count, ==, 1);
    consume_all(&world, "t");
    CHECK_INT(buried(&world, "t"), ==, 1);
    CHECK_INT(world.runs, ==, 0);
    end(&world);
    CHECK_INT(world.told, ==, 2);
}

TEST(exchanges_keys,
     "jobs that wait when the key is exchanged run, while the old one is in the file")
{
    struct world world;
    struct weir_error error;
    begin(&world, KEY "\n");
    put(&world);
    weir_broker_close(world.broker);
    write_keys("another key of some bytes\n" KEY "\n");
    CHECK_STATUS(open_keyed(&world, "key", &error), WEIR_OK);
    put(&world);
    consume_all(&world, "t");
    CHECK_INT(world.runs, ==, 2);
    CHECK_INT(world.told, ==, 0);
    end(&world);
}

/* The broker of a host on which the file has these lines; NULL: that has none. */
static void become(struct world *world, const char *keys)
{
    struct weir_error error;
    weir_broker_close(world->broker);
    if (keys != NULL) {
        write_keys(keys);
    }
    CHECK_STATUS(open_keyed(world, keys == NULL ? NULL : "key", &error), WEIR_OK);
}

TEST(begins_with_a_key,
     "each step to a first key, host by host: what a host of one step puts runs on "
     "hosts of the next, and the other way round")
{
    static const char *const steps[] = {NULL, "-\n" KEY "\n", KEY "\n-\n", KEY "\n"};
    struct world world;
    int runs = 0;
    begin(&world, KEY "\n");
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 2; j++) {
            become(&world, steps[i + j]);
            put(&world);
            become(&world, steps[i + 1 - j]);
            consume_all(&world, "t");
            CHECK_INT(world.runs, ==, ++runs);
        }
    }
    /* What looks like a MAC must be a good one in each step. */
    char signed_body[200];
    put(&world);
    peek_raw(&world, runs + 1, signed_body, sizeof(signed_body));
    consume_all(&world, "t");
    *strstr(signed_body, "hello") = 'j';
    for (int i = 0; i < 4; i++) {
        become(&world, steps[i]);
        put_raw(&world, "u", signed_body);
        consume_all(&world, "u");
        CHECK_INT(buried(&world, "u"), ==, i + 1);
    }
    CHECK_INT(world.runs, ==, runs + 1);
    end(&world);
    CHECK_INT(world.told, ==, 3); /* the first step knows no keys */
}

TEST(opens_with_a_key_only, "a broker whose file of keys is missing or bad is not opened")
{
    struct world world;
    struct weir_error error;
    begin(&world, KEY "\n");
    weir_broker_close(world.broker);
    world.broker = NULL;
    CHECK_STATUS(open_keyed(&world, "none", &error), WEIR_ENOTFOUND);
    CHECK(strstr(error.text, "hmac_key_file none") != NULL);
    write_keys("short\n");
    CHECK_STATUS(open_keyed(&world, "key", &error), WEIR_EINVAL);
    CHECK(world.broker == NULL);
    end(&world);
}

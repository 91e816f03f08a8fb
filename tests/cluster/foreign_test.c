/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Jobs that are none of a consumer's: longer than it takes, or not of weir's form. They are set
 * aside, and keep no other job of their tube waiting. */
#define _GNU_SOURCE /* memmem */
#include <weir/admin.h>
#include <weir/consumer.h>

#include <fcntl.h>
#include <limits.h>

#include "cluster/fake.h"
#include "cluster/ledger.h"
#include "support/changes.h"
#include "support/jobs.h"

/* Longer than any body of a broker whose body_size_max is small, which reads statistics too. */
#define BIG_SIZE ((size_t)2 << 20)
#define OURS 10
#define MANY 2000

struct world {
    struct servers servers;
    weir_broker *broker;
    _Atomic int runs;
    _Atomic int lines;   /* of the log, that tell of jobs that are buried */
    _Atomic int told;    /* jobs that these tell of */
    _Atomic int lanes;   /* lines that tell of a lane that fails */
    _Atomic int buried;  /* when the first of ours ran */
    _Atomic int refused; /* requests for memory */
    struct weir_allocator memory;
};

static void keep_log(enum weir_log_level level, const char *message, void *arg)
{
    struct world *world = arg;
    (void)level;
    if (strstr(message, "is buried") != NULL) {
        const char *others = strstr(message, ", after ");
        (void)atomic_fetch_add(&world->lines, 1);
        (void)atomic_fetch_add(&world->told, 1 + (others == NULL ? 0 : atoi(others + 8)));
    }
    (void)atomic_fetch_add(&world->lanes, strstr(message, "cannot reserve") != NULL);
}

static int handle(weir_context *context, const struct weir_job *job, void *arg)
{
    struct world *world = arg;
    (void)context;
    CHECK_INT(job->body_size, ==, 4);
    if (atomic_fetch_add(&world->runs, 1) == 0) {
        world->buried = (int)node_number(&world->servers, 0, "stats-tube t", "current-jobs-buried");
    }
    return WEIR_OK;
}

static void open_on(struct world *world, const char *url, size_t body_size_max)
{
    struct weir_error error;
    struct weir_broker_options options = {0};
    options.allocator = world->memory.alloc != NULL ? world->memory : *test_allocator();
    options.body_size_max = body_size_max;
    options.log = keep_log;
    options.log_arg = world;
    CHECK_STATUS(weir_broker_open(url, &options, &world->broker, &error), WEIR_OK);
}

static void start_node(struct world *world)
{
    char port[16];
    struct server *node = &world->servers.node[0];
    (void)snprintf(port, sizeof(port), "%d", node->port);
    const char *const argv[] = {"beanstalkd", "-l", "127.0.0.1", "-p",      port,
                                "-b",         ".",  "-z",        "8388608", NULL};
    server_start(node, argv);
}

/* One node that takes long bodies. */
static void begin(struct world *world, const char *parts, size_t body_size_max)
{
    char url[128];
    char redis[64];
    struct server *node = &world->servers.node[0];
    node->port = test_port();
    redis_start(&world->servers);
    start_node(world);
    (void)snprintf(redis, sizeof(redis), "&claims=redis://127.0.0.1:%d", world->servers.redis.port);
    (void)snprintf(url, sizeof(url), "beanstalk://127.0.0.1:%d/?replicas=1&late=0%s", node->port,
                   parts[0] != '\0' ? redis : "");
    open_on(world, url, body_size_max);
}

static void end(struct world *world)
{
    weir_broker_close(world->broker);
    servers_end(&world->servers);
}

static void put_ours(struct world *world, size_t count)
{
    const struct weir_body body = {"ours", 4, NULL};
    struct weir_error error;
    for (size_t i = 0; i < count; i++) {
        CHECK_STATUS(weir_broker_put(world->broker, "t", &body, 1, NULL, NULL, &error), WEIR_OK);
    }
}

static void send_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t count = write(fd, bytes, size);
        CHECK(count > 0);
        bytes += count;
        size -= (size_t)count;
    }
}

/* Puts jobs with a body as another client does, and waits for as many answers. */
static void put_foreign(struct world *world, size_t count, const char *body, size_t size)
{
    char line[64];
    char answers[4096];
    size_t answered = 0;
    int fd = connect_port(world->servers.node[0].port);
    CHECK(fd >= 0);
    send_all(fd, "use t\r\n", 7);
    int length = snprintf(line, sizeof(line), "put 2 0 60 %zu\r\n", size);
    for (size_t i = 0; i < count; i++) {
        send_all(fd, line, (size_t)length);
        send_all(fd, body, size);
        send_all(fd, "\r\n", 2);
    }
    while (answered < count + 1) {
        ssize_t got = read(fd, answers, sizeof(answers));
        CHECK(got > 0);
        for (ssize_t i = 0; i < got; i++) {
            answered += answers[i] == '\n';
        }
    }
    (void)close(fd);
}

/* A job that is none of ours but for its length; its body's number tells it from others. */
static void put_big(struct world *world, int number)
{
    char *body = malloc(BIG_SIZE);
    CHECK(body != NULL);
    memset(body, 'x', BIG_SIZE);
    body[0] = (char)('0' + number);
    body[1] = '/';
    put_foreign(world, 1, body, BIG_SIZE);
    free(body);
}

static weir_consumer *start(struct world *world, unsigned flags)
{
    struct weir_consumer_options options = {0};
    options.handler = handle;
    options.arg = world;
    options.workers = 4;
    options.flags = flags;
    weir_consumer *consumer = NULL;
    struct weir_error error;
    CHECK_STATUS(weir_consumer_new(world->broker, "t", &options, &consumer, &error), WEIR_OK);
    CHECK_STATUS(weir_consumer_start(consumer, &error), WEIR_OK);
    return consumer;
}

static void consume_all(struct world *world)
{
    struct weir_error error;
    weir_consumer *consumer = start(world, WEIR_CONSUMER_UNTIL_EMPTY);
    CHECK_STATUS(weir_consumer_wait(consumer, WEIR_FOREVER, &error), WEIR_OK);
    weir_consumer_free(consumer);
}

static int check_shown(const struct weir_job *job, void *arg)
{
    CHECK(strstr(job->reason, "body_size_max") != NULL);
    CHECK_INT(job->body_size, ==, 0);
    (*(int *)arg)++;
    return 0;
}

typedef enum weir_status change_fn(weir_broker *broker, const char *const *ids, size_t count,
                                   enum weir_status *ret_statuses, struct weir_error *ret_error);

static enum weir_status bury(weir_broker *broker, const char *const *ids, size_t count,
                             enum weir_status *ret_statuses, struct weir_error *ret_error)
{
    return change_bury(broker, ids, count, NULL, ret_statuses, ret_error);
}

static void change(struct world *world, change_fn *fn, int number)
{
    char id[64];
    const char *text = id;
    enum weir_status status = WEIR_EUSER;
    struct weir_error error;
    (void)snprintf(id, sizeof(id), "127.0.0.1:%d/t/%d", world->servers.node[0].port, number);
    CHECK_STATUS(fn(world->broker, &text, 1, &status, &error), WEIR_OK);
    CHECK_STATUS(status, WEIR_OK);
}

TEST(too_long, "a job that is longer than a consumer takes is buried, and those behind it run")
{
    struct world world = {.runs = 0};
    begin(&world, "", 1000);
    put_big(&world, 1);
    put_ours(&world, OURS);
    consume_all(&world);
    CHECK_INT(world.runs, ==, OURS);
    CHECK_INT(world.lines, ==, 1);
    CHECK_COUNTS(world.broker, "t", 0, 0, 0, 1);
    end(&world);
}

/* Makes zeros of the last bytes of a job that a node has written, as where it is killed before the
 * body. */
static void zero_body(const char *body, size_t size)
{
    static char bytes[10 << 20];
    int fd = open("binlog.1", O_RDWR);
    ssize_t length = read(fd, bytes, sizeof(bytes));
    CHECK(length > 0);
    char *found = memmem(bytes, (size_t)length, body, size);
    CHECK(found != NULL);
    memset(bytes, 0, size + 2);
    CHECK_INT(pwrite(fd, bytes, size + 2, found - bytes), ==, size + 2);
    (void)close(fd);
}

TEST(half_written,
     "a job that its node had not written to its end when it was killed is buried, and "
     "those behind it run")
{
    struct world world = {.runs = 0};
    begin(&world, "", 1000);
    put_foreign(&world, 1, "1/half written", 14);
    put_ours(&world, OURS);
    server_end(&world.servers.node[0]);
    zero_body("written", 7);
    start_node(&world);
    consume_all(&world);
    CHECK_INT(world.runs, ==, OURS);
    CHECK_INT(world.lines, ==, 1);
    CHECK_COUNTS(world.broker, "t", 0, 0, 0, 1);
    end(&world);
}

/* A node that has too long jobs alone. */
struct long_jobs {
    char *body;
    int given;
    _Atomic int buried;
    _Atomic int together; /* reserves with another right behind them */
};

static void give_long(struct fake *fake, int fd, const char *line)
{
    static const char reserve[] = "reserve-with-timeout ";
    struct long_jobs *jobs = fake->arg;
    char text[64] = "";
    if (strncmp(line, "bury ", 5) == 0) {
        fake_say(fd, "BURIED\r\n");
        (void)atomic_fetch_add(&jobs->buried, 1);
    } else if (strncmp(line, reserve, strlen(reserve)) == 0) {
        (void)recv(fd, text, strlen(reserve), MSG_PEEK | MSG_DONTWAIT);
        (void)atomic_fetch_add(&jobs->together, strcmp(text, reserve) == 0);
        if (jobs->given < OURS) {
            (void)snprintf(text, sizeof(text), "RESERVED %d %zu\r\n", ++jobs->given, BIG_SIZE);
            fake_say(fd, text);
            fake_send(fd, jobs->body, BIG_SIZE);
            fake_say(fd, "\r\n");
        } else if (strcmp(line + strlen(reserve), "0") == 0) {
            fake_say(fd, "TIMED_OUT\r\n");
        }
    }
}

TEST(too_long_one_by_one,
     "jobs that are too long are asked for one by one: several could not arrive "
     "within a time limit")
{
    struct world world = {.runs = 0};
    struct long_jobs jobs = {.body = calloc(1, BIG_SIZE)};
    struct fake fake;
    struct weir_error error;
    char url[64];
    CHECK(jobs.body != NULL);
    fake_start(&fake, give_long, &jobs);
    (void)snprintf(url, sizeof(url), "beanstalk://127.0.0.1:%d/?replicas=1", fake.port);
    open_on(&world, url, 1000);
    weir_consumer *consumer = start(&world, 0);
    while (jobs.buried < OURS) {
        const struct timespec pause = {0, 1000000};
        (void)nanosleep(&pause, NULL);
    }
    CHECK_INT(jobs.together, ==, 0);
    CHECK_STATUS(weir_consumer_end(consumer, WEIR_END_FINISH, WEIR_FOREVER, &error), WEIR_OK);
    weir_consumer_free(consumer);
    weir_broker_close(world.broker);
    fake_end(&fake);
    free(jobs.body);
}

TEST(too_long_by_id, "a job that is longer than a broker reads is shown without its body, buried, "
                     "kicked and removed by its id, with claims and without")
{
    static const char *const parts[] = {"", "claims"};
    for (size_t i = 0; i < 2; i++) {
        struct world world = {.runs = 0};
        struct weir_error error;
        char id[64];
        int shown = 0;
        begin(&world, parts[i], 1000);
        put_big(&world, 1);
        put_big(&world, 2);
        (void)snprintf(id, sizeof(id), "127.0.0.1:%d/t/1", world.servers.node[0].port);
        CHECK_STATUS(weir_broker_peek_id(world.broker, id, check_shown, &shown, &error), WEIR_OK);
        CHECK_STATUS(weir_broker_peek(world.broker, "t", 0, 9, check_shown, &shown, &error),
                     WEIR_OK);
        CHECK_INT(shown, ==, 2);
        change(&world, bury, 1);
        CHECK_COUNTS(world.broker, "t", 0, 1, 0, 1);
        change(&world, change_kick, 1);
        CHECK_COUNTS(world.broker, "t", 0, 2, 0, 0);
        change(&world, change_remove, 1);
        change(&world, bury, 2);
        change(&world, change_remove, 2);
        CHECK_COUNTS(world.broker, "t", 0, 0, 0, 0);
        end(&world);
        CHECK(unlink("binlog.1") == 0);
    }
}

TEST(behind_many, "a job behind many that are none of ours runs before most of these are buried, "
                  "and a line of the log tells of many")
{
    struct world world = {.runs = 0};
    begin(&world, "", 0);
    put_foreign(&world, MANY, "foreign", 7);
    put_ours(&world, 1);
    consume_all(&world);
    CHECK_INT(world.runs, ==, 1);
    CHECK_INT(world.buried, <, MANY / 2);
    CHECK_COUNTS(world.broker, "t", 0, 0, 0, MANY);
    end(&world);
    CHECK_INT(world.told, ==, MANY);
    CHECK_INT(world.lines, <, MANY / 2);
}

/* A node that has jobs of another form alone, for its first lane. */
struct short_jobs {
    _Atomic int given;
    _Atomic int asked; /* burials */
    int kept;          /* so many of these find a job that is still reserved */
    int lane;
    bool is_endless;
    _Atomic int oldest; /* of those that were buried: so many came after it */
};

static void give_short(struct fake *fake, int fd, const char *line)
{
    struct short_jobs *jobs = fake->arg;
    int number;
    char text[64];
    if (sscanf(line, "bury %d", &number) == 1) {
        int age = jobs->given - number;
        if (jobs->asked < jobs->kept && age > jobs->oldest) {
            jobs->oldest = age;
        }
        fake_say(fd,
                 atomic_fetch_add(&jobs->asked, 1) < jobs->kept ? "BURIED\r\n" : "NOT_FOUND\r\n");
    } else if (strncmp(line, "reserve-with-timeout ", 21) == 0) {
        jobs->lane = jobs->lane == 0 ? fd : jobs->lane;
        if (jobs->is_endless || fd == jobs->lane) {
            (void)snprintf(text, sizeof(text), "RESERVED %d 7\r\nforeign\r\n", ++jobs->given);
            fake_say(fd, text);
        } else if (strcmp(line + 21, "0") == 0) {
            fake_say(fd, "TIMED_OUT\r\n");
        }
    }
}

/* Consumes until so many burials were asked for. */
static void consume_short(struct short_jobs *jobs, int asked)
{
    struct world world = {.runs = 0};
    struct fake fake;
    struct weir_error error;
    char url[64];
    fake_start(&fake, give_short, jobs);
    (void)snprintf(url, sizeof(url), "beanstalk://127.0.0.1:%d/?replicas=1", fake.port);
    open_on(&world, url, 0);
    weir_consumer *consumer = start(&world, 0);
    while (jobs->asked < asked) {
        const struct timespec pause = {0, 1000000};
        (void)nanosleep(&pause, NULL);
    }
    int given = jobs->given;
    CHECK_STATUS(weir_consumer_end(consumer, WEIR_END_FINISH, WEIR_FOREVER, &error), WEIR_OK);
    weir_consumer_free(consumer);
    weir_broker_close(world.broker);
    fake_end(&fake);
    jobs->given = given;
}

TEST(buries_fresh_ones,
     "while jobs that are none of ours come without end, what is buried has come "
     "just before, so that its TTR has not ended")
{
    struct short_jobs jobs = {.kept = 10, .is_endless = true};
    consume_short(&jobs, 10);
    CHECK_INT(jobs.oldest, <, 256);
}

TEST(passes_stale_ones,
     "while jobs come, those whose TTR has ended keep no other from being buried")
{
    struct short_jobs jobs = {.is_endless = true};
    consume_short(&jobs, 50);
    CHECK_INT(jobs.given, <, 50 * 32);
}

/* One every 20 ms, that would be 40 s. */
TEST(buries_from_a_full_lane, "what a full lane holds is buried at once while another lane waits")
{
    struct short_jobs jobs = {.kept = INT_MAX};
    consume_short(&jobs, 2000);
    CHECK_INT(jobs.given, >=, 8192);
}

/* No memory for long bodies. */
static void *refuse(size_t size, void *arg)
{
    struct world *world = arg;
    if (size >= BIG_SIZE) {
        (void)atomic_fetch_add(&world->refused, 1);
        return NULL;
    }
    return test_allocator()->alloc(size, test_allocator()->arg);
}

TEST(fails_aloud, "a lane that fails while its node is there is told of, once")
{
    struct world world = {.runs = 0};
    struct weir_error error;
    world.memory = *test_allocator();
    world.memory.alloc = refuse;
    world.memory.arg = &world;
    begin(&world, "", 0);
    put_big(&world, 1);
    weir_consumer *consumer = start(&world, 0);
    while (world.refused < 5) {
        const struct timespec pause = {0, 1000000};
        (void)nanosleep(&pause, NULL);
    }
    CHECK_INT(world.lanes, ==, 1);
    CHECK_STATUS(weir_consumer_end(consumer, WEIR_END_FINISH, WEIR_FOREVER, &error), WEIR_OK);
    weir_consumer_free(consumer);
    end(&world);
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A broker behind networks that fail, and without memory. */
#include "cluster/ledger.h"
#include "cluster/proxy.h"
#include "support/changes.h"
#include "support/jobs.h"

struct world {
    struct servers servers;
    struct proxy proxy;
    weir_broker *broker;
    struct ledger ledger;
};

/* The first node is behind the proxy. */
static void begin(struct world *world, size_t piece, const char *parts)
{
    char url[512];
    memset(world, 0, sizeof(*world));
    servers_start(&world->servers);
    proxy_start(&world->proxy, world->servers.node[0].port, piece);
    (void)snprintf(
        url, sizeof(url),
        "beanstalk://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d/?claims=redis://127.0.0.1:%d%s",
        world->proxy.port, world->servers.node[1].port, world->servers.node[2].port,
        world->servers.redis.port, parts);
    world->broker = ledger_open(&world->ledger, url);
}

static void finish(struct world *world)
{
    ledger_check(&world->ledger);
    weir_broker_close(world->broker);
    proxy_end(&world->proxy);
    servers_end(&world->servers);
}

TEST(passes_byte_by_byte, "a network that passes one byte at a time loses and doubles nothing")
{
    struct world world;
    begin(&world, 1, "");
    ledger_put(world.broker, 0, JOBS);
    ledger_consume(world.broker, &world.ledger);
    finish(&world);
}

TEST(is_reset_in_the_middle, "connections to one node that are reset within a reply or a request "
                             "lose and double nothing")
{
    struct world world;
    begin(&world, 7, "");
    world.proxy.reset_after = 4000;
    ledger_put(world.broker, 0, JOBS);
    while (world.proxy.resets == 0) {
        char text[16] = "0";
        struct weir_body body = {text, 1, NULL};
        struct weir_error error;
        /* Another tube: only to pass bytes. */
        CHECK_STATUS(weir_broker_put(world.broker, "u", &body, 1, NULL, NULL, &error), WEIR_OK);
    }
    ledger_consume(world.broker, &world.ledger);
    CHECK_INT(world.proxy.resets, >, 0);
    finish(&world);
}

/* Runs until another does. */
static int meet(weir_context *context, const struct weir_job *job, void *arg)
{
    struct world *world = arg;
    (void)context;
    (void)job;
    atomic_fetch_add(&world->ledger.all, 1);
    while (world->ledger.all < 2) {
        const struct timespec pause = {0, 1000000};
        (void)nanosleep(&pause, NULL);
    }
    return WEIR_OK;
}

TEST(connects_meanwhile, "while a further connection to a node is being made, those that there are "
                         "bring jobs")
{
    struct world world;
    char url[64];
    struct weir_error error;
    weir_consumer *consumer = NULL;
    struct weir_consumer_options options = {0};
    memset(&world, 0, sizeof(world));
    node_start(&world.servers, 0);
    proxy_start(&world.proxy, world.servers.node[0].port, 4096);
    (void)snprintf(url, sizeof(url), "beanstalk://127.0.0.1:%d/?replicas=1", world.proxy.port);
    world.broker = ledger_open(&world.ledger, url);
    options.handler = meet;
    options.arg = &world;
    options.workers = 2;
    CHECK_STATUS(weir_consumer_new(world.broker, "t", &options, &consumer, &error), WEIR_OK);
    CHECK_STATUS(weir_consumer_start(consumer, &error), WEIR_OK);
    while (node_number(&world.servers, 0, "stats-tube t", "current-waiting") != 1) {
    }
    world.proxy.is_closed = true;
    ledger_put(world.broker, 0, 2);
    while (world.ledger.all < 2) {
        const struct timespec pause = {0, 1000000};
        (void)nanosleep(&pause, NULL);
    }
    CHECK_STATUS(weir_consumer_end(consumer, WEIR_END_FINISH, WEIR_FOREVER, &error), WEIR_OK);
    weir_consumer_free(consumer);
    weir_broker_close(world.broker);
    proxy_end(&world.proxy);
    servers_end(&world.servers);
}

static int wait_for_flag(weir_context *context, const struct weir_job *job, void *arg)
{
    _Atomic bool *may_end = arg;
    (void)context;
    (void)job;
    while (!*may_end) {
        const struct timespec pause = {0, 1000000};
        (void)nanosleep(&pause, NULL);
    }
    return WEIR_OK;
}

TEST(looks_again_soon, "the copies of a job that runs go back to their nodes for a second at first")
{
    struct world world;
    struct weir_error error;
    _Atomic bool may_end = false;
    weir_consumer *consumer = NULL;
    struct weir_consumer_options options = {0};
    begin(&world, 4096, "&min_written=3");
    options.handler = wait_for_flag;
    options.arg = (void *)&may_end;
    options.workers = 2; /* one is for copies */
    ledger_put(world.broker, 0, 1);
    CHECK_STATUS(weir_consumer_new(world.broker, "t", &options, &consumer, &error), WEIR_OK);
    CHECK_STATUS(weir_consumer_start(consumer, &error), WEIR_OK);
    int node = 0;
    while (node_number(&world.servers, node, "stats-job 1", "releases") == 0) {
        node = (node + 1) % SERVER_NODES;
    }
    long long delay = node_number(&world.servers, node, "stats-job 1", "delay");
    long long releases = node_number(&world.servers, node, "stats-job 1", "releases");
    CHECK_INT(releases, >, 0);
    CHECK_INT(delay, <=, 1 << (releases - 1)); /* and twice as long each time */
    may_end = true;
    CHECK_STATUS(weir_consumer_end(consumer, WEIR_END_FINISH, WEIR_FOREVER, &error), WEIR_OK);
    weir_consumer_free(consumer);
    weir_broker_close(world.broker);
    proxy_end(&world.proxy);
    servers_end(&world.servers);
}

TEST(falls_silent, "a node that takes bytes and answers none holds up nothing but one time limit")
{
    struct world world;
    begin(&world, 4096, "&time_limit=2s");
    ledger_put(world.broker, 0, JOBS);
    world.proxy.is_silent = true;
    struct weir_body body = {"0", 1, NULL};
    struct weir_error error;
    CHECK_STATUS(weir_broker_put(world.broker, "u", &body, 1, NULL, NULL, &error), WEIR_OK);
    CHECK_STATUS(weir_broker_put(world.broker, "u", &body, 1, NULL, NULL, &error), WEIR_OK);
    ledger_consume(world.broker, &world.ledger);
    finish(&world);
}

static int64_t cpu_ns(void)
{
    struct timespec used;
    CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0);
    return WEIR_SECONDS((int64_t)used.tv_sec) + used.tv_nsec;
}

TEST(rests_while_away, "a broker whose nodes are away sleeps between its tries to connect")
{
    char url[80];
    (void)snprintf(url, sizeof(url), "beanstalk://127.0.0.1:%d,127.0.0.1:%d", test_port(),
                   test_port());
    weir_broker *broker;
    struct weir_error error;
    CHECK_STATUS(weir_broker_open(url, NULL, &broker, &error), WEIR_OK);
    int64_t before = cpu_ns();
    const struct timespec measured = {0, WEIR_MS(600)};
    CHECK(nanosleep(&measured, NULL) == 0);
    CHECK_INT(cpu_ns() - before, <, WEIR_MS(100));
    weir_broker_close(broker);
}

TEST_OOM(administers_without_memory, "every call of a broker with a node survives every allocation "
                                     "that fails")
{
    struct servers servers;
    memset(&servers, 0, sizeof(servers));
    node_start(&servers, 0);
    char url[64];
    (void)snprintf(url, sizeof(url), "beanstalk://127.0.0.1:%d/?replicas=1", servers.node[0].port);
    struct weir_broker_options options = {0};
    options.allocator = *test_allocator();
    weir_broker *broker = NULL;
    struct weir_error error;
    struct weir_job_id id = {""};
    struct weir_body body = {"job", 3, NULL};
    struct weir_tube_counts counts;
    const char *text = id.text;
    size_t count = 0;
    enum weir_status status = weir_broker_open(url, &options, &broker, &error);
    if (status == WEIR_OK) {
        status = weir_broker_put(broker, "t", &body, 1, NULL, &id, &error);
    }
    if (status == WEIR_OK) {
        status = weir_broker_tubes(broker, NULL, jobs_keep_counts, &counts, &error);
    }
    if (status == WEIR_OK) {
        status = weir_broker_kick(broker, "t", 1, &count, &error);
    }
    enum weir_status removed = WEIR_OK;
    if (status == WEIR_OK) {
        status = change_remove(broker, &text, 1, &removed, &error);
        status = status == WEIR_OK ? removed : status;
    }
    weir_broker_close(broker);
    servers_end(&servers);
    /* A reply that no memory was there for ends its connection. */
    status = status == WEIR_EUNAVAILABLE || status == WEIR_EUNKNOWN ? WEIR_ENOMEM : status;
    (void)CHECK_OR_OOM(status);
}

static int count_run(weir_context *context, const struct weir_job *job, void *arg)
{
    (void)context;
    (void)job;
    atomic_fetch_add((_Atomic int *)arg, 1);
    return WEIR_OK;
}

TEST_OOM(consumes_without_memory, "a consumer on a node survives every allocation that fails, and "
                                  "the job has run or is there still")
{
    struct servers servers;
    memset(&servers, 0, sizeof(servers));
    node_start(&servers, 0);
    char url[64];
    char answer[64];
    (void)snprintf(url, sizeof(url), "beanstalk://127.0.0.1:%d/?replicas=1", servers.node[0].port);
    node_say(&servers, 0, "use t\r\nput 2 0 1 5\r\n1/job\r\n", answer, sizeof(answer));
    struct weir_broker_options options = {0};
    options.allocator = *test_allocator();
    struct weir_consumer_options work = {0};
    _Atomic int runs = 0;
    work.handler = count_run;
    work.arg = (void *)&runs;
    weir_broker *broker = NULL;
    weir_consumer *consumer = NULL;
    struct weir_error error;
    /* The run time is in 1970. */
    (void)snprintf(url + strlen(url), sizeof(url) - strlen(url), "&late=0");
    enum weir_status status = weir_broker_open(url, &options, &broker, &error);
    if (status == WEIR_OK) {
        status = weir_consumer_new(broker, "t", &work, &consumer, &error);
    }
    if (status == WEIR_OK) {
        status = weir_consumer_start(consumer, &error);
    }
    /* For as long as it takes, unless memory lacks for good: then for a moment. */
    const struct timespec moment = {0, 5000000};
    for (int i = 0; i < 40 && status == WEIR_OK && runs == 0; i++) {
        (void)nanosleep(&moment, NULL);
    }
    weir_consumer_free(consumer);
    weir_broker_close(broker);
    if (runs == 0) {
        node_say(&servers, 0, "peek 1\r\n", answer, sizeof(answer));
        CHECK(strncmp(answer, "FOUND 1 5", 9) == 0);
    }
    CHECK_INT(runs, <=, 1);
    servers_end(&servers);
    if (status != WEIR_OK) {
        CHECK(CHECK_OR_OOM(status));
    }
}

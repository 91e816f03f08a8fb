/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Redis without memory, stopped, flapping, flushed, evicting; an answer of it that is lost. */
#include <sched.h>

#include <weir/admin.h>

#include "cluster/ledger.h"
#include "cluster/proxy.h"
#include "support/jobs.h"

struct world {
    struct servers servers;
    struct ledger ledger;
    weir_broker *broker;
    weir_broker *producer; /* needs every node: each job has all its copies, and is put once */
};

static const char redis_is_away[] = "Redis for claims at 127.0.0.1 is away";

static void open_producer(struct world *world)
{
    char url[512];
    servers_url(&world->servers, "min_written=3&time_limit=1h", url, sizeof(url));
    world->producer = ledger_open(&world->ledger, url);
}

/* word: of lines of the log that are counted from the first on. */
static void begin_with(struct world *world, const char *const *options, const char *parts,
                       const char *word)
{
    char url[512];
    memset(world, 0, sizeof(*world));
    atomic_store(&world->ledger.word, word);
    for (int i = 0; i < SERVER_NODES; i++) {
        node_start(&world->servers, i);
    }
    redis_start_with(&world->servers.redis, options);
    servers_url(&world->servers, parts, url, sizeof(url));
    world->broker = ledger_open(&world->ledger, url);
    open_producer(world);
}

/* No step ends by its time limit. */
static void begin(struct world *world)
{
    begin_with(world, NULL, "claims=REDIS&time_limit=1h", NULL);
}

static void end(struct world *world)
{
    weir_broker_close(world->broker);
    weir_broker_close(world->producer);
    servers_end(&world->servers);
}

static void set_memory(const struct world *world, const char *limit)
{
    char command[64];
    char answer[64];
    (void)snprintf(command, sizeof(command), "CONFIG SET maxmemory %s", limit);
    redis_say(world->servers.redis.port, command, answer, sizeof(answer));
    CHECK(strncmp(answer, "+OK", 3) == 0);
}

/* All copies have been asked about, and were given back to their nodes. */
static void wait_until_delayed(const struct world *world)
{
    while (jobs_counts(world->producer, "t").delayed != (uint64_t)JOBS * SERVER_NODES) {
    }
}

TEST(waits_while_redis_is_full,
     "without memory for claims Redis refuses them: jobs wait, then each "
     "runs once; the connection lives on")
{
    struct world world;
    begin(&world);
    ledger_put(world.producer, 0, JOBS);
    set_memory(&world, "1");
    atomic_store(&world.ledger.word, "OOM");
    weir_consumer *consumer = ledger_start(world.broker, &world.ledger);
    wait_until_delayed(&world);
    CHECK_INT(world.ledger.all, ==, 0);
    CHECK_INT(world.ledger.words, >=, JOBS);
    atomic_store(&world.ledger.word, redis_is_away);
    world.ledger.words = 0;
    set_memory(&world, "0");
    ledger_wait(consumer);
    ledger_check(&world.ledger);
    CHECK_INT(world.ledger.words, ==, 0);
    end(&world);
}

TEST(waits_while_redis_is_stopped, "while Redis hangs no job runs and none is lost; then each runs "
                                   "once")
{
    struct world world;
    begin_with(&world, NULL, "claims=REDIS&time_limit=500ms", redis_is_away);
    ledger_put(world.producer, 0, JOBS);
    CHECK(kill(world.servers.redis.pid, SIGSTOP) == 0);
    weir_consumer *consumer = ledger_start(world.broker, &world.ledger);
    while (world.ledger.words == 0) {
        const struct timespec pause = {0, 1000000};
        (void)nanosleep(&pause, NULL);
    }
    /* What was reserved until then is given back. */
    while (jobs_counts(world.producer, "t").ready != (uint64_t)JOBS * SERVER_NODES) {
    }
    CHECK_INT(world.ledger.all, ==, 0);
    CHECK(kill(world.servers.redis.pid, SIGCONT) == 0);
    ledger_wait(consumer);
    ledger_check(&world.ledger);
    end(&world);
}

/* Redis is gone for good while the job runs. */
static int lose_redis(weir_context *context, const struct weir_job *job, void *arg)
{
    struct world *world = arg;
    server_end(&world->servers.redis);
    return ledger_handle(context, job, &world->ledger);
}

TEST(ends_without_redis, "one stop ends a consumer whose job cannot be settled since Redis is gone "
                         "for good; the log says what is left, and it comes back")
{
    struct world world;
    begin_with(&world, NULL, "claims=REDIS", "is left to run again");
    ledger_put(world.producer, 0, 1);
    struct weir_consumer_options options = {0};
    options.handler = lose_redis;
    options.arg = &world;
    weir_consumer *consumer = NULL;
    CHECK_STATUS(weir_consumer_new(world.broker, "t", &options, &consumer, NULL), WEIR_OK);
    CHECK_STATUS(weir_consumer_start(consumer, NULL), WEIR_OK);
    while (world.ledger.all == 0) {
        (void)sched_yield();
    }
    CHECK_STATUS(weir_consumer_end(consumer, WEIR_END_FINISH, WEIR_FOREVER, NULL), WEIR_OK);
    CHECK_INT(world.ledger.words, ==, 1);
    weir_consumer_free(consumer);
    weir_broker_close(world.broker);
    world.broker = NULL;
    struct weir_tube_counts counts;
    do {
        counts = jobs_counts(world.producer, "t");
    } while (counts.ready + counts.delayed != SERVER_NODES);
    end(&world);
}

/* A Redis that keeps its claims when it is killed. */
static const char *const keeping[] = {"--appendonly", "yes", "--appendfsync", "always", NULL};

static int ignore_node(const struct weir_node *node, void *arg)
{
    (void)node;
    (void)arg;
    return 0;
}

/* A broker whose Redis is behind a proxy, which has greeted both. */
static void begin_behind(struct world *world, struct proxy *proxy, const char *const *options,
                         const char *parts)
{
    char all[128];
    char url[512];
    struct weir_error error;
    memset(world, 0, sizeof(*world));
    for (int i = 0; i < SERVER_NODES; i++) {
        node_start(&world->servers, i);
    }
    redis_start_with(&world->servers.redis, options);
    proxy_start(proxy, world->servers.redis.port, 4096);
    (void)snprintf(all, sizeof(all), "claims=redis://127.0.0.1:%d&time_limit=500ms%s", proxy->port,
                   parts);
    servers_url(&world->servers, all, url, sizeof(url));
    world->broker = ledger_open(&world->ledger, url);
    open_producer(world);
    CHECK_STATUS(weir_broker_nodes(world->broker, ignore_node, NULL, &error), WEIR_OK);
}

static void wait_refused(const struct proxy *proxy, int count)
{
    int until = proxy->refused + count;
    while (proxy->refused < until) {
        const struct timespec pause = {0, 1000000};
        (void)nanosleep(&pause, NULL);
    }
}

static long long reserves(const struct servers *servers)
{
    long long sum = 0;
    for (int i = 0; i < SERVER_NODES; i++) {
        sum += node_number(servers, i, "stats", "cmd-reserve-with-timeout");
    }
    return sum;
}

TEST(reserves_nothing_without_redis,
     "while Redis is away no node is asked for a job, in the middle of "
     "work or from the start; then each job runs once")
{
    struct world world;
    struct proxy proxy;
    begin_behind(&world, &proxy, keeping, "&lease=1s");
    server_end(&world.servers.redis);
    wait_refused(&proxy, 2);
    ledger_put(world.producer, 0, JOBS);
    weir_consumer *consumer = ledger_start(world.broker, &world.ledger);
    wait_refused(&proxy, 3);
    CHECK_INT(reserves(&world.servers), ==, 0);
    redis_start_with(&world.servers.redis, keeping);
    while (world.ledger.all == 0) {
    }
    server_end(&world.servers.redis);
    wait_refused(&proxy, 2);
    long long before = reserves(&world.servers);
    wait_refused(&proxy, 3);
    CHECK_INT(reserves(&world.servers), ==, before);
    redis_start_with(&world.servers.redis, keeping);
    ledger_wait(consumer);
    ledger_check(&world.ledger);
    proxy_end(&proxy);
    end(&world);
}

/* Redis goes on in a moment. */
static pid_t continue_soon(const struct server *redis)
{
    const struct timespec pause = {0, 100000000};
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        (void)nanosleep(&pause, NULL);
        (void)kill(redis->pid, SIGCONT);
        _exit(0);
    }
    return pid;
}

TEST(closes_without_claims, "a broker that is closed while Redis is asked for claims leaves none "
                            "behind: a consumer of dq would take the job for one that has run")
{
    struct world world;
    char answer[64];
    begin_with(&world, NULL, "claims=REDIS&time_limit=5s", NULL);
    ledger_put(world.producer, 0, 1);
    CHECK(kill(world.servers.redis.pid, SIGSTOP) == 0);
    weir_consumer *consumer = ledger_start(world.broker, &world.ledger);
    while (jobs_counts(world.producer, "t").reserved != SERVER_NODES) {
    }
    CHECK_STATUS(weir_consumer_end(consumer, WEIR_END_FINISH, 0, NULL), WEIR_OK);
    ledger_wait(consumer);
    pid_t child = continue_soon(&world.servers.redis);
    weir_broker_close(world.broker);
    CHECK(waitpid(child, NULL, 0) == child);
    CHECK_INT(world.ledger.all, ==, 0);
    redis_say(world.servers.redis.port, "DBSIZE", answer, sizeof(answer));
    CHECK(strncmp(answer, ":0", 2) == 0);
    world.broker = NULL;
    end(&world);
}

TEST(closes_without_answers, "where jobs run unclaimed, a broker that is closed while Redis hangs "
                             "gives back the copies whose claims it was asked for")
{
    struct world world;
    begin_with(&world, NULL, "claims=REDIS&time_limit=5s&claims_away=run", NULL);
    ledger_put(world.producer, 0, 1);
    CHECK(kill(world.servers.redis.pid, SIGSTOP) == 0);
    weir_consumer *consumer = ledger_start(world.broker, &world.ledger);
    while (jobs_counts(world.producer, "t").reserved != SERVER_NODES) {
    }
    CHECK_STATUS(weir_consumer_end(consumer, WEIR_END_FINISH, 0, NULL), WEIR_OK);
    ledger_wait(consumer);
    weir_broker_close(world.broker);
    world.broker = NULL;
    CHECK_INT(world.ledger.all, ==, 0);
    while (jobs_counts(world.producer, "t").ready != SERVER_NODES) {
    }
    end(&world);
}

TEST(survives_a_redis_that_flaps, "a Redis that is killed again and again, and keeps its claims, "
                                  "loses and doubles nothing")
{
    struct world world;
    begin_with(&world, keeping, "claims=REDIS&time_limit=500ms", NULL);
    ledger_put(world.producer, 0, JOBS);
    weir_consumer *consumer = ledger_start(world.broker, &world.ledger);
    for (int runs = 1; runs <= JOBS; runs += JOBS / 4) {
        while (world.ledger.all < runs) {
            const struct timespec pause = {0, 1000000};
            (void)nanosleep(&pause, NULL);
        }
        server_end(&world.servers.redis);
        redis_start_with(&world.servers.redis, keeping);
    }
    ledger_wait(consumer);
    ledger_check(&world.ledger);
    end(&world);
}

TEST(loads_its_script_again, "a script that Redis forgot is loaded again, and jobs run once")
{
    struct world world;
    char answer[64];
    begin(&world);
    ledger_put(world.producer, 0, JOBS / 2);
    ledger_consume(world.broker, &world.ledger);
    redis_say(world.servers.redis.port, "SCRIPT FLUSH", answer, sizeof(answer));
    ledger_put(world.producer, JOBS / 2, JOBS);
    ledger_consume(world.broker, &world.ledger);
    ledger_check(&world.ledger);
    end(&world);
}

TEST(doubles_only_what_it_forgot, "when Redis loses all claims no job is lost, and those that run "
                                  "twice are at most those that were done but not yet gone")
{
    struct world world;
    char answer[64];
    begin(&world);
    ledger_put(world.producer, 0, JOBS);
    weir_consumer *consumer = ledger_start(world.broker, &world.ledger);
    while (world.ledger.all < JOBS / 2) {
        const struct timespec pause = {0, 1000000};
        (void)nanosleep(&pause, NULL);
    }
    redis_say(world.servers.redis.port, "FLUSHALL", answer, sizeof(answer));
    int done = world.ledger.all;
    ledger_wait(consumer);
    for (int i = 0; i < JOBS; i++) {
        CHECK_INT(world.ledger.runs[i], >=, 1);
    }
    CHECK_INT(world.ledger.all, <=, JOBS + done);
    CHECK_COUNTS(world.broker, "t", 0, 0, 0, 0);
    end(&world);
}

TEST(warns_of_eviction, "a Redis that may evict claims is told of in the log, another is not")
{
    static const char *const options[] = {"--maxmemory-policy", "allkeys-lru", NULL};
    for (int i = 0; i < 2; i++) {
        struct world world;
        begin_with(&world, i == 0 ? options : NULL, "claims=REDIS", "maxmemory-policy allkeys-lru");
        ledger_put(world.producer, 0, JOBS);
        ledger_consume(world.broker, &world.ledger);
        ledger_check(&world.ledger);
        CHECK_INT(world.ledger.words, ==, i == 0 ? 1 : 0);
        end(&world);
    }
}

/* Puts a job with a TTR, and lets Redis claim it without telling. */
static weir_consumer *lose_an_answer(struct world *world, struct proxy *proxy, int64_t ttr_ns)
{
    struct weir_put_options options = {0};
    struct weir_body body = {"0", 1, NULL};
    struct weir_error error;
    char answer[64];
    options.ttr_ns = ttr_ns;
    proxy->is_deaf = true;
    CHECK_STATUS(weir_broker_put(world->producer, "t", &body, 1, &options, NULL, &error), WEIR_OK);
    weir_consumer *consumer = ledger_start(world->broker, &world->ledger);
    do {
        redis_say(world->servers.redis.port, "DBSIZE", answer, sizeof(answer));
    } while (strcmp(answer, ":0\r\n") == 0);
    CHECK_INT(world->ledger.all, ==, 0);
    return consumer;
}

TEST(loses_an_answer, "a claim that Redis made while its answer was lost ends with its lease, and "
                      "the job runs then, in another process")
{
    struct world world;
    struct proxy proxy;
    begin_behind(&world, &proxy, NULL, "&lease=1s");
    weir_consumer *consumer = lose_an_answer(&world, &proxy, WEIR_SECONDS(1));
    CHECK_STATUS(weir_consumer_end(consumer, WEIR_END_FINISH, 0, NULL), WEIR_OK);
    ledger_wait(consumer);
    weir_broker_close(world.broker);
    char url[512];
    servers_url(&world.servers, "claims=REDIS", url, sizeof(url));
    world.broker = ledger_open(&world.ledger, url);
    ledger_consume(world.broker, &world.ledger);
    CHECK_INT(world.ledger.all, ==, 1);
    CHECK_COUNTS(world.broker, "t", 0, 0, 0, 0);
    proxy_end(&proxy);
    end(&world);
}

TEST(takes_over, "the process that did not get the answer to its claim takes the claim over, and "
                 "the job runs at its first attempt, long before the lease ends")
{
    struct world world;
    struct proxy proxy;
    begin_behind(&world, &proxy, NULL, "");
    weir_consumer *consumer = lose_an_answer(&world, &proxy, WEIR_SECONDS(3600));
    proxy.is_deaf = false;
    ledger_wait(consumer);
    CHECK_INT(world.ledger.all, ==, 1);
    CHECK_INT(world.ledger.attempts, ==, 1);
    CHECK_COUNTS(world.broker, "t", 0, 0, 0, 0);
    proxy_end(&proxy);
    end(&world);
}

static struct world *stopped;

/* Fails the first time, when Redis cannot be told. */
static int fail_without_redis(weir_context *context, const struct weir_job *job, void *arg)
{
    int status = ledger_handle(context, job, arg);
    if (stopped->ledger.all == 1) {
        CHECK(kill(stopped->servers.redis.pid, SIGSTOP) == 0);
        return WEIR_EUSER;
    }
    return status;
}

TEST(tells_again_that_it_failed, "a job that failed while Redis hung runs again after its delay, "
                                 "once Redis is back, and not after the lease")
{
    struct world world;
    struct weir_put_options put = {0};
    struct weir_consumer_options options = {0};
    struct weir_body body = {"0", 1, NULL};
    struct weir_error error;
    weir_consumer *consumer;
    begin_with(&world, NULL, "claims=REDIS&time_limit=500ms", redis_is_away);
    stopped = &world;
    put.ttr_ns = WEIR_SECONDS(3600);
    CHECK_STATUS(weir_broker_put(world.producer, "t", &body, 1, &put, NULL, &error), WEIR_OK);
    options.handler = fail_without_redis;
    options.arg = &world.ledger;
    options.retry.base_ns = WEIR_MS(1);
    options.flags = WEIR_CONSUMER_UNTIL_EMPTY;
    CHECK_STATUS(weir_consumer_new(world.broker, "t", &options, &consumer, &error), WEIR_OK);
    CHECK_STATUS(weir_consumer_start(consumer, &error), WEIR_OK);
    while (world.ledger.words == 0) {
        const struct timespec pause = {0, 1000000};
        (void)nanosleep(&pause, NULL);
    }
    CHECK(kill(world.servers.redis.pid, SIGCONT) == 0);
    ledger_wait(consumer);
    CHECK_INT(world.ledger.all, ==, 2);
    CHECK_INT(world.ledger.attempts, ==, 2);
    CHECK_COUNTS(world.broker, "t", 0, 0, 0, 0);
    end(&world);
}

static atomic_bool may_end;
static atomic_int begun;

static int wait_for_word(weir_context *context, const struct weir_job *job, void *arg)
{
    (void)atomic_fetch_add(&begun, 1);
    while (!atomic_load(&may_end)) {
        (void)sched_yield();
    }
    return ledger_handle(context, job, arg);
}

/* Only the first node is left to be found. */
static void stop_others(const struct world *world, int signal_number)
{
    for (int i = 1; i < SERVER_NODES; i++) {
        CHECK(kill(world->servers.node[i].pid, signal_number) == 0);
    }
}

TEST(does_not_take_over_what_may_run, "where jobs run unclaimed, a claim whose answer never came "
                                      "is not taken over while its job runs")
{
    struct world world;
    struct proxy proxy;
    struct weir_put_options put = {0};
    struct weir_consumer_options options = {0};
    struct weir_body body = {"0", 1, NULL};
    struct weir_error error;
    char answer[16384];
    weir_consumer *consumer;
    begin_behind(&world, &proxy, NULL, "&claims_away=run&replicas=1");
    put.ttr_ns = WEIR_SECONDS(3600);
    CHECK_STATUS(weir_broker_put(world.producer, "t", &body, 1, &put, NULL, &error), WEIR_OK);
    stop_others(&world, SIGSTOP);
    proxy.is_deaf = true;
    atomic_store(&may_end, false);
    atomic_store(&world.ledger.word, "Redis for claims at 127.0.0.1 is back");
    options.handler = wait_for_word;
    options.arg = &world.ledger;
    options.workers = 2;
    CHECK_STATUS(weir_consumer_new(world.broker, "t", &options, &consumer, &error), WEIR_OK);
    CHECK_STATUS(weir_consumer_start(consumer, &error), WEIR_OK);
    while (atomic_load(&begun) == 0) {
        (void)sched_yield();
    }
    proxy.is_deaf = false;
    while (world.ledger.words == 0) {
        (void)sched_yield();
    }
    /* Redis has the claim. Twice the other copies ask for it, and are put off. */
    stop_others(&world, SIGCONT);
    for (int i = 0; i < 2; i++) {
        redis_say(world.servers.redis.port, "CONFIG RESETSTAT", answer, sizeof(answer));
        do {
            redis_say(world.servers.redis.port, "INFO commandstats", answer, sizeof(answer));
        } while (strstr(answer, "cmdstat_evalsha:calls=") == NULL && atomic_load(&begun) == 1);
        while (jobs_counts(world.producer, "t").reserved != 1 && atomic_load(&begun) == 1) {
        }
    }
    CHECK_INT(atomic_load(&begun), ==, 1);
    atomic_store(&may_end, true);
    while (world.ledger.all == 0) {
        (void)sched_yield();
    }
    CHECK_STATUS(weir_consumer_end(consumer, WEIR_END_FINISH, 0, NULL), WEIR_OK);
    ledger_wait(consumer);
    CHECK_INT(world.ledger.all, ==, 1);
    proxy_end(&proxy);
    end(&world);
}

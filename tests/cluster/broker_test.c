/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A broker on three real beanstalkds and a Redis. */
#include <weir/consumer.h>
#include <weir/producer.h>

#include "cluster/servers.h"
#include "support/changes.h"
#include "support/jobs.h"

#define CLAIMS "claims=REDIS"

static int64_t real_now(void *arg)
{
    struct timespec now;
    (void)arg;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return WEIR_SECONDS(now.tv_sec) + now.tv_nsec;
}

static weir_broker *open_on(const struct servers *servers, const char *parts,
                            int64_t (*now)(void *), void *now_arg)
{
    char url[512];
    servers_url(servers, parts, url, sizeof(url));
    struct weir_broker_options options = {0};
    options.allocator = *test_allocator();
    weir_broker *broker = NULL;
    struct weir_error error;
    enum weir_status status = jobs_open_at(url, &options, now, now_arg, &broker, &error);
    if (status != WEIR_OK) {
        test_fail(__FILE__, __LINE__, "%s: %s", url, error.text);
    }
    return broker;
}

static enum weir_status put_text(weir_broker *broker, const char *tube, const char *text,
                                 const struct weir_put_options *options, struct weir_job_id *ret_id,
                                 struct weir_error *ret_error)
{
    struct weir_body body = {text, strlen(text), NULL};
    return weir_broker_put(broker, tube, &body, 1, options, ret_id, ret_error);
}

static void check_put(weir_broker *broker, const char *tube, const char *text,
                      const struct weir_put_options *options, struct weir_job_id *ret_id)
{
    struct weir_error error;
    if (put_text(broker, tube, text, options, ret_id, &error) != WEIR_OK) {
        test_fail(__FILE__, __LINE__, "put: %s", error.text);
    }
}

/* What handlers did. */
struct ledger {
    _Atomic int runs;
    _Atomic int wrong;
    _Atomic int failures_left;
    _Atomic int attempts; /* of the last run */
    _Atomic int buried;
    int64_t not_before_ns;
};

static int handle(weir_context *context, const struct weir_job *job, void *arg)
{
    struct ledger *ledger = arg;
    (void)context;
    atomic_fetch_add(&ledger->runs, 1);
    atomic_store(&ledger->attempts, (int)job->attempts);
    if (ledger->not_before_ns > 0 && real_now(NULL) < ledger->not_before_ns) {
        atomic_fetch_add(&ledger->wrong, 1);
    }
    if (memcmp(job->body, "job", 3) != 0) {
        atomic_fetch_add(&ledger->wrong, 1);
    }
    if (atomic_load(&ledger->failures_left) > 0) {
        atomic_fetch_sub(&ledger->failures_left, 1);
        return WEIR_EUSER;
    }
    return WEIR_OK;
}

static void after_run(const struct weir_job *job, enum weir_run_outcome outcome, int status,
                      int64_t run_ns, int64_t delay_ns, void *arg)
{
    struct ledger *ledger = arg;
    (void)job;
    (void)status;
    (void)run_ns;
    (void)delay_ns;
    if (outcome == WEIR_RUN_BURIED) {
        atomic_fetch_add(&ledger->buried, 1);
    }
}

static weir_consumer *start_consumer(weir_broker *broker, const char *tube, uint32_t attempts_max,
                                     uint32_t flags, struct ledger *ledger)
{
    struct weir_consumer_options options = {0};
    options.handler = handle;
    options.after_run = after_run;
    options.arg = ledger;
    options.workers = 3;
    options.retry.attempts = attempts_max;
    options.retry.base_ns = WEIR_MS(10);
    options.flags = flags;
    weir_consumer *consumer = NULL;
    struct weir_error error;
    CHECK_STATUS(weir_consumer_new(broker, tube, &options, &consumer, &error), WEIR_OK);
    CHECK_STATUS(weir_consumer_start(consumer, &error), WEIR_OK);
    return consumer;
}

/* Consumes until the tube is empty. */
static void consume_all(weir_broker *broker, const char *tube, uint32_t attempts_max,
                        struct ledger *ledger)
{
    weir_consumer *consumer =
        start_consumer(broker, tube, attempts_max, WEIR_CONSUMER_UNTIL_EMPTY, ledger);
    struct weir_error error;
    CHECK_STATUS(weir_consumer_wait(consumer, WEIR_FOREVER, &error), WEIR_OK);
    weir_consumer_free(consumer);
}

/* The claims that Redis was asked for, of every kind. */
static long count_claims(const struct servers *servers)
{
    static const char question[] = "INFO commandstats\r\nQUIT\r\n";
    char answer[16384];
    size_t size = 0;
    ssize_t more;
    int fd = connect_port(servers->redis.port);
    CHECK(fd >= 0 && write(fd, question, sizeof(question) - 1) == (ssize_t)sizeof(question) - 1);
    while ((more = read(fd, answer + size, sizeof(answer) - 1 - size)) > 0) {
        size += (size_t)more;
    }
    (void)close(fd);
    answer[size] = '\0';
    const char *found = strstr(answer, "cmdstat_evalsha:calls=");
    CHECK(found != NULL);
    return strtol(strchr(found, '=') + 1, NULL, 10);
}

TEST(runs_each_job_once, "jobs with three copies each run once, and every copy is gone then; Redis "
                         "is asked to claim and to confirm")
{
    struct servers servers;
    servers_start(&servers);
    weir_broker *broker = open_on(&servers, CLAIMS, real_now, NULL);
    struct weir_body bodies[50];
    for (size_t i = 0; i < 50; i++) {
        bodies[i] = (struct weir_body){"job", 3, NULL};
    }
    struct weir_job_id ids[50];
    struct weir_error error;
    /* Bodies that are alike are different jobs, also where one call puts them. */
    CHECK_STATUS(weir_broker_put(broker, "a/b", bodies, 50, NULL, ids, &error), WEIR_OK);
    CHECK(strchr(ids[0].text, ',') != strrchr(ids[0].text, ','));
    CHECK(strstr(ids[0].text, "/a/b/") != NULL);
    CHECK_COUNTS(broker, "a/b", 0, 150, 0, 0);
    struct ledger ledger = {.runs = 0};
    consume_all(broker, "a/b", 0, &ledger);
    CHECK_INT(ledger.runs, ==, 50);
    CHECK_INT(ledger.wrong, ==, 0);
    CHECK_COUNTS(broker, "a/b", 0, 0, 0, 0);
    /* Of two jobs whose keys begin alike the first may be forgotten. */
    CHECK_INT(count_claims(&servers), <=, 2 * 50 + 10);
    weir_broker_close(broker);
    servers_end(&servers);
}

TEST(accepts_with_one_node_down, "a put is accepted by two nodes, refused by one, and then no copy "
                                 "is left")
{
    struct servers servers;
    servers_start(&servers);
    weir_broker *broker = open_on(&servers, "", real_now, NULL);
    server_end(&servers.node[2]);
    struct weir_job_id id;
    check_put(broker, "t", "job", NULL, &id);
    CHECK(strchr(id.text, ',') == strrchr(id.text, ','));
    server_end(&servers.node[1]);
    struct weir_error error;
    /* Unknown while the client has not noticed: then the node may have taken it. */
    enum weir_status status;
    do {
        status = put_text(broker, "u", "job", NULL, &id, &error);
    } while (status == WEIR_EUNKNOWN);
    CHECK_STATUS(status, WEIR_EUNAVAILABLE);
    char name[32];
    for (int i = 0; i < 3; i++) {
        (void)snprintf(name, sizeof(name), "127.0.0.1:%d", servers.node[i].port);
        CHECK(strstr(error.text, name) != NULL);
    }
    CHECK_COUNTS(broker, "u", 0, 0, 0, 0);
    CHECK_COUNTS(broker, "t", 0, 1, 0, 0);
    server_end(&servers.node[0]);
    do {
        status = put_text(broker, "u", "job", NULL, &id, &error);
    } while (status == WEIR_EUNKNOWN);
    CHECK_STATUS(status, WEIR_EUNAVAILABLE);
    CHECK_STATUS(weir_broker_tubes(broker, NULL, jobs_keep_counts, NULL, &error),
                 WEIR_EUNAVAILABLE);
    weir_broker_close(broker);
    servers_end(&servers);
}

TEST(tells_what_it_does_not_know, "puts to nodes that hang are accepted by the others, or unknown")
{
    struct servers servers;
    servers_start(&servers);
    weir_broker *broker = open_on(&servers, "time_limit=2s", real_now, NULL);
    struct weir_job_id id;
    check_put(broker, "t", "job", NULL, &id);
    CHECK(kill(servers.node[0].pid, SIGSTOP) == 0);
    check_put(broker, "t", "job", NULL, &id);
    check_put(broker, "t", "job", NULL, &id);
    CHECK(kill(servers.node[1].pid, SIGSTOP) == 0);
    struct weir_error error;
    CHECK_STATUS(put_text(broker, "t", "job", NULL, &id, &error), WEIR_EUNKNOWN);
    CHECK(strstr(error.text, "no answer") != NULL);
    /* Both are known to be away now. */
    CHECK_STATUS(put_text(broker, "t", "job", NULL, &id, &error), WEIR_EUNAVAILABLE);
    weir_broker_close(broker);
    servers_end(&servers);
}

TEST(refuses_what_nodes_cannot_hold, "a body over the nodes' limit, a priority and a delay that "
                                     "beanstalkd does not have are refused")
{
    struct servers servers;
    servers_start(&servers);
    weir_broker *broker = open_on(&servers, "", real_now, NULL);
    size_t size = 70000;
    char *big = malloc(size + 1);
    CHECK(big != NULL);
    memset(big, 'x', size);
    big[size] = '\0';
    struct weir_error error;
    struct weir_job_id id;
    CHECK_STATUS(put_text(broker, "t", big, NULL, &id, &error), WEIR_ETOOBIG);
    CHECK(strstr(error.text, "JOB_TOO_BIG: 70020 bytes with the run time, expected 65535") != NULL);
    free(big);
    struct weir_put_options options = {0};
    options.priority = -3;
    CHECK_STATUS(put_text(broker, "t", "job", &options, &id, &error), WEIR_ENOTSUP);
    options.priority = -2;
    check_put(broker, "t", "job", &options, &id);
    options.priority = 0;
    options.delay_ns = WEIR_SECONDS((INT64_C(1) << 32) + 60);
    CHECK_STATUS(put_text(broker, "t", "job", &options, &id, &error), WEIR_ERANGE);
    CHECK_COUNTS(broker, "t", 0, 3, 0, 0);
    const char *bad[] = {"1", "x/t/1", "127.0.0.1:/t/1", "", ","};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        enum weir_status removed;
        CHECK_STATUS(change_remove(broker, &bad[i], 1, &removed, &error), WEIR_EINVAL);
    }
    weir_broker_close(broker);
    servers_end(&servers);
}

TEST(is_never_early, "a job with a fraction of a second is held back until its time")
{
    struct servers servers;
    servers_start(&servers);
    weir_broker *broker = open_on(&servers, CLAIMS, real_now, NULL);
    struct weir_put_options options = {0};
    options.run_at_ns = real_now(NULL) + WEIR_MS(1400);
    struct ledger ledger = {.not_before_ns = options.run_at_ns};
    check_put(broker, "t", "job", &options, NULL);
    consume_all(broker, "t", 0, &ledger);
    CHECK_INT(ledger.runs, ==, 1);
    CHECK_INT(ledger.wrong, ==, 0);
    weir_broker_close(broker);
    servers_end(&servers);
}

TEST(counts_attempts_across_copies, "a failing job runs attempts_max times in all, its copies "
                                    "are buried, and a kick runs it again")
{
    struct servers servers;
    servers_start(&servers);
    weir_broker *broker = open_on(&servers, CLAIMS, real_now, NULL);
    struct ledger ledger = {.failures_left = 3};
    check_put(broker, "t", "job", NULL, NULL);
    consume_all(broker, "t", 3, &ledger);
    CHECK_INT(ledger.runs, ==, 3);
    CHECK_INT(ledger.buried, ==, 1);
    CHECK_INT(ledger.attempts, ==, 3);
    CHECK_COUNTS(broker, "t", 0, 0, 0, 3);
    struct weir_error error;
    size_t count = 0;
    CHECK_STATUS(weir_broker_kick(broker, "t", 10, &count, &error), WEIR_OK);
    CHECK_INT(count, ==, 1);
    consume_all(broker, "t", 3, &ledger);
    CHECK_INT(ledger.runs, ==, 4);
    CHECK_COUNTS(broker, "t", 0, 0, 0, 0);
    weir_broker_close(broker);
    servers_end(&servers);
}

TEST(waits_for_redis, "while Redis is away no job runs and none is lost; then each runs once")
{
    struct servers servers;
    servers_start(&servers);
    server_end(&servers.redis);
    weir_broker *broker = open_on(&servers, CLAIMS, real_now, NULL);
    check_put(broker, "t", "job", NULL, NULL);
    struct ledger ledger = {.runs = 0};
    weir_consumer *consumer = start_consumer(broker, "t", 0, WEIR_CONSUMER_UNTIL_EMPTY, &ledger);
    while (jobs_counts(broker, "t").ready != 3) {
    }
    CHECK_INT(ledger.runs, ==, 0);
    redis_start(&servers);
    struct weir_error error;
    CHECK_STATUS(weir_consumer_wait(consumer, WEIR_FOREVER, &error), WEIR_OK);
    weir_consumer_free(consumer);
    CHECK_INT(ledger.runs, ==, 1);
    weir_broker_close(broker);
    servers_end(&servers);
}

TEST(runs_without_redis_where_asked, "claims_away=run runs every copy while Redis is away")
{
    struct servers servers;
    servers_start(&servers);
    server_end(&servers.redis);
    weir_broker *broker = open_on(&servers, CLAIMS "&claims_away=run", real_now, NULL);
    check_put(broker, "t", "job", NULL, NULL);
    struct ledger ledger = {.runs = 0};
    consume_all(broker, "t", 0, &ledger);
    CHECK_INT(ledger.runs, ==, 3);
    weir_broker_close(broker);
    servers_end(&servers);
}

TEST(revokes_on_a_node_that_is_away, "a revoked job does not run when its node comes back; without "
                                     "claims that is not known")
{
    struct servers servers;
    servers_start(&servers);
    weir_broker *broker = open_on(&servers, CLAIMS, real_now, NULL);
    weir_broker *plain = open_on(&servers, "", real_now, NULL);
    struct weir_job_id id;
    struct weir_job_id other;
    check_put(broker, "t", "job", NULL, &id);
    check_put(plain, "u", "job", NULL, &other);
    server_end(&servers.node[1]);
    enum weir_status removed;
    const char *text = id.text;
    CHECK_INT(jobs_remove(broker, &text, 1), ==, 1);
    text = other.text;
    CHECK_STATUS(change_remove(plain, &text, 1, &removed, NULL), WEIR_EUNKNOWN);
    CHECK_STATUS(removed, WEIR_EUNKNOWN);
    node_start(&servers, 1);
    struct ledger ledger = {.runs = 0};
    weir_broker *again = open_on(&servers, CLAIMS, real_now, NULL);
    CHECK_COUNTS(again, "t", 0, 1, 0, 0);
    consume_all(again, "t", 0, &ledger);
    CHECK_INT(ledger.runs, ==, 0);
    CHECK_COUNTS(again, "t", 0, 0, 0, 0);
    weir_broker_close(again);
    weir_broker_close(plain);
    weir_broker_close(broker);
    servers_end(&servers);
}

/* Redis keeps all that it knows for two hours less. */
static void pass_two_hours(const struct servers *servers)
{
    char answer[64];
    redis_say(servers->redis.port,
              "eval \"for _, k in ipairs(redis.call('KEYS', '*')) do redis.call('PEXPIRE', k, "
              "redis.call('PTTL', k) - 7200000) end\" 0",
              answer, sizeof(answer));
    CHECK_STRING(answer, "$-1\r\n");
}

TEST(remembers_what_is_done,
     "a job that is done does not run again when a node comes back that was "
     "away for hours; for so long as `remember` says")
{
    static const char *const parts[] = {"", "&remember=3h", "&remember=1h"};
    for (int i = 0; i < 3; i++) {
        struct servers servers;
        struct ledger ledger = {.runs = 0};
        char all[64];
        (void)snprintf(all, sizeof(all), "min_written=3&" CLAIMS "%s", parts[i]);
        servers_start(&servers);
        weir_broker *broker = open_on(&servers, all, real_now, NULL);
        check_put(broker, "t", "job", NULL, NULL);
        server_end(&servers.node[1]);
        consume_all(broker, "t", 0, &ledger);
        weir_broker_close(broker);
        CHECK_INT(ledger.runs, ==, 1);
        pass_two_hours(&servers);
        node_start(&servers, 1);
        broker = open_on(&servers, all, real_now, NULL);
        CHECK_COUNTS(broker, "t", 0, 1, 0, 0);
        consume_all(broker, "t", 0, &ledger);
        CHECK_COUNTS(broker, "t", 0, 0, 0, 0);
        CHECK_INT(ledger.runs, ==, i < 2 ? 1 : 2);
        weir_broker_close(broker);
        servers_end(&servers);
    }
}

TEST(buries_what_is_late, "a job found later than `late` is set aside, not run and not lost; "
                          "where none is asked for it runs, however late")
{
    struct servers servers;
    servers_start(&servers);
    struct jobs_wall wall = {JOBS_WALL_START};
    struct ledger ledger = {.runs = 0};
    weir_broker *broker = open_on(&servers, CLAIMS "&late=30m", jobs_wall_now, &wall);
    check_put(broker, "t", "job", NULL, NULL);
    jobs_wall_step(&wall, WEIR_SECONDS(7200));
    consume_all(broker, "t", 0, &ledger);
    CHECK_INT(ledger.runs, ==, 0);
    CHECK_COUNTS(broker, "t", 0, 0, 0, 3);
    weir_broker_close(broker);
    for (int i = 0; i < 2; i++) {
        broker = open_on(&servers, i == 0 ? CLAIMS : CLAIMS "&late=0", jobs_wall_now, &wall);
        check_put(broker, "u", "job", NULL, NULL);
        jobs_wall_step(&wall, WEIR_SECONDS(7200));
        consume_all(broker, "u", 0, &ledger);
        CHECK_INT(ledger.runs, ==, i + 1);
        weir_broker_close(broker);
    }
    servers_end(&servers);
}

/* Cannot begin at first, and two hours pass. */
static int begin_later(weir_context *context, const struct weir_job *job, void *arg)
{
    struct jobs_wall *wall = arg;
    bool is_first = jobs_wall_now(wall) == JOBS_WALL_START;
    (void)context;
    (void)job;
    jobs_wall_step(wall, WEIR_SECONDS(7200));
    return is_first ? WEIR_EAGAIN : WEIR_OK;
}

TEST(tries_again_though_late, "a job that was tried in time is not late, though that counted no "
                              "attempt")
{
    static const char *const parts[] = {CLAIMS "&late=30m", "late=30m&replicas=1"};
    for (int i = 0; i < 2; i++) {
        struct servers servers;
        servers_start(&servers);
        struct jobs_wall wall = {JOBS_WALL_START};
        weir_broker *broker = open_on(&servers, parts[i], jobs_wall_now, &wall);
        check_put(broker, "t", "job", NULL, NULL);
        struct weir_consumer_options options = {0};
        options.handler = begin_later;
        options.arg = &wall;
        options.flags = WEIR_CONSUMER_UNTIL_EMPTY;
        weir_consumer *consumer = NULL;
        CHECK_STATUS(weir_consumer_new(broker, "t", &options, &consumer, NULL), WEIR_OK);
        CHECK_STATUS(weir_consumer_start(consumer, NULL), WEIR_OK);
        CHECK_STATUS(weir_consumer_wait(consumer, WEIR_FOREVER, NULL), WEIR_OK);
        weir_consumer_free(consumer);
        CHECK_COUNTS(broker, "t", 0, 0, 0, 0);
        CHECK(jobs_wall_now(&wall) == JOBS_WALL_START + WEIR_SECONDS(14400));
        weir_broker_close(broker);
        servers_end(&servers);
    }
}

TEST(leaves_others_alone, "jobs of the tube `default` are not touched, and a body without a run "
                          "time is buried")
{
    struct servers servers;
    servers_start(&servers);
    char answer[64];
    node_say(&servers, 0, "put 1 0 60 3\r\njob\r\n", answer, sizeof(answer));
    CHECK(strncmp(answer, "INSERTED", 8) == 0);
    node_say(&servers, 1, "use t\r\nput 1 0 60 3\r\njob\r\n", answer, sizeof(answer));
    CHECK(strncmp(answer, "USING t", 7) == 0);
    weir_broker *broker = open_on(&servers, CLAIMS, real_now, NULL);
    while (jobs_counts(broker, "t").ready != 1) {
    }
    struct ledger ledger = {.runs = 0};
    consume_all(broker, "t", 0, &ledger);
    CHECK_INT(ledger.runs, ==, 0);
    CHECK_COUNTS(broker, "t", 0, 0, 0, 1);
    CHECK_COUNTS(broker, "default", 0, 1, 0, 0);
    weir_broker_close(broker);
    servers_end(&servers);
}

/* A handler that never ends. */
static int hang(weir_context *context, const struct weir_job *job, void *arg)
{
    (void)context;
    (void)job;
    ssize_t ignored = write(*(int *)arg, "x", 1);
    (void)ignored;
    while (pause() != 0) {
    }
    return WEIR_OK;
}

/* In a child that was forked before there were threads: works until it is killed. */
_Noreturn static void work_until_killed(const struct servers *servers, int channel)
{
    char url[512];
    servers_url(servers, CLAIMS, url, sizeof(url));
    weir_broker *broker = NULL;
    weir_consumer *consumer = NULL;
    struct weir_error error;
    struct weir_consumer_options options = {0};
    options.handler = hang;
    options.arg = &channel;
    bool was_started = weir_broker_open(url, NULL, &broker, &error) == WEIR_OK &&
                       weir_consumer_new(broker, "t", &options, &consumer, &error) == WEIR_OK &&
                       weir_consumer_start(consumer, &error) == WEIR_OK &&
                       weir_consumer_wait(consumer, WEIR_FOREVER, &error) == WEIR_OK;
    _exit(was_started ? 0 : 1);
}

TEST(comes_back_from_a_dead_worker, "a job whose worker is killed in its handler runs again")
{
    struct servers servers;
    servers_start(&servers);
    int channel[2];
    CHECK(pipe(channel) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        work_until_killed(&servers, channel[1]);
    }
    weir_broker *broker = open_on(&servers, CLAIMS, real_now, NULL);
    struct weir_put_options options = {0};
    options.ttr_ns = WEIR_SECONDS(1);
    check_put(broker, "t", "job", &options, NULL);
    char byte;
    CHECK(read(channel[0], &byte, 1) == 1);
    CHECK(kill(child, SIGKILL) == 0);
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    (void)close(channel[0]);
    (void)close(channel[1]);
    struct ledger ledger = {.runs = 0};
    consume_all(broker, "t", 0, &ledger);
    CHECK_INT(ledger.runs, ==, 1);
    CHECK_INT(ledger.attempts, ==, 2);
    weir_broker_close(broker);
    servers_end(&servers);
}

TEST_OOM(lacks_memory, "a broker without memory refuses in words, leaks nothing, and a put that "
                       "fails for it left no job")
{
    weir_broker *broker = NULL;
    struct weir_broker_options options = {0};
    options.allocator = *test_allocator();
    struct weir_error error;
    /* Nobody listens there, so that the test needs no servers: the answer is the same each time. */
    enum weir_status status = weir_broker_open("beanstalk://127.0.0.1:1,127.0.0.1:2/?time_limit=1s",
                                               &options, &broker, &error);
    if (status == WEIR_OK) {
        status = put_text(broker, "t", "job", NULL, NULL, &error);
        if (status == WEIR_EUNAVAILABLE) {
            status = weir_broker_tubes(broker, NULL, jobs_keep_counts, NULL, &error);
        }
        weir_broker_close(broker);
        if (status == WEIR_EUNAVAILABLE) {
            return;
        }
    }
    CHECK(CHECK_OR_OOM(status));
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A consumer whose wall clock is wrong, beside others whose clocks are right. */
#include <weir/admin.h>

#include "base/park.h"
#include "base/time.h"
#include "cluster/ledger.h"
#include "jobs/broker.h"
#include "support/jobs.h"

static int64_t now_and(void *offset)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return WEIR_SECONDS(now.tv_sec) + now.tv_nsec + *(int64_t *)offset;
}

static int64_t right = 0;
static int64_t behind = -WEIR_SECONDS(3600);

/* A broker with a clock. Lines of its log about clocks are counted. */
static weir_broker *open_with(const struct servers *servers, const char *parts, int64_t *offset,
                              struct ledger *ledger)
{
    char url[512];
    servers_url(servers, parts, url, sizeof(url));
    struct weir_broker_options options = {0};
    options.allocator = *test_allocator();
    options.log = ledger_log;
    options.log_arg = ledger;
    weir_broker *broker = NULL;
    memset(ledger, 0, sizeof(*ledger));
    atomic_store(&ledger->word, "clock of this host");
    CHECK_STATUS(jobs_open_at(url, &options, now_and, offset, &broker, NULL), WEIR_OK);
    return broker;
}

static weir_consumer *start(weir_broker *broker, uint32_t attempts_max, struct ledger *ledger)
{
    struct weir_consumer_options options = {0};
    options.handler = ledger_handle;
    options.arg = ledger;
    options.retry.attempts = attempts_max;
    weir_consumer *consumer = NULL;
    CHECK_STATUS(weir_consumer_new(broker, "t", &options, &consumer, NULL), WEIR_OK);
    CHECK_STATUS(weir_consumer_start(consumer, NULL), WEIR_OK);
    return consumer;
}

static void put(weir_broker *broker, int64_t delay_ns)
{
    struct weir_put_options options = {0};
    const struct weir_body body = {"0", 1, NULL};
    options.ttr_ns = LEDGER_TTR;
    options.delay_ns = delay_ns;
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, &options, NULL, NULL), WEIR_OK);
}

/* The first job of a node: waits until it has been released so often. */
static void wait_released(const struct servers *servers, int node, int count)
{
    while (node_number(servers, node, "stats-job 1", "releases") < count) {
    }
}

/* runs: of a job with three copies. */
static void check_wrong_clock(const char *parts, int runs)
{
    struct servers servers;
    struct ledger wrong_ledger;
    struct ledger ledger;
    servers_start(&servers);
    weir_broker *wrong = open_with(&servers, parts, &behind, &wrong_ledger);
    weir_broker *broker = open_with(&servers, parts, &right, &ledger);
    put(broker, 0);
    weir_consumer *wrong_consumer = start(wrong, 0, &wrong_ledger);
    for (int node = 0; node < SERVER_NODES; node++) {
        wait_released(&servers, node, 1);
        CHECK_INT(node_number(&servers, node, "stats-job 1", "delay"), ==, 5);
    }
    CHECK_INT(wrong_ledger.words, ==, 1);
    weir_consumer *consumer = start(broker, 0, &ledger);
    while (ledger.all < runs) {
    }
    CHECK_INT(wrong_ledger.all, ==, 0);
    CHECK_INT(ledger.words, ==, 0);
    weir_consumer_free(consumer);
    weir_consumer_free(wrong_consumer);
    weir_broker_close(broker);
    weir_broker_close(wrong);
    servers_end(&servers);
}

TEST(costs_others_little,
     "a consumer whose clock is an hour behind gives a job back for five seconds, "
     "and says so once; another runs it")
{
    check_wrong_clock("min_written=3&claims=REDIS", 1);
}

TEST(costs_others_little_without_claims, "so it does without claims, where each copy runs")
{
    check_wrong_clock("min_written=3", SERVER_NODES);
}

/* Puts a job for later, makes a copy of it ready, and returns for how long it is given back. */
static long long delay_of_early(const char *parts)
{
    struct servers servers;
    struct ledger ledger;
    char answer[64];
    servers_start(&servers);
    weir_broker *broker = open_with(&servers, parts, &right, &ledger);
    put(broker, WEIR_SECONDS(1000));
    node_say(&servers, 1, "kick-job 1\r\n", answer, sizeof(answer));
    CHECK_STRING(answer, "KICKED\r\n");
    weir_consumer *consumer = start(broker, 0, &ledger);
    wait_released(&servers, 1, 1);
    long long delay = node_number(&servers, 1, "stats-job 1", "delay");
    CHECK_INT(ledger.words, ==, 0);
    weir_consumer_free(consumer);
    weir_broker_close(broker);
    servers_end(&servers);
    return delay;
}

TEST(goes_back_for_what_is_left,
     "a job that somebody made ready early goes back for what is left where "
     "Redis' clock agrees; that is no wrong clock")
{
    long long delay = delay_of_early("min_written=3&claims=REDIS");
    CHECK(delay > 900 && delay < 1000);
}

TEST(goes_back_for_a_moment, "where there is no Redis to ask it goes back for five seconds")
{
    CHECK_INT(delay_of_early("min_written=3"), ==, 5);
}

TEST(leaves_attempts,
     "without claims a job that is given back has an attempt less: half of them are "
     "left to be run")
{
    struct servers servers;
    struct ledger ledger;
    servers_start(&servers);
    weir_broker *broker = open_with(&servers, "", &right, &ledger);
    put(broker, WEIR_SECONDS(1000));
    char answer[64];
    node_say(&servers, 0, "kick-job 1\r\n", answer, sizeof(answer));
    weir_consumer *consumer = start(broker, 2, &ledger);
    while (node_number(&servers, 0, "stats-job 1", "reserves") < 2) {
    }
    /* It is held back now, and touched. */
    while (node_number(&servers, 0, "stats", "cmd-touch") == 0) {
    }
    CHECK_INT(node_number(&servers, 0, "stats-job 1", "releases"), ==, 1);
    weir_consumer_free(consumer);
    weir_broker_close(broker);
    servers_end(&servers);
}

static int keep_clock(const struct weir_finding *finding, void *arg)
{
    CHECK_STRING(finding->name, "clock");
    CHECK(strstr(finding->text, " s behind Redis'") != NULL);
    (*(int *)arg)++;
    return 0;
}

TEST(is_found, "a check compares the clock of its host with Redis'")
{
    static int64_t *const offsets[] = {&right, &behind};
    struct servers servers;
    servers_start(&servers);
    for (int i = 0; i < 2; i++) {
        struct ledger ledger;
        int count = 0;
        weir_broker *broker =
            open_with(&servers, "min_written=3&claims=REDIS", offsets[i], &ledger);
        CHECK_STATUS(weir_broker_check(broker, keep_clock, &count, NULL), WEIR_OK);
        CHECK_INT(count, ==, i);
        weir_broker_close(broker);
    }
    servers_end(&servers);
}

/* Reserves the only job of a tube. */
static struct weiri_reservation *reserve(weir_broker *broker)
{
    struct weiri_exchange exchange = {.tube = "t", .wanted = 1, .attempts_max = 25};
    for (;;) {
        CHECK_STATUS(broker->ops->exchange(broker->store, &exchange, NULL), WEIR_OK);
        if (exchange.reserved_count > 0) {
            return WEIRI_CONTAINER(exchange.reserved.next, struct weiri_reservation, link);
        }
        (void)broker->ops->wait(broker->store, &exchange.mark, 1,
                                weiri_time_add(weiri_monotonic_now(), WEIR_SECONDS(1)));
    }
}

static struct weiri_parker answer;

static void answered(struct weiri_settlement *settlement)
{
    (void)settlement;
    weiri_parker_set(&answer);
    weiri_parker_wake(&answer);
}

TEST(keeps_the_delay, "a retry that is settled late waits for what is left of its delay")
{
    struct servers servers;
    struct jobs_wall wall = {JOBS_WALL_START};
    char url[512];
    servers_start(&servers);
    servers_url(&servers, "replicas=1", url, sizeof(url));
    struct weir_broker_options options = {0};
    options.allocator = *test_allocator();
    weir_broker *broker = NULL;
    CHECK_STATUS(jobs_open_at(url, &options, jobs_wall_now, &wall, &broker, NULL), WEIR_OK);
    put(broker, 0);
    struct weiri_reservation *job = reserve(broker);
    struct weiri_settlement settlement = {.reservation = job,
                                          .event = WEIRI_JOB_RELEASE,
                                          .delay_ns = WEIR_SECONDS(3600),
                                          .since_ns = jobs_wall_now(&wall)};
    settlement.done = answered;
    jobs_wall_step(&wall, WEIR_SECONDS(3000));
    weiri_parker_init(&answer);
    broker->ops->settle(broker->store, &settlement);
    while (!weiri_parker_is_set(&answer)) {
        weiri_parker_sleep(&answer, weiri_time_add(weiri_monotonic_now(), WEIR_SECONDS(1)));
    }
    CHECK_STATUS(settlement.status, WEIR_OK);
    broker->ops->let_go(broker->store, job);
    weiri_reservation_free(&broker->config.allocator, job);
    int delayed = 0;
    for (int node = 0; node < SERVER_NODES; node++) {
        if (node_number(&servers, node, "stats-tube t", "current-jobs-delayed") > 0) {
            CHECK_INT(node_number(&servers, node, "stats-job 1", "delay"), ==, 600);
            delayed++;
        }
    }
    CHECK_INT(delayed, ==, 1);
    weir_broker_close(broker);
    servers_end(&servers);
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Pauses of tubes. */
#include <weir/admin.h>
#include <weir/consumer.h>

#include <time.h>
#include <unistd.h>

#include "jobs/sqlite/store.h"
#include "support/jobs.h"

static struct jobs_wall wall = {JOBS_WALL_START};

static size_t reserve_some(weir_broker *broker, const char *tube, int64_t *ret_next)
{
    struct weiri_list list;
    struct weiri_exchange exchange = jobs_reserve(broker, tube, 10, 1000, &list);
    jobs_free(broker, &list);
    CHECK(!exchange.is_empty);
    *ret_next = exchange.next_in_ns;
    return exchange.reserved_count;
}

TEST(pauses, "nothing of a paused tube is reserved until its time, and other tubes go on")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    int64_t next = 0;
    (void)jobs_put(broker, "t", "x", NULL);
    (void)jobs_put(broker, "u", "x", NULL);
    CHECK_STATUS(weir_broker_pause(broker, "t", WEIR_SECONDS(60), NULL), WEIR_OK);
    CHECK_INT(jobs_counts(broker, "t").paused_until_ns, ==, JOBS_WALL_START + WEIR_SECONDS(60));
    CHECK_INT(jobs_counts(broker, "u").paused_until_ns, ==, 0);
    CHECK_INT(reserve_some(broker, "t", &next), ==, 0);
    CHECK_INT(next, ==, WEIR_SECONDS(60));
    CHECK_INT(reserve_some(broker, "u", &next), ==, 1);
    /* The store keeps it. */
    weir_broker_close(broker);
    broker = jobs_store_open("jobs.db", &wall);
    jobs_wall_step(&wall, WEIR_SECONDS(60) - 1);
    CHECK_INT(reserve_some(broker, "t", &next), ==, 0);
    jobs_wall_step(&wall, 1);
    CHECK_INT(jobs_counts(broker, "t").paused_until_ns, ==, 0);
    CHECK_INT(reserve_some(broker, "t", &next), ==, 1);
    weir_broker_close(broker);
}

TEST(resumes, "a pause without end is ended by a resume, and a second pause replaces the first")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    int64_t next = 0;
    (void)jobs_put(broker, "t", "x", NULL);
    CHECK_STATUS(weir_broker_pause(broker, "t", 0, NULL), WEIR_OK);
    CHECK_STATUS(weir_broker_pause(broker, "t", 1, NULL), WEIR_OK);
    CHECK_STATUS(weir_broker_pause(broker, "t", WEIR_FOREVER, NULL), WEIR_OK);
    CHECK_INT(jobs_counts(broker, "t").paused_until_ns, ==, WEIR_FOREVER);
    jobs_wall_step(&wall, WEIR_SECONDS(1000000));
    CHECK_INT(reserve_some(broker, "t", &next), ==, 0);
    CHECK_STATUS(weir_broker_pause(broker, "t", 0, NULL), WEIR_OK);
    CHECK_INT(jobs_counts(broker, "t").paused_until_ns, ==, 0);
    CHECK_INT(reserve_some(broker, "t", &next), ==, 1);
    weir_broker_close(broker);
}

static int run(weir_context *context, const struct weir_job *job, void *arg)
{
    struct timespec now;
    (void)context;
    (void)job;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    *(int64_t *)arg = WEIR_SECONDS(now.tv_sec) + now.tv_nsec;
    return WEIR_OK;
}

/* Runs the one job of the tube; returns when it ran. */
static int64_t run_one(weir_broker *broker, bool is_resumed)
{
    struct weir_consumer_options options = {0};
    int64_t ran_ns = 0;
    weir_consumer *consumer = NULL;
    options.handler = run;
    options.arg = &ran_ns;
    options.flags = WEIR_CONSUMER_UNTIL_EMPTY;
    CHECK_STATUS(weir_consumer_new(broker, "t", &options, &consumer, NULL), WEIR_OK);
    CHECK_STATUS(weir_consumer_start(consumer, NULL), WEIR_OK);
    if (is_resumed) {
        CHECK_STATUS(weir_broker_pause(broker, "t", 0, NULL), WEIR_OK);
    }
    CHECK_STATUS(weir_consumer_wait(consumer, WEIR_FOREVER, NULL), WEIR_OK);
    weir_consumer_free(consumer);
    return ran_ns;
}

TEST(consumers, "a consumer runs jobs at the end of a pause and not before, or when it is resumed")
{
    weir_broker *broker = NULL;
    CHECK_STATUS(weir_broker_open("sqlite:jobs.db", NULL, &broker, NULL), WEIR_OK);
    (void)jobs_put(broker, "t", "x", NULL);
    CHECK_STATUS(weir_broker_pause(broker, "t", WEIR_MS(200), NULL), WEIR_OK);
    int64_t until = jobs_counts(broker, "t").paused_until_ns;
    CHECK(until > 0);
    CHECK(run_one(broker, false) >= until);
    (void)jobs_put(broker, "t", "x", NULL);
    CHECK_STATUS(weir_broker_pause(broker, "t", WEIR_FOREVER, NULL), WEIR_OK);
    CHECK(run_one(broker, true) > 0);
    weir_broker_close(broker);
}

TEST_OOM(lacks_memory, "a pause without memory is refused, and pauses nothing")
{
    weir_broker *broker;
    if (CHECK_OR_OOM(jobs_store_try_open("jobs.db", &wall, 0, &broker, NULL))) {
        return;
    }
    const struct weir_body body = {"x", 1, NULL};
    if (!CHECK_OR_OOM(weir_broker_put(broker, "t", &body, 1, NULL, NULL, NULL))) {
        (void)CHECK_OR_OOM(weir_broker_pause(broker, "t", WEIR_SECONDS(1), NULL));
    }
    weir_broker_close(broker);
}

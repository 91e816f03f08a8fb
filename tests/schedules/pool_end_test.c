/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool_world.h"

/* Starts, drains and stops that meet sends, time and one another. */

static void send_against_drain(void *arg)
{
    struct weiri_thread sender;
    (void)arg;
    world_init(2, 0);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    start_thread(&sender, "sender", send_first);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counts_of(world.pool).in_flight, ==, 0);
    CHECK_INT(counts_of(world.pool).dropped, ==, 0);
    weiri_thread_join(&sender);
    check_covered();
    world_fini();
}

TEST(send_drain,
     "a send that races with a drain is either refused, or run before the drain returns")
{
    explorer_must_pass(send_against_drain, NULL, NULL);
}

static void send_against_stop(void *arg)
{
    struct weiri_thread sender;
    (void)arg;
    world_init(2, 0);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 1, 0), WEIR_OK);
    start_thread(&sender, "sender", send_first);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counts_of(world.pool).in_flight, ==, 0);
    weiri_thread_join(&sender);
    struct weir_pool_counts counts = counts_of(world.pool);
    int accepted = world.records[0].accepted + world.records[1].accepted;
    CHECK_INT(counts.runs + counts.dropped, >=, 2);
    CHECK_INT(counts.runs + counts.dropped, <=, accepted);
    CHECK_INT(counts.runs, ==, world.records[0].runs + world.records[1].runs);
    world_fini();
}

TEST(send_stop,
     "a send that races with a stop is refused, run or dropped, and leaves nothing behind")
{
    explorer_must_pass(send_against_stop, NULL, NULL);
}

static void drain(void *arg)
{
    (void)arg;
    world.ended = weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER);
}

/* The task sleeps until it is cancelled, so a drain alone would not return. */
static void stop_against_drain(void *arg)
{
    struct weiri_thread drainer;
    (void)arg;
    world_init(1, 0);
    world.records[0].sleeps = true;
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 1, 0), WEIR_OK);
    start_thread(&drainer, "drainer", drain);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counts_of(world.pool).in_flight, ==, 0);
    weiri_thread_join(&drainer);
    CHECK_STATUS(world.ended, WEIR_ECANCELED);
    CHECK_INT(counts_of(world.pool).dropped, ==, 2 - world.records[0].runs);
    CHECK_INT(world.records[1].runs, ==, 0);
    world_fini();
}

TEST(stop_drain,
     "a stop wakes a task that sleeps and ends a drain, whichever of the three is first")
{
    explorer_must_pass(stop_against_drain, NULL, NULL);
}

static void two_drains(void *arg)
{
    struct weiri_thread drainer;
    (void)arg;
    world_init(2, 0);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 1, 0), WEIR_OK);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    start_thread(&drainer, "drainer", drain);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counts_of(world.pool).runs, ==, 2);
    weiri_thread_join(&drainer);
    CHECK_STATUS(world.ended, WEIR_OK);
    world_fini();
}

TEST(drain_drain, "of two drains both return after everything has run")
{
    explorer_must_pass(two_drains, NULL, NULL);
}

static void start(void *arg)
{
    (void)arg;
    world.ended = weir_pool_start(world.pool);
}

/* The other thread's start meets ours, and the drain. */
static void starts_and_drain(void *arg)
{
    struct weiri_thread starter;
    (void)arg;
    world_init(2, 0);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    start_thread(&starter, "starter", start);
    enum weir_status drained = weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER);
    CHECK(drained == WEIR_OK || drained == WEIR_ESTATE);
    enum weir_status started = weir_pool_start(world.pool);
    weiri_thread_join(&starter);
    CHECK(started == WEIR_OK || started == WEIR_ESTATE);
    CHECK(world.ended == WEIR_OK || world.ended == WEIR_ESTATE);
    CHECK(started == WEIR_OK || world.ended == WEIR_OK);
    /* Both start it only where the drain was between them. */
    CHECK(drained == WEIR_OK || started != world.ended);
    CHECK_INT(weir_pool_state(world.pool), ==, WEIR_POOL_STATE_RUNNING);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(world.records[0].runs, ==, 1);
    world_fini();
}

TEST(start_start_drain,
     "of two starts one succeeds, or both around a drain, which else is too early; it runs all")
{
    explorer_must_pass(starts_and_drain, NULL, NULL);
}

static void due_against_drain(void *arg)
{
    struct weiri_thread stepper;
    (void)arg;
    world_init(1, 1);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, 10), WEIR_OK);
    give_up(0);
    start_thread(&stepper, "stepper", advance);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    struct weir_pool_counts counts = counts_of(world.pool);
    CHECK_INT(counts.runs + counts.dropped, ==, 1);
    CHECK_INT(counts.runs, ==, world.records[0].runs);
    CHECK_INT(world.records[0].released, ==, 1);
    weiri_thread_join(&stepper);
    world_fini();
}

TEST(due_drain, "what comes due while a drain begins is run or dropped, one of the two")
{
    explorer_must_pass(due_against_drain, NULL, NULL);
}

static int late_runs; /* that began in a pool that was ending */

static int fail(weir_context *context, void *payload)
{
    struct record *record = payload;
    (void)context;
    record->runs++;
    late_runs += weir_pool_state(world.pool) == WEIR_POOL_STATE_STOPPING;
    return (int)WEIR_EUSER;
}

static int64_t retry_at_once(weir_context *context, weir_envelope *envelope,
                             const struct weir_failure *failure, void *payload)
{
    (void)context;
    (void)envelope;
    (void)failure;
    (void)payload;
    return 0;
}

static void keep_retry(void *arg)
{
    (void)arg;
    world_init(1, 0);
    weir_envelope_unref(world.envelopes[0]);
    world.records[0].released = 0;
    struct weir_envelope_options options = {.invoke = fail, .failure = retry_at_once};
    options.allocator = *test_allocator();
    options.release = release;
    options.retry.attempts = 9; /* for a drain that does not end of itself */
    options.payload = &world.records[0];
    CHECK_STATUS(weir_envelope_new(&options, &world.envelopes[0], NULL), WEIR_OK);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 1, 0), WEIR_OK);
    for (int start = 0; start < 2; start++) {
        late_runs = 0;
        CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, WEIR_END_KEEP, WEIR_FOREVER),
                     WEIR_OK);
        CHECK_INT(late_runs, <=, 2); /* one that was under way, and one that was queued */
        CHECK_INT(counts_of(world.pool).waiting, ==, world.records[0].runs < 9);
        CHECK_INT(counts_of(world.pool).queued, ==, 0);
        CHECK_INT(world.records[1].runs, ==, 1);
        CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    }
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counts_of(world.pool).in_flight, ==, 0);
    world.records[0].outcomes = world.records[0].runs;
    world.records[0].accepted = world.records[0].runs;
    world_fini();
}

TEST(kept_retry, "a drain that keeps ends, although a run asks for a retry at once each time")
{
    explorer_must_pass(keep_retry, NULL, NULL);
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool_world.h"

#include "pool/pool.h"

/* Threads that wait until a pool is idle, beside sends, runs, time and ends. */

static void wait_for_idle(void *arg)
{
    (void)arg;
    world.ended = weir_pool_wait_idle(world.pool, WEIR_FOREVER);
}

static void check_told(int i)
{
    struct record *record = &world.records[i];
    CHECK_INT(record->runs, ==, record->accepted);
    CHECK_INT(record->ends, ==, record->accepted);
    CHECK(!record->is_running);
}

static void idle_beside_sends(void *arg)
{
    struct weiri_thread sender;
    (void)arg;
    world_init(2, 0);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    start_thread(&sender, "sender", send_first);
    CHECK_STATUS(send_to(world.pool, 1, 0), WEIR_OK);
    CHECK_STATUS(weir_pool_wait_idle(world.pool, WEIR_FOREVER), WEIR_OK);
    check_told(1);
    weiri_thread_join(&sender);
    CHECK_STATUS(weir_pool_wait_idle(world.pool, WEIR_FOREVER), WEIR_OK);
    check_told(0);
    CHECK_INT(counts_of(world.pool).in_flight, ==, 0);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    world_fini();
}

TEST(sends, "a pool is idle when all that was sent before has been run and told of")
{
    explorer_must_pass(idle_beside_sends, NULL, NULL);
}

static void send_the_second(void)
{
    if (world.records[1].asked == 0) {
        CHECK_STATUS(send_to(world.pool, 1, 0), WEIR_OK);
    }
}

static void idle_beside_task(void *arg)
{
    struct weiri_thread waiter;
    (void)arg;
    world_init(2, 0);
    world.on_outcome = send_the_second;
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    start_thread(&waiter, "waiter", wait_for_idle);
    CHECK_STATUS(weir_pool_wait_idle(world.pool, WEIR_FOREVER), WEIR_OK);
    check_told(0);
    check_told(1);
    weiri_thread_join(&waiter);
    CHECK_STATUS(world.ended, WEIR_OK);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    world_fini();
}

TEST(task_sends, "all who wait for an idle pool wait for what a run sends, too")
{
    explorer_must_pass(idle_beside_task, NULL, NULL);
}

static void idle_beside_time(void *arg)
{
    struct weiri_thread stepper;
    (void)arg;
    world_init(1, 0);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, 10), WEIR_OK);
    start_thread(&stepper, "stepper", advance);
    CHECK_STATUS(weir_pool_wait_idle(world.pool, WEIR_FOREVER), WEIR_OK);
    check_told(0);
    weiri_thread_join(&stepper);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    world_fini();
}

TEST(time, "what was sent for later is waited for")
{
    explorer_must_pass(idle_beside_time, NULL, NULL);
}

/* Steps once the time of the one that waits has begun. */
static void advance_beside_waiter(void *arg)
{
    bool is_counted = false;
    while (!is_counted) {
        weiri_mutex_lock(&world.pool->mutex);
        is_counted = world.pool->idle_observers > 0;
        weiri_mutex_unlock(&world.pool->mutex);
        weiri_sync_point();
    }
    advance(arg);
}

static void idle_with_limit(void *arg)
{
    struct weiri_thread stepper;
    (void)arg;
    world_init(1, 0);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, explorer_choose(2) == 0 ? 10 : 100), WEIR_OK);
    start_thread(&stepper, "stepper", advance_beside_waiter);
    enum weir_status status = weir_pool_wait_idle(world.pool, 10);
    CHECK(status == WEIR_OK || status == WEIR_ETIMEDOUT);
    CHECK(status == WEIR_OK || weir_clock_now(world.clock) >= 10);
    CHECK(status == WEIR_ETIMEDOUT || world.records[0].ends == 1);
    weiri_thread_join(&stepper);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    world_fini();
}

TEST(limit, "a wait for an idle pool ends at its limit")
{
    explorer_must_pass(idle_with_limit, NULL, NULL);
}

/* The runs of a schedule that waits for its next firing keep nobody waiting. */
static void idle_with_schedule(void *arg)
{
    struct weiri_thread waiter;
    (void)arg;
    world_init(1, 0);
    make_periodic();
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    start_thread(&waiter, "waiter", wait_for_idle);
    CHECK_STATUS(weir_pool_wait_idle(world.pool, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(world.records[0].runs, ==, 1);
    CHECK_INT(counts_of(world.pool).in_flight, ==, 1);
    weiri_thread_join(&waiter);
    CHECK_STATUS(world.ended, WEIR_OK);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(world.records[0].ends, ==, 1);
    world_fini();
}

TEST(schedule, "a pool in which only schedules wait is idle")
{
    explorer_must_pass(idle_with_schedule, NULL, NULL);
}

/* The first envelope is run or dropped; the second one waits for a time, and is dropped or kept. */
static void idle_beside_end(void *arg)
{
    struct weiri_thread waiter;
    (void)arg;
    world_init(1, 0);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 1, 10), WEIR_OK);
    start_thread(&waiter, "waiter", wait_for_idle);
    bool keeps = explorer_choose(2) == 0;
    CHECK_STATUS(weir_pool_end(world.pool, explorer_choose(2) == 0 ? WEIR_END_STOP : WEIR_END_DRAIN,
                               keeps ? WEIR_END_KEEP : 0, WEIR_FOREVER),
                 WEIR_OK);
    weiri_thread_join(&waiter);
    CHECK_STATUS(world.ended, keeps ? WEIR_ESHUTDOWN : WEIR_OK);
    CHECK_INT(world.records[1].ends, ==, !keeps);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_TERMINATE, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(world.records[0].ends, ==, 1);
    CHECK_INT(world.records[1].ends, ==, 1);
    world_fini();
}

TEST(pool_ends, "a wait for an idle pool ends with the pool, and says whether something is kept")
{
    explorer_must_pass(idle_beside_end, NULL, NULL);
}

static void cancel_kept(void *arg)
{
    (void)arg;
    CHECK_STATUS(weir_pool_cancel(world.pool, world.envelopes[0], 0, NULL), WEIR_OK);
}

/* The pool has stopped and keeps both envelopes; the end of one of them is told of meanwhile. */
static void idle_beside_kept(void *arg)
{
    struct weiri_thread canceler;
    (void)arg;
    world_init(1, 0);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, 10), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 1, 10), WEIR_OK);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, WEIR_END_KEEP, WEIR_FOREVER), WEIR_OK);
    start_thread(&canceler, "canceler", cancel_kept);
    CHECK_STATUS(weir_pool_wait_idle(world.pool, WEIR_FOREVER), WEIR_ESHUTDOWN);
    weiri_thread_join(&canceler);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_TERMINATE, 0, WEIR_FOREVER), WEIR_OK);
    world_fini();
}

TEST(kept, "nobody waits for what a pool keeps, also while the end of something else is told of")
{
    explorer_must_pass(idle_beside_kept, NULL, NULL);
}

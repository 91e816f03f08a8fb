/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool_world.h"

#include "base/time.h"
#include "pool/pool.h"

/* Sends that meet runs, other sends and time. */

/* A send meets the run of the one before at every point of it. */
static void sends_meet(void *arg)
{
    struct weiri_thread sender;
    (void)arg;
    world_init(2, 1);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    start_thread(&sender, "sender", send_first);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    weiri_thread_join(&sender);
    CHECK_INT(world.records[0].accepted, ==, 2);
    give_up(0);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    check_covered();
    world_fini();
}

TEST(send_send,
     "each of two sends is followed by a run; the envelope takes one slot and one reference")
{
    explorer_must_pass(sends_meet, NULL, NULL);
}

static void send_second(void *arg)
{
    (void)arg;
    enum weir_status status = send_to(world.pool, 1, 0);
    CHECK(status == WEIR_OK || status == WEIR_EFULL);
    CHECK_INT(counts_of(world.pool).in_flight, <=, 1);
}

static void full(void *arg)
{
    struct weiri_thread sender;
    (void)arg;
    world_init(2, 1);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    start_thread(&sender, "sender", send_second);
    enum weir_status status = send_to(world.pool, 0, 0);
    CHECK(status == WEIR_OK || status == WEIR_EFULL);
    CHECK_INT(counts_of(world.pool).in_flight, <=, 1);
    weiri_thread_join(&sender);
    CHECK_INT(world.records[0].accepted + world.records[1].accepted, >=, 1);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counts_of(world.pool).runs, ==,
              world.records[0].accepted + world.records[1].accepted);
    world_fini();
}

TEST(
    capacity,
    "with one slot two envelopes are never in flight at once, and a slot given back is taken again")
{
    explorer_must_pass(full, NULL, NULL);
}

static void send_to_other(void *arg)
{
    (void)arg;
    enum weir_status status = send_to(world.other, 0, 0);
    CHECK(status == WEIR_OK || status == WEIR_EBUSY);
}

static void between_pools(void *arg)
{
    struct weiri_thread sender;
    (void)arg;
    world_init(1, 0);
    world.other = new_pool(1, 0);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_start(world.other), WEIR_OK);
    start_thread(&sender, "sender", send_to_other);
    enum weir_status status = send_to(world.pool, 0, 0);
    CHECK(status == WEIR_OK || status == WEIR_EBUSY);
    weiri_thread_join(&sender);
    CHECK_INT(world.records[0].accepted, >=, 1);
    give_up(0);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(weir_pool_end(world.other, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counts_of(world.other).in_flight, ==, 0);
    CHECK_INT(world.records[0].runs, ==, world.records[0].accepted);
    world_fini();
}

TEST(two_pools, "two pools that are sent one envelope never run it at once, and one of them does")
{
    explorer_must_pass(between_pools, NULL, NULL);
}

/* The send needs two slots of one, so it releases its claims; the other pool takes the envelope
 * that is named twice as soon as it may. */
static void named_twice(void *arg)
{
    struct weiri_thread sender;
    (void)arg;
    world_init(1, 1);
    world.other = new_pool(1, 0);
    weir_envelope *const twice[] = {world.envelopes[0], world.envelopes[1], world.envelopes[0]};
    start_thread(&sender, "sender", send_to_other);
    enum weir_status status = weir_pool_send_all(world.pool, twice, 3);
    CHECK(status == WEIR_EFULL || status == WEIR_EBUSY);
    weiri_thread_join(&sender);
    bool is_in_other = world.records[0].accepted > 0;
    CHECK_STATUS(send_to(world.pool, 0, 0), is_in_other ? WEIR_EBUSY : WEIR_OK);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_TERMINATE, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(weir_pool_end(world.other, WEIR_END_TERMINATE, 0, WEIR_FOREVER), WEIR_OK);
    world_fini();
}

TEST(named_twice, "a refused send releases an envelope once, however often it is named")
{
    explorer_must_pass(named_twice, NULL, NULL);
}

static void due_against_send(void *arg)
{
    struct weiri_thread stepper;
    (void)arg;
    world_init(1, 1);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, 10), WEIR_OK);
    start_thread(&stepper, "stepper", advance);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    weiri_thread_join(&stepper);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counts_of(world.pool).dropped, ==, 0);
    check_covered();
    world_fini();
}

TEST(due_send, "a pending time and a send that meet it make one run or two, in one slot")
{
    explorer_must_pass(due_against_send, NULL, NULL);
}

/* A thread that waits for a run without a call of the pool, which would look at the clock. */
static struct {
    struct weiri_mutex mutex;
    struct weiri_cond ended;
} runs;

static void tell_run(void)
{
    weiri_mutex_lock(&runs.mutex);
    weiri_cond_broadcast(&runs.ended);
    weiri_mutex_unlock(&runs.mutex);
}

static void due_against_sleep(void *arg)
{
    struct weiri_thread stepper;
    (void)arg;
    world_init(2, 0);
    weiri_mutex_init(&runs.mutex);
    weiri_cond_init(&runs.ended, &runs.mutex);
    world.on_outcome = tell_run;
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, 10), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 1, 10), WEIR_OK);
    start_thread(&stepper, "stepper", advance);
    weiri_mutex_lock(&runs.mutex);
    while (world.records[0].outcomes + world.records[1].outcomes < 2) {
        weiri_cond_wait(&runs.ended);
    }
    weiri_mutex_unlock(&runs.mutex);
    weiri_thread_join(&stepper);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    weiri_cond_fini(&runs.ended);
    weiri_mutex_fini(&runs.mutex);
    world_fini();
}

TEST(due_sleep, "a step of the clock wakes workers for what is due, whenever they go to sleep")
{
    explorer_must_pass(due_against_sleep, NULL, NULL);
}

/* Time passes only when no other thread can run: all workers sleep then. */
static void sleep_until(int64_t time_ns)
{
    weiri_mutex_lock(&world.pool->mutex);
    while (weiri_monotonic_now() < time_ns) {
        (void)weiri_cond_wait_until(&world.pool->changed, time_ns);
    }
    weiri_mutex_unlock(&world.pool->mutex);
}

/* The time that the timer sleeps for is cancelled, so it wakes up for nothing. It sleeps again as
 * the timer for the next time. The worker that comes last stands first in the list: that is the
 * timer, unless it has woken the other one. */
static void timer_wakes_for_nothing(void *arg)
{
    struct weir_pool_options options = {0};
    (void)arg;
    world_init(1, 0);
    weir_clock *manual = world.clock;
    world.clock = weir_clock_monotonic();
    options.workers = 2;
    replace_pool(&options);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    int64_t start_ns = weiri_monotonic_now();
    CHECK_STATUS(send_to(world.pool, 0, 10), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 1, 1000), WEIR_OK);
    sleep_until(start_ns + 5);
    CHECK_STATUS(weir_pool_cancel(world.pool, world.envelopes[0], 0, NULL), WEIR_OK);
    sleep_until(start_ns + 20);
    weiri_mutex_lock(&world.pool->mutex);
    CHECK(world.pool->sleepers.timer_ns > start_ns + 20);
    CHECK((void *)world.pool->sleepers.list.next == (void *)world.pool->sleepers.timer);
    weiri_mutex_unlock(&world.pool->mutex);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    world_fini();
    weir_clock_free(manual);
}

TEST(timer_wakes_nobody, "a worker that goes on as the timer wakes no other one for it")
{
    struct explorer_options options = {.no_early_time = true, .no_spurious = true};
    explorer_must_pass(timer_wakes_for_nothing, NULL, &options);
}

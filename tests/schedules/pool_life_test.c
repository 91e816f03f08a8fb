/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool_world.h"

/* Ends that do not wait, that keep, that are for good or have a limit, and starts, which meet one
 * another and the workers. */

static void send_both(void)
{
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 1, 0), WEIR_OK);
}

/* Each envelope was sent once, and was run or dropped. */
static void check_settled(void)
{
    int dropped_runs = 0;
    for (int i = 0; i < ENVELOPES; i++) {
        CHECK_INT(world.records[i].runs + world.records[i].told, ==, world.records[i].accepted);
        dropped_runs += world.records[i].told;
    }
    CHECK_INT(counts_of(world.pool).dropped, ==, dropped_runs);
    CHECK_INT(counts_of(world.pool).in_flight, ==, 0);
}

/* What it sends would be run beside a run of the first workers. */
static void restart(void *arg)
{
    (void)arg;
    world.ended = weir_pool_start(world.pool);
    for (int i = 0; i < ENVELOPES && world.ended == WEIR_OK; i++) {
        enum weir_status status = send_to(world.pool, i, 0);
        CHECK(status == WEIR_OK || status == WEIR_ESHUTDOWN);
    }
}

/* One worker: were there two generations, two tasks could be inside at once. */
static void stop_and_restart(void *arg)
{
    struct weiri_thread starter;
    (void)arg;
    world_init(1, 0);
    send_both();
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    start_thread(&starter, "starter", restart);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_STOP, 0, 0), WEIR_OK);
    weiri_thread_join(&starter);
    CHECK(world.ended == WEIR_OK || world.ended == WEIR_ESTATE);
    CHECK_INT(world.most_inside, <=, 1);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(weir_pool_state(world.pool), ==, WEIR_POOL_STATE_STOPPED);
    check_settled();
    world_fini();
}

TEST(one_generation, "a start that meets a stop which does not wait brings no second set of "
                     "workers beside the first (R12)")
{
    explorer_must_pass(stop_and_restart, NULL, NULL);
}

static void terminate(void *arg)
{
    (void)arg;
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_TERMINATE, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(weir_pool_state(world.pool), ==, WEIR_POOL_STATE_TERMINATED);
}

static void terminate_against_start(void *arg)
{
    struct weiri_thread terminator;
    (void)arg;
    world_init(1, 0);
    send_both();
    start_thread(&terminator, "terminator", terminate);
    enum weir_status started = weir_pool_start(world.pool);
    CHECK(started == WEIR_OK || started == WEIR_ESTATE);
    CHECK(started == WEIR_OK || world.records[0].runs + world.records[1].runs == 0);
    weiri_thread_join(&terminator);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_ESTATE);
    CHECK_STATUS(weir_pool_send(world.pool, world.envelopes[0]), WEIR_ESHUTDOWN);
    CHECK_INT(weir_pool_state(world.pool), ==, WEIR_POOL_STATE_TERMINATED);
    check_settled();
    world_fini();
}

TEST(terminate_start,
     "a terminated pool has no workers, whichever start it meets, and none comes after (R15)")
{
    explorer_must_pass(terminate_against_start, NULL, NULL);
}

static void restart_stopped(void *arg)
{
    (void)arg;
    world.ended = weir_pool_start(world.pool);
    CHECK(world.ended == WEIR_OK || world.ended == WEIR_ESTATE);
}

static void terminate_stopping(void *arg)
{
    struct weiri_thread terminator;
    struct weiri_thread starter;
    (void)arg;
    world_init(1, 0);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    send_both();
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, 0), WEIR_OK);
    start_thread(&starter, "starter", restart_stopped);
    start_thread(&terminator, "terminator", terminate);
    weiri_thread_join(&starter);
    weiri_thread_join(&terminator);
    CHECK_INT(weir_pool_state(world.pool), ==, WEIR_POOL_STATE_TERMINATED);
    check_settled();
    world_fini();
}

TEST(terminate_stopping,
     "a termination that meets the end of a drain and a start is the last word (R15)")
{
    explorer_must_pass(terminate_stopping, NULL, NULL);
}

static void stop_quickly(void *arg)
{
    (void)arg;
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_STOP, 0, 0), WEIR_OK);
}

static void drain_against_stop(void *arg)
{
    struct weiri_thread stopper;
    (void)arg;
    world_init(1, 0);
    send_both();
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    start_thread(&stopper, "stopper", stop_quickly);
    enum weir_status drained = weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER);
    weiri_thread_join(&stopper);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), drained);
    CHECK_INT(weir_pool_state(world.pool), ==, WEIR_POOL_STATE_STOPPED);
    CHECK_INT(world.records[1].told, <=, drained == WEIR_ECANCELED);
    check_settled();
    world_fini();
}

TEST(drain_stop, "a drain and a stop that meet both end; what was not run is told of, once")
{
    explorer_must_pass(drain_against_stop, NULL, NULL);
}

static void keep_and_restart(void *arg)
{
    struct weiri_thread stepper;
    (void)arg;
    world_init(1, 0);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 1, 10), WEIR_OK);
    give_up(0);
    give_up(1);
    start_thread(&stepper, "stepper", advance);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_STOP, WEIR_END_KEEP, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(world.records[0].released, ==, world.records[0].runs);
    CHECK_INT(counts_of(world.pool).in_flight, ==,
              2 - world.records[0].released - world.records[1].released);
    weiri_thread_join(&stepper);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    /* What was due by now is queued, and is run by a drain. */
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(world.records[0].runs, ==, 1);
    CHECK_INT(world.records[1].runs, ==, 1);
    check_settled();
    world_fini();
}

TEST(keep, "what a stop is to keep is in flight until it is run after the next start, also what it "
           "meets on its way to a worker (R13)")
{
    explorer_must_pass(keep_and_restart, NULL, NULL);
}

static void drain_quickly(void *arg)
{
    (void)arg;
    enum weir_status status = weir_pool_end(world.pool, WEIR_END_DRAIN, 0, 0);
    CHECK(status == WEIR_OK || status == WEIR_ECANCELED);
}

static void keep_against_stop(void *arg)
{
    struct weiri_thread stopper;
    (void)arg;
    world_init(1, 0);
    send_both();
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    start_thread(&stopper, "stopper", explorer_choose(2) == 0 ? stop_quickly : drain_quickly);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_STOP, WEIR_END_KEEP, WEIR_FOREVER), WEIR_OK);
    weiri_thread_join(&stopper);
    check_settled();
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    world_fini();
}

TEST(keep_stop,
     "of a stop that keeps and an end that does not, the latter decides for all that is left")
{
    explorer_must_pass(keep_against_stop, NULL, NULL);
}

/* A step of the clock that comes once the end has begun, of which a drop tells. */
static struct {
    struct weiri_mutex mutex;
    struct weiri_cond begun;
    bool has_begun;
} steps;

static void let_step(void)
{
    weiri_mutex_lock(&steps.mutex);
    steps.has_begun = true;
    weiri_cond_broadcast(&steps.begun);
    weiri_mutex_unlock(&steps.mutex);
}

static void step_when_begun(void *arg)
{
    weiri_mutex_lock(&steps.mutex);
    while (!steps.has_begun) {
        weiri_cond_wait(&steps.begun);
    }
    weiri_mutex_unlock(&steps.mutex);
    advance(arg);
}

static void limit_against_step(void *arg)
{
    struct weiri_thread stepper;
    (void)arg;
    world_init(1, 0);
    steps.has_begun = false;
    weiri_mutex_init(&steps.mutex);
    weiri_cond_init(&steps.begun, &steps.mutex);
    world.on_drop = let_step;
    world.records[0].sleeps = true;
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 1, 1000), WEIR_OK);
    start_thread(&stepper, "stepper", step_when_begun);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, 10), WEIR_ETIMEDOUT);
    CHECK_INT(weir_pool_state(world.pool), ==, WEIR_POOL_STATE_STOPPING);
    weiri_thread_join(&stepper);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    check_settled();
    weiri_cond_fini(&steps.begun);
    weiri_mutex_fini(&steps.mutex);
    world_fini();
}

TEST(limit, "an end with a limit returns by it, whenever the clock is stepped (V10)")
{
    explorer_must_pass(limit_against_step, NULL, NULL);
}

static void stop_looking(void *arg)
{
    (void)arg;
    world_init(1, 0);
    send_both();
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_STOP, 0, 0), WEIR_OK);
    if (weir_pool_state(world.pool) == WEIR_POOL_STATE_STOPPED) {
        check_settled();
        CHECK_INT(world.inside, ==, 0);
    }
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    check_settled();
    world_fini();
}

TEST(stopped, "a pool says that it has stopped when nothing of it runs or is in flight, no sooner")
{
    explorer_must_pass(stop_looking, NULL, NULL);
}

static void drain_first(void *arg)
{
    (void)arg;
    world.ended = weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER);
}

/* The drain is cut short; a start that comes at once must not make it forget that. */
static void restart_against_drain(void *arg)
{
    struct weiri_thread drainer;
    (void)arg;
    world_init(1, 0);
    world.records[0].sleeps = true;
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 1, 1000), WEIR_OK);
    start_thread(&drainer, "drainer", drain_first);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_STOP, 0, 0), WEIR_OK);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    weiri_thread_join(&drainer);
    /* Where it was the drain that dropped what waits it had begun before the stop. */
    CHECK_INT(world.records[1].told, ==, 1);
    CHECK(world.records[1].reason == WEIR_ENDED_STOPPED || world.ended == WEIR_ECANCELED);
    check_settled();
    world_fini();
}

TEST(drain_stop_start, "a drain that a stop cuts short says so, however soon the pool is started "
                       "again")
{
    explorer_must_pass(restart_against_drain, NULL, NULL);
}

/* Both drop what is queued; one of them has to wait for what the other one tells of. */
static void two_stops(void *arg)
{
    struct weiri_thread stopper;
    (void)arg;
    world_init(1, 0);
    send_both();
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    start_thread(&stopper, "stopper", stop_quickly);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    check_settled();
    weiri_thread_join(&stopper);
    world_fini();
}

TEST(stop_stop, "a stop returns when all that another one dropped was told of")
{
    explorer_must_pass(two_stops, NULL, NULL);
}

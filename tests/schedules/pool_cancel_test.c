/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool_world.h"

#include "pool/pool.h"

/* Cancellations that meet sends, runs, and what a run brings back. */

static void cancel_first(void *arg)
{
    uint32_t *found = arg;
    CHECK_STATUS(weir_pool_cancel(world.pool, world.envelopes[0], WEIR_FOREVER, found), WEIR_OK);
    CHECK(!world.records[0].is_running || world.records[0].asked > 1);
}

/* The task ends only because it is cancelled. */
static void sleeping(void *arg)
{
    (void)arg;
    world_init(1, 1);
    world.records[0].sleeps = true;
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    uint32_t found = 0;
    cancel_first(&found);
    CHECK_INT(found, ==,
              world.records[0].runs == 1 ? WEIR_CANCELED_RUNNING : WEIR_CANCELED_PENDING);
    CHECK_INT(counts_of(world.pool).in_flight, ==, 0);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counts_of(world.pool).runs + counts_of(world.pool).dropped, ==, 1);
    world_fini();
}

TEST(sleeping, "a task that sleeps is woken by its cancellation, whenever that comes")
{
    explorer_must_pass(sleeping, NULL, NULL);
}

struct timed {
    enum weir_status status;
    bool has_ended;
};

static void cancel_timed(void *arg)
{
    struct timed *timed = arg;
    timed->status = weir_pool_cancel(world.pool, world.envelopes[0], 10, NULL);
    CHECK(timed->status == WEIR_ETIMEDOUT || !world.records[0].is_running);
    CHECK(timed->status == WEIR_OK || weir_clock_now(world.clock) >= 10);
    timed->has_ended = true;
}

/* The step comes once the time of the cancellation has begun. */
static void against_its_time(void *arg)
{
    struct weiri_thread canceler;
    struct timed timed = {.has_ended = false};
    (void)arg;
    world_init(1, 1);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    CHECK_STATUS(weiri_thread_start(&canceler, "canceler", cancel_timed, &timed), WEIR_OK);
    bool is_counted = false;
    while (!is_counted) {
        weiri_mutex_lock(&world.pool->mutex);
        is_counted = timed.has_ended || world.pool->run_observers > 0;
        weiri_mutex_unlock(&world.pool->mutex);
        weiri_sync_point();
    }
    advance(NULL);
    weiri_thread_join(&canceler);
    CHECK(timed.status == WEIR_OK || timed.status == WEIR_ETIMEDOUT);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(world.pool->run_observers, ==, 0);
    CHECK_INT(counts_of(world.pool).in_flight, ==, 0);
    CHECK_INT(counts_of(world.pool).runs + counts_of(world.pool).dropped, ==, 1);
    world_fini();
}

TEST(against_its_time, "a cancellation returns with the run or at its time, whichever comes first")
{
    explorer_must_pass(against_its_time, NULL, NULL);
}

/* A cancellation against a send: what is accepted is run or dropped, and what is sent after the
 * cancellation is run. */
static void against_send(void *arg)
{
    struct weiri_thread canceler;
    uint32_t found = 0;
    (void)arg;
    world_init(1, 1);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, explorer_choose(2) == 0 ? 0 : 10), WEIR_OK);
    CHECK_STATUS(weiri_thread_start(&canceler, "canceler", cancel_first, &found), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    weiri_thread_join(&canceler);
    int runs = world.records[0].runs;
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    give_up(0);
    CHECK_STATUS(weir_clock_advance(world.clock, 10), WEIR_OK);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(world.records[0].covered, ==, 3);
    CHECK_INT(world.records[0].runs, >=, runs);
    CHECK_INT(world.records[0].released, ==, 1);
    world_fini();
}

TEST(against_send, "of a send and a cancellation each comes to what its moment makes of it")
{
    explorer_must_pass(against_send, NULL, NULL);
}

/* Of what the cancelled run was to be followed by a drop is told, and who waited for the run finds
 * that told and the reference given back. */
static void told(void *arg)
{
    (void)arg;
    world_init(2, 0);
    world.records[0].sleeps = true;
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, explorer_choose(2) == 0 ? 0 : 10), WEIR_OK);
    uint32_t found = 0;
    cancel_first(&found);
    CHECK_INT(world.records[0].told, ==, (found & WEIR_CANCELED_PENDING) != 0);
    CHECK(world.records[0].told == 0 || world.records[0].reason == WEIR_ENDED_CANCELED);
    give_up(0);
    CHECK_INT(world.records[0].released, ==, 1);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    world_fini();
}

TEST(told, "who waits for the end of a cancelled run returns when all has been told of it")
{
    explorer_must_pass(told, NULL, NULL);
}

static void stop_keeping(void *arg)
{
    (void)arg;
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_STOP, WEIR_END_KEEP, WEIR_FOREVER), WEIR_OK);
}

/* A stop that keeps puts back what was handed out and not begun, but nothing that was cancelled. */
static void against_kept(void *arg)
{
    struct weiri_thread stopper;
    uint32_t found = 0;
    (void)arg;
    world_init(1, 0);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    start_thread(&stopper, "stopper", stop_keeping);
    CHECK_STATUS(weir_pool_cancel(world.pool, world.envelopes[0], 0, &found), WEIR_OK);
    weiri_thread_join(&stopper);
    int runs = world.records[0].runs;
    CHECK_INT(counts_of(world.pool).in_flight, ==, 0);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(world.records[0].runs, ==, runs);
    world_fini();
}

TEST(against_kept, "what was cancelled is not kept by a stop, whatever the race")
{
    explorer_must_pass(against_kept, NULL, NULL);
}

/* However the cancellation falls, a periodic envelope does not come back. */
static void against_again(void *arg)
{
    struct weiri_thread stepper;
    (void)arg;
    world_init(1, 0);
    make_periodic();
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    start_thread(&stepper, "stepper", advance);
    CHECK_STATUS(weir_pool_cancel(world.pool, world.envelopes[0], WEIR_FOREVER, NULL), WEIR_OK);
    CHECK(!world.records[0].is_running);
    CHECK_INT(counts_of(world.pool).in_flight, ==, 0);
    int runs = world.records[0].runs;
    weiri_thread_join(&stepper);
    CHECK_STATUS(weir_clock_advance(world.clock, 20), WEIR_OK);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(world.records[0].runs, ==, runs);
    world.records[0].accepted = runs; /* for one send */
    world_fini();
}

TEST(against_again, "a run that is cancelled brings nothing back, whatever the race")
{
    explorer_must_pass(against_again, NULL, NULL);
}

static void cancel_too(void *arg)
{
    const uint32_t *found = arg;
    cancel_first(arg);
    bool has_run = world.records[0].runs > 0; /* else the other thread may still tell of the drop */
    CHECK(world.records[0].ends == 1 || (*found == 0 && !has_run));
}

/* The task sleeps until the first of the cancellations. */
static void two_cancellations(void *arg)
{
    struct weiri_thread canceler;
    uint32_t found[2] = {0, 0};
    (void)arg;
    world_init(1, 0);
    world.records[0].sleeps = true;
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    CHECK_STATUS(weiri_thread_start(&canceler, "canceler", cancel_too, &found[1]), WEIR_OK);
    cancel_first(&found[0]);
    weiri_thread_join(&canceler);
    CHECK(found[0] != 0 || found[1] != 0);
    CHECK_INT(world.records[0].ends, ==, 1);
    CHECK_INT(counts_of(world.pool).in_flight, ==, 0);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    world_fini();
}

TEST(two_cancellations,
     "two threads that wait for a run return once it is over, also where it has ended untold")
{
    explorer_must_pass(two_cancellations, NULL, NULL);
}

/* Each run sleeps until it is cancelled: a wait for the next one would have no end. */
static void sent_again(void *arg)
{
    struct weiri_thread canceler;
    (void)arg;
    world_init(1, 0);
    world.records[0].sleeps = true;
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    uint32_t found = 0;
    CHECK_STATUS(weiri_thread_start(&canceler, "canceler", cancel_first, &found), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    weiri_thread_join(&canceler);
    CHECK(found != 0);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    world_fini();
}

TEST(sent_again, "who waits for a cancelled run does not wait for the run of a later send")
{
    explorer_must_pass(sent_again, NULL, NULL);
}

static void cancel_quietly(void *arg)
{
    (void)arg;
    CHECK_STATUS(weir_pool_cancel(world.pool, world.envelopes[0], 0, NULL), WEIR_OK);
}

/* The next run of the worker is that of the other envelope. */
static void not_the_next(void *arg)
{
    struct weiri_thread canceler;
    (void)arg;
    world_init(1, 0);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 1, 0), WEIR_OK);
    start_thread(&canceler, "canceler", cancel_quietly);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    weiri_thread_join(&canceler);
    CHECK_INT(world.records[1].runs, ==, 1);
    CHECK_INT(world.records[1].canceled, ==, 0);
    CHECK_INT(world.records[0].ends, ==, 1);
    world_fini();
}

TEST(not_the_next, "a cancellation does not reach the run that its worker begins next")
{
    explorer_must_pass(not_the_next, NULL, NULL);
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool_world.h"

#include "queue/room.h"

/* Cancellations that meet sends, runs, and what a run brings back. */

static void cancel_first(void *arg)
{
    uint32_t *found = arg;
    CHECK_STATUS(weir_pool_cancel(world.pool, world.envelopes[0], WEIR_CANCEL_WAIT, found),
                 WEIR_OK);
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
    CHECK_STATUS(weir_pool_drain(world.pool), WEIR_OK);
    CHECK_INT(counts_of(world.pool).runs + counts_of(world.pool).dropped, ==, 1);
    world_fini();
}

TEST(sleeping, "a task that sleeps is woken by its cancellation, whenever that comes")
{
    explorer_must_pass(sleeping, NULL, NULL);
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
    CHECK_STATUS(weir_pool_drain(world.pool), WEIR_OK);
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
    CHECK(world.records[0].told == 0 || world.records[0].reason == WEIR_DROP_CANCELED);
    give_up(0);
    CHECK_INT(world.records[0].released, ==, 1);
    CHECK_STATUS(weir_pool_drain(world.pool), WEIR_OK);
    world_fini();
}

TEST(told, "who waits for the end of a cancelled run returns when all has been told of it")
{
    explorer_must_pass(told, NULL, NULL);
}

static void stop_keeping(void *arg)
{
    struct weir_end_options options = WEIR_END_OPTIONS_INIT;
    (void)arg;
    options.mode = WEIR_END_STOP;
    options.flags = WEIR_END_KEEP;
    CHECK_STATUS(weir_pool_end(world.pool, &options), WEIR_OK);
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
    CHECK_STATUS(weir_pool_drain(world.pool), WEIR_OK);
    CHECK_INT(world.records[0].runs, ==, runs);
    world_fini();
}

TEST(against_kept, "what was cancelled is not kept by a stop, whatever the race")
{
    explorer_must_pass(against_kept, NULL, NULL);
}

/* What a worker does with a periodic envelope, on the queue itself. */
static struct {
    weir_queue *queue;
    struct weir_item item;
    _Atomic uint64_t cancelled_run;
    bool is_running;
} periodic;

static void run_again(void *arg)
{
    struct weir_work work;
    (void)arg;
    while (weir_queue_get(periodic.queue, &work) == WEIR_OK) {
        periodic.is_running = true;
        weiri_sync_point();
        bool has_joined;
        enum weir_status status = weiri_queue_send_again(periodic.queue, &periodic.item, 0, 0,
                                                         &periodic.cancelled_run, &has_joined);
        CHECK(status == WEIR_OK || status == WEIR_ECANCELED);
        periodic.is_running = false;
        bool has_left;
        CHECK_STATUS(weiri_queue_done_left(periodic.queue, &work, &has_left), WEIR_OK);
    }
}

/* However the cancellation falls, the envelope does not come back. */
static void against_again(void *arg)
{
    struct weiri_thread worker;
    (void)arg;
    memset(&periodic, 0, sizeof(periodic));
    struct weir_queue_options options = WEIR_QUEUE_OPTIONS_INIT;
    options.allocator = *test_allocator();
    CHECK_STATUS(weir_queue_new(&options, &periodic.queue), WEIR_OK);
    CHECK_STATUS(weir_queue_add(periodic.queue, weir_key_item(&periodic.item)), WEIR_OK);
    start_thread(&worker, "worker", run_again);
    struct weiri_recalled recalled;
    weiri_queue_recall(periodic.queue, &periodic.item, &periodic.cancelled_run, NULL, &recalled);
    CHECK(recalled.pending > 0 || recalled.run != 0);
    if (recalled.run != 0) {
        CHECK_STATUS(weiri_queue_await_end(periodic.queue, &periodic.item, recalled.run), WEIR_OK);
    }
    CHECK(!periodic.is_running);
    CHECK_INT(weir_queue_len(periodic.queue), ==, 0);
    weir_queue_shutdown(periodic.queue);
    weiri_thread_join(&worker);
    weir_queue_free(periodic.queue);
}

TEST(against_again, "a run that is cancelled brings nothing back, whatever the race")
{
    explorer_must_pass(against_again, NULL, NULL);
}

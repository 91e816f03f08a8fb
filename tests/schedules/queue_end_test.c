/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "world.h"

/* The queue in every order of its threads: shutdown and drain. */

TEST(shutdown_wakes, "a shutdown wakes every consumer; what was accepted before it is processed")
{
    explorer_must_pass(world_shutdown_beside_get, NULL, NULL);
}

/* Shuts down, with the second item queued, and takes what is there. */
static void shut_down_and_take(void *arg)
{
    (void)arg;
    struct weir_work work;
    world_shut_down(NULL);
    CHECK_STATUS(world_add(1), WEIR_ESHUTDOWN);
    while (weir_queue_get(world.queue, 0, &work) == WEIR_OK) {
        world_process(&work);
    }
}

static void shutdown_beside_add(void *arg)
{
    struct weiri_thread closer;
    world_init_on(false, *(const bool *)arg);
    CHECK_STATUS(world_add(1), WEIR_OK);
    world_start(&closer, "closer", shut_down_and_take, NULL);
    enum weir_status status = world_add(0);
    CHECK(status == WEIR_OK || status == WEIR_ESHUTDOWN);
    weiri_thread_join(&closer);
    CHECK_INT(world.runs[0], ==, status == WEIR_OK ? 1 : 0);
    CHECK_INT(world.runs[1], ==, 1);
    world_fini();
}

TEST(shutdown_meets_add,
     "an add is refused by a shutdown, or handed out after it; also one that coalesced")
{
    bool is_embedded = false;
    explorer_must_pass(shutdown_beside_add, &is_embedded, NULL);
    is_embedded = true;
    explorer_must_pass(shutdown_beside_add, &is_embedded, NULL);
}

#define CONSUMERS 6

/* More than are woken at once for work. */
static void shutdown_of_many(void *arg)
{
    (void)arg;
    struct weiri_thread consumers[CONSUMERS];
    world_init();
    for (size_t i = 0; i < CONSUMERS; i++) {
        world_start(&consumers[i], "consumer", world_consume, NULL);
    }
    weir_queue_shutdown(world.queue);
    for (size_t i = 0; i < CONSUMERS; i++) {
        weiri_thread_join(&consumers[i]);
    }
    world_fini();
}

TEST(shutdown_wakes_many, "a shutdown wakes more consumers than work does")
{
    explorer_must_pass(shutdown_of_many, NULL, NULL);
}

/* A time asked for is dropped and counted, or came before; or it was refused. */
static void shutdown_beside_delay(void *arg)
{
    (void)arg;
    struct weiri_thread consumers[2];
    struct weiri_thread closer;
    world_init();
    world_start_two(consumers, "consumer", world_consume);
    world_start(&closer, "closer", world_shut_down, NULL);
    enum weir_status status = world_add_after(0, 10);
    CHECK(status == WEIR_OK || status == WEIR_ESHUTDOWN);
    weiri_thread_join(&closer);
    world_join_two(consumers);
    struct weir_queue_counts counts;
    CHECK_STATUS(weir_queue_count(world.queue, &counts), WEIR_OK);
    CHECK_INT(counts.dropped + world.runs[0], ==, status == WEIR_OK ? 1 : 0);
    world_fini();
}

TEST(shutdown_beside_add_after, "a delayed item is processed, or dropped and counted, or refused")
{
    explorer_must_pass(shutdown_beside_delay, NULL, NULL);
}

/* Adds its item again while it processes it, as long as that is accepted. */
static void consume_adding(void *arg)
{
    (void)arg;
    struct weir_work work;
    while (weir_queue_get(world.queue, WEIR_FOREVER, &work) == WEIR_OK) {
        int number = world_number(&work);
        world_begin(number);
        if (world.runs[number] < 3) {
            enum weir_status status = world_add(number);
            CHECK(status == WEIR_OK || status == WEIR_ESHUTDOWN);
        }
        world_end(number);
        CHECK_STATUS(weir_queue_done(world.queue, &work), WEIR_OK);
    }
}

static void check_drained(void)
{
    struct weir_queue_counts counts;
    CHECK_STATUS(weir_queue_count(world.queue, &counts), WEIR_OK);
    CHECK_INT(counts.queued, ==, 0);
    CHECK_INT(counts.processing, ==, 0);
    CHECK(world_is_seen(0));
    CHECK(world_is_seen(1));
}

static void drain(void *arg)
{
    (void)arg;
    CHECK_STATUS(weir_queue_shutdown_drain(world.queue, WEIR_FOREVER), WEIR_OK);
    explorer_note("has drained");
    check_drained();
}

static void drain_beside_readd(void *arg)
{
    (void)arg;
    struct weiri_thread consumers[2];
    world_init();
    world_start_two(consumers, "consumer", consume_adding);
    CHECK_STATUS(world_add(0), WEIR_OK);
    CHECK_STATUS(world_add(1), WEIR_OK);
    drain(NULL);
    world_join_two(consumers);
    world_fini();
}

TEST(drain_waits_for_readds, "a drain returns only after what done queued again")
{
    explorer_must_pass(drain_beside_readd, NULL, NULL);
}

static void two_drainers(void *arg)
{
    (void)arg;
    struct weiri_thread consumers[2];
    struct weiri_thread drainers[2];
    world_init();
    world_start_two(consumers, "consumer", consume_adding);
    CHECK_STATUS(world_add(0), WEIR_OK);
    CHECK_STATUS(world_add(1), WEIR_OK);
    world_start_two(drainers, "drainer", drain);
    world_join_two(drainers);
    world_join_two(consumers);
    world_fini();
}

TEST(two_drains, "two drains both return")
{
    const struct explorer_options options = {.exhaustive = 10500}; /* all, in a campaign */
    explorer_must_pass(two_drainers, NULL, &options);
}

static void drain_until_forced(void *arg)
{
    bool *is_forced = arg;
    CHECK_STATUS(weir_queue_shutdown_drain(world.queue, WEIR_FOREVER), WEIR_ECANCELED);
    explorer_note("the drain was cut short");
    *is_forced = true;
    world_tell();
}

/* Keeps its item until the drain has returned. */
static void consume_until_forced(void *arg)
{
    bool *is_forced = arg;
    struct weir_work work;
    CHECK_STATUS(weir_queue_get(world.queue, WEIR_FOREVER, &work), WEIR_OK);
    weiri_mutex_lock(&world.mutex);
    while (!*is_forced) {
        weiri_cond_wait(&world.progress);
    }
    weiri_mutex_unlock(&world.mutex);
    CHECK_STATUS(weir_queue_done(world.queue, &work), WEIR_OK);
    CHECK_STATUS(weir_queue_get(world.queue, WEIR_FOREVER, &work), WEIR_ESHUTDOWN);
}

static void drain_forced(void *arg)
{
    (void)arg;
    bool is_forced = false;
    struct weiri_thread consumer;
    struct weiri_thread drainer;
    world_init();
    CHECK_STATUS(weir_queue_add(world.queue, world_key(0)), WEIR_OK);
    world_start(&consumer, "consumer", consume_until_forced, &is_forced);
    world_start(&drainer, "drainer", drain_until_forced, &is_forced);
    /* One that comes before does not end a drain: the drain must have begun. */
    while (!weir_queue_shutting_down(world.queue)) {
        weiri_sync_point();
    }
    weir_queue_shutdown(world.queue);
    weiri_thread_join(&drainer);
    weiri_thread_join(&consumer);
    world_fini();
}

TEST(drain_is_forced, "a shutdown from another thread makes a drain return at once")
{
    explorer_must_pass(drain_forced, NULL, NULL);
}

static void drain_in_any_way(void *arg)
{
    enum weir_status *status = arg;
    *status = weir_queue_shutdown_drain(world.queue, WEIR_FOREVER);
    explorer_note("has drained: %s", weir_status_name((int)*status));
    CHECK(*status == WEIR_OK || *status == WEIR_ECANCELED);
    if (*status == WEIR_OK) {
        check_drained();
    }
}

static void drains_beside_shutdown(void *arg)
{
    (void)arg;
    enum weir_status statuses[2];
    struct weiri_thread consumer;
    struct weiri_thread drainers[2];
    struct weiri_thread closer;
    world_init();
    world_start(&consumer, "consumer", consume_adding, NULL);
    CHECK_STATUS(world_add(0), WEIR_OK);
    CHECK_STATUS(world_add(1), WEIR_OK);
    world_start(&drainers[0], "drainer", drain_in_any_way, &statuses[0]);
    world_start(&drainers[1], "drainer", drain_in_any_way, &statuses[1]);
    world_start(&closer, "closer", world_shut_down, NULL);
    weiri_thread_join(&closer);
    world_join_two(drainers);
    weiri_thread_join(&consumer);
    check_drained();
    world_fini();
}

TEST(drains_beside_shutdown, "two drains beside a plain shutdown return, drained or cut short")
{
    explorer_must_pass(drains_beside_shutdown, NULL, NULL);
}

/* A drain with a limit, while the item is kept: it ends at its limit, and the queue stays shut. */
static void drain_limited(void *arg)
{
    (void)arg;
    bool is_forced = false;
    struct weiri_thread consumer;
    world_init();
    CHECK_STATUS(weir_queue_add(world.queue, world_key(0)), WEIR_OK);
    world_start(&consumer, "consumer", consume_until_forced, &is_forced);
    int64_t limit = weir_clock_now(world.clock) + 50;
    CHECK_STATUS(weir_queue_shutdown_drain(world.queue, 50), WEIR_ETIMEDOUT);
    CHECK_INT(weir_clock_now(world.clock), >=, limit);
    CHECK_STATUS(weir_queue_add(world.queue, world_key(1)), WEIR_ESHUTDOWN);
    is_forced = true;
    world_tell();
    weiri_thread_join(&consumer);
    world_fini();
}

TEST(drain_ends_at_its_limit, "a drain with a limit returns at it when an item is not done")
{
    explorer_must_pass(drain_limited, NULL, NULL);
}

/* Drains that come while the item is cancelled: there is nothing left to wait for. */
static void cancel(void *arg)
{
    (void)arg;
    CHECK_STATUS(weir_queue_cancel(world.queue, world_key(0), NULL), WEIR_OK);
}

static void drain_beside_cancel(void *arg)
{
    (void)arg;
    struct weiri_thread canceller;
    world_init();
    CHECK_STATUS(weir_queue_add(world.queue, world_key(0)), WEIR_OK);
    world_start(&canceller, "canceller", cancel, NULL);
    CHECK_STATUS(weir_queue_shutdown_drain(world.queue, WEIR_FOREVER), WEIR_OK);
    weiri_thread_join(&canceller);
    world_fini();
}

TEST(cancel_ends_drain, "a drain returns when the last item is cancelled")
{
    explorer_must_pass(drain_beside_cancel, NULL, NULL);
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "world.h"

/* The queue in every order of its threads: adds of embedded items that coalesce without the lock,
 * beside all that takes an item out of its place. */

static void add_twice(void *arg)
{
    (void)arg;
    for (int i = 0; i < 2; i++) {
        enum weir_status status = world_add(0);
        CHECK(status == WEIR_OK || status == WEIR_ESHUTDOWN);
    }
}

/* Hands out and ends until nothing is there. */
static void take_all(void *arg)
{
    (void)arg;
    struct weir_work work;
    while (weir_queue_get(world.queue, 0, &work) == WEIR_OK) {
        world_process(&work);
    }
}

/* Whatever is left is taken by the scenario itself: an add that coalesced with a run that was over
 * would be left without one. */
static void finish(void)
{
    take_all(NULL);
    CHECK(world_is_seen(0));
    world_fini();
}

static void beside_get_and_done(void *arg)
{
    (void)arg;
    struct weiri_thread threads[2];
    world_init_on(false, true);
    CHECK_STATUS(world_add(0), WEIR_OK);
    world_start(&threads[0], "producer", add_twice, NULL);
    world_start(&threads[1], "consumer", take_all, NULL);
    world_join_two(threads);
    finish();
}

TEST(get_and_done, "an add that coalesces is covered by a run that starts after it")
{
    explorer_must_pass(beside_get_and_done, NULL, NULL);
}

static void beside_two_consumers(void *arg)
{
    (void)arg;
    struct weiri_thread producers[2];
    struct weiri_thread consumers[2];
    world_init_on(false, true);
    world_start_two(consumers, "consumer", take_all);
    world_start_two(producers, "producer", add_twice);
    world_join_two(producers);
    world_join_two(consumers);
    finish();
}

TEST(two_and_two, "so with two producers of one item and two consumers")
{
    explorer_must_pass(beside_two_consumers, NULL, NULL);
}

/* An add after the shutdown has returned is refused, also of an item that is still queued. */
static void shut_down_then_add(void *arg)
{
    (void)arg;
    world_shut_down(NULL);
    CHECK_STATUS(world_add(0), WEIR_ESHUTDOWN);
}

static void beside_shutdown(void *arg)
{
    (void)arg;
    struct weiri_thread threads[2];
    world_init_on(false, true);
    CHECK_STATUS(world_add(0), WEIR_OK);
    world_start(&threads[0], "producer", add_twice, NULL);
    world_start(&threads[1], "closer", shut_down_then_add, NULL);
    world_join_two(threads);
    finish();
}

TEST(shutdown, "an add beside a shutdown is refused, or covered by a run after it")
{
    explorer_must_pass(beside_shutdown, NULL, NULL);
}

/* The same of an item that is dirty when the shutdown comes: its done queues it once more. */
static void beside_shutdown_and_done(void *arg)
{
    (void)arg;
    struct weiri_thread threads[3];
    world_init_on(false, true);
    CHECK_STATUS(world_add(0), WEIR_OK);
    world_start(&threads[0], "producer", add_twice, NULL);
    world_start(&threads[1], "consumer", take_all, NULL);
    world_start(&threads[2], "closer", world_shut_down, NULL);
    world_join_two(threads);
    weiri_thread_join(&threads[2]);
    finish();
}

TEST(shutdown_and_done, "so while a consumer ends the run that the add may coalesce with")
{
    explorer_must_pass(beside_shutdown_and_done, NULL, NULL);
}

/* How often it was taken out, at most once. */
static void cancel_it(void *arg)
{
    bool *was_taken = arg;
    CHECK_STATUS(weir_queue_cancel(world.queue, world_key(0), was_taken), WEIR_OK);
}

static void beside_cancel(void *arg)
{
    (void)arg;
    struct weiri_thread threads[2];
    bool was_taken = false;
    world_init_on(false, true);
    CHECK_STATUS(world_add(0), WEIR_OK);
    world_start(&threads[0], "producer", add_twice, NULL);
    world_start(&threads[1], "canceller", cancel_it, &was_taken);
    weiri_thread_join(&threads[0]);
    /* No cancel comes from here on. */
    weiri_thread_join(&threads[1]);
    CHECK(was_taken);
    unsigned add = world_ask();
    world_asked(0, add, weir_queue_add(world.queue, world_key(0)));
    finish();
    CHECK_INT(world.runs[0], ==, 1);
}

TEST(cancel, "an add beside a cancel is taken out with the others, or comes")
{
    explorer_must_pass(beside_cancel, NULL, NULL);
}

static void wait_and_move(void *arg)
{
    (void)arg;
    struct weir_add_options options = {0};
    options.delay_ns = 10;
    CHECK_STATUS(weir_queue_add_with(world.queue, world_key(0), &options, NULL), WEIR_OK);
    options.delay_ns = 0;
    options.flags = WEIR_ADD_SUPERSEDE;
    unsigned add = world_ask();
    world_asked(0, add, weir_queue_add_with(world.queue, world_key(0), &options, NULL));
}

static void beside_waits(void *arg)
{
    (void)arg;
    struct weiri_thread threads[3];
    world_init_on(false, true);
    CHECK_STATUS(world_add(0), WEIR_OK);
    world_start(&threads[0], "producer", add_twice, NULL);
    world_start(&threads[1], "mover", wait_and_move, NULL);
    world_start(&threads[2], "consumer", take_all, NULL);
    world_join_two(threads);
    weiri_thread_join(&threads[2]);
    finish();
}

TEST(waits, "so while the item gets a time and loses it again")
{
    explorer_must_pass(beside_waits, NULL, NULL);
}

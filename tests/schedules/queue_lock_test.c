/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "world.h"

/* The queue on its own lock, which everywhere else here is the explorer's mutex: whoever comes for
 * the lock, takes its bias away, sleeps for it or wakes another is explored together with who
 * sleeps for an item. Fewer adds than elsewhere, for each takes more steps. */

static void produce(void *arg)
{
    int own = *(const int *)arg;
    CHECK_STATUS(world_add(0), WEIR_OK);
    CHECK_STATUS(world_add(1 + own), WEIR_OK);
}

static void contended(void *arg)
{
    struct weiri_thread producers[2];
    struct weiri_thread consumers[2];
    world_init_on(false, *(const bool *)arg);
    world_start_two(consumers, "consumer", world_consume);
    world_start_two(producers, "producer", produce);
    world_join_two(producers);
    world_end_consumers(consumers);
}

TEST(work, "two producers and two consumers on the real lock: each add is answered")
{
    bool is_embedded = false;
    explorer_must_pass(contended, &is_embedded, NULL);
    is_embedded = true;
    explorer_must_pass(contended, &is_embedded, NULL);
}

/* Sleepers of both kinds, for an item and for the lock, when the queue shuts down. */
TEST(shutdown, "a shutdown on the real lock wakes every consumer, wherever it sleeps")
{
    explorer_must_pass(world_shutdown_beside_get, NULL, NULL);
}

static void shut_down_and_add(void *arg)
{
    world_shut_down(arg);
    CHECK_STATUS(world_add(1), WEIR_ESHUTDOWN);
}

/* In a queue that has memory for the adds, so that nothing but the shutdown is in their way. */
static void shutdown_beside_add(void *arg)
{
    struct weiri_thread closer;
    struct weir_work work;
    world_init_on(false, *(const bool *)arg);
    CHECK_STATUS(world_add(3), WEIR_OK);
    CHECK_STATUS(weir_queue_try_get(world.queue, &work), WEIR_OK);
    world_process(&work);
    world_start(&closer, "closer", shut_down_and_add, NULL);
    enum weir_status status = world_add(0);
    CHECK(status == WEIR_OK || status == WEIR_ESHUTDOWN);
    weiri_thread_join(&closer);
    if (status == WEIR_OK) {
        CHECK_STATUS(weir_queue_try_get(world.queue, &work), WEIR_OK);
        world_process(&work);
    }
    world_fini();
}

TEST(shutdown_refuses, "after a shutdown no add is accepted, also of a thread that shares the lock")
{
    bool is_embedded = false;
    explorer_must_pass(shutdown_beside_add, &is_embedded, NULL);
    is_embedded = true;
    explorer_must_pass(shutdown_beside_add, &is_embedded, NULL);
}

static void earlier_time(void *arg)
{
    (void)arg;
    struct weiri_thread consumers[2];
    world_init();
    world.is_exact = true;
    world_start_two(consumers, "consumer", world_consume);
    CHECK_STATUS(world_add_after(0, 100), WEIR_OK);
    CHECK_STATUS(world_add_after(1, 10), WEIR_OK);
    CHECK_STATUS(world_add(2), WEIR_OK);
    world_end_consumers(consumers);
}

TEST(time, "an earlier time on the real lock reaches the consumer that watches the clock")
{
    const struct explorer_options options = {.no_early_time = true};
    explorer_must_pass(earlier_time, NULL, &options);
}

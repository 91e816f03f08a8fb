/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "world.h"

/* The queue in every order of its threads: gets that weir_queue_interrupt() ends. */

static unsigned ended; /* gets, by an interrupt */

static void consume_until_interrupted(void *arg)
{
    (void)arg;
    struct weir_work work;
    enum weir_status status;
    while ((status = weir_queue_get(world.queue, WEIR_FOREVER, &work)) == WEIR_OK) {
        world_process(&work);
    }
    CHECK_STATUS(status, WEIR_ECANCELED);
    ended++;
}

static void interrupt(void *arg)
{
    (void)arg;
    CHECK_STATUS(weir_queue_interrupt(world.queue), WEIR_OK);
    explorer_note("has interrupted");
}

static void all_leave(void *arg)
{
    (void)arg;
    struct weiri_thread consumers[2];
    struct weiri_thread others[2];
    world_init();
    ended = 0;
    world_start_two(consumers, "consumer", consume_until_interrupted);
    world_start_two(others, "interrupter", interrupt);
    world_join_two(others);
    world_join_two(consumers);
    CHECK_INT(ended, ==, 2);
    world_fini();
}

TEST(as_many, "as many interrupts as consumers end them all, whether they slept or not")
{
    explorer_must_pass(all_leave, NULL, NULL);
}

static void produce(void *arg)
{
    (void)arg;
    CHECK_STATUS(world_add(0), WEIR_OK);
    CHECK_STATUS(world_add(1), WEIR_OK);
}

/* One consumer is ended, and the other one is left with the work. */
static void one_leaves(void *arg)
{
    struct weiri_thread consumers[2];
    struct weiri_thread threads[2];
    world_init_on(false, *(const bool *)arg);
    ended = 0;
    world_start_two(consumers, "consumer", consume_until_interrupted);
    world_start(&threads[0], "interrupter", interrupt, NULL);
    world_start(&threads[1], "producer", produce, NULL);
    world_join_two(threads);
    world_wait_all_seen();
    CHECK_INT(ended, <=, 1);
    interrupt(NULL);
    world_join_two(consumers);
    CHECK_INT(ended, ==, 2);
    world_fini();
}

TEST(work_goes_on, "an interrupt takes no wake-up of an item along: the other consumer takes it")
{
    bool is_embedded = false;
    explorer_must_pass(one_leaves, &is_embedded, NULL);
    is_embedded = true;
    explorer_must_pass(one_leaves, &is_embedded, NULL);
}

/* The consumer that sleeps until the pending time may be the one that leaves. */
static void timer_leaves(void *arg)
{
    (void)arg;
    struct weiri_thread consumers[2];
    struct weiri_thread other;
    world_init();
    world.is_exact = true;
    ended = 0;
    world_start_two(consumers, "consumer", consume_until_interrupted);
    CHECK_STATUS(world_add_after(0, 50), WEIR_OK);
    world_start(&other, "interrupter", interrupt, NULL);
    weiri_thread_join(&other);
    world_wait_seen(0);
    interrupt(NULL);
    world_join_two(consumers);
    CHECK_INT(ended, ==, 2);
    world_fini();
}

TEST(time_is_kept, "when an interrupt ends the get that waits for a time, another one waits for it")
{
    const struct explorer_options options = {.no_early_time = true};
    explorer_must_pass(timer_leaves, NULL, &options);
}

static void get_soon(void *arg)
{
    struct weir_work work;
    enum weir_status status = weir_queue_get(world.queue, 10, &work);
    CHECK(status == WEIR_ETIMEDOUT || status == WEIR_ECANCELED);
    *(enum weir_status *)arg = status;
}

/* An interrupt ends the get with the limit, or is left for the next one that would block. */
static void limit_passes(void *arg)
{
    (void)arg;
    struct weiri_thread threads[2];
    enum weir_status status;
    struct weir_work work;
    world_init();
    world_start(&threads[0], "impatient", get_soon, &status);
    world_start(&threads[1], "interrupter", interrupt, NULL);
    world_join_two(threads);
    CHECK_STATUS(weir_queue_get(world.queue, 0, &work), WEIR_ETIMEDOUT);
    CHECK_STATUS(weir_queue_get(world.queue, 1, &work),
                 status == WEIR_ECANCELED ? WEIR_ETIMEDOUT : WEIR_ECANCELED);
    world_fini();
}

TEST(limit_or_interrupt, "an interrupt that meets a limit ends this get or the next one, not both")
{
    explorer_must_pass(limit_passes, NULL, NULL);
}

static void consume_to_any_end(void *arg)
{
    (void)arg;
    struct weir_work work;
    enum weir_status status;
    while ((status = weir_queue_get(world.queue, WEIR_FOREVER, &work)) == WEIR_OK) {
        world_process(&work);
    }
    CHECK(status == WEIR_ECANCELED || status == WEIR_ESHUTDOWN);
    ended += status == WEIR_ECANCELED;
}

static void interrupt_beside_shutdown(void *arg)
{
    (void)arg;
    struct weiri_thread consumers[2];
    struct weiri_thread threads[2];
    world_init();
    ended = 0;
    world_start_two(consumers, "consumer", consume_to_any_end);
    world_start(&threads[0], "interrupter", interrupt, NULL);
    world_start(&threads[1], "closer", world_shut_down, NULL);
    world_join_two(threads);
    world_join_two(consumers);
    CHECK_INT(ended, <=, 1);
    world_fini();
}

TEST(beside_shutdown, "beside a shutdown an interrupt ends one get at most, and all end")
{
    explorer_must_pass(interrupt_beside_shutdown, NULL, NULL);
}

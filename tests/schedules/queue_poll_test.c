/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <poll.h>

#include "world.h"

#include "queue/queue.h"

/* The queue's descriptor in every order of its threads: whenever nobody is inside the queue, it
 * shows what is there. Real descriptors, on a manual clock: nothing here waits for them. */

static void look(int fd)
{
    weiri_mutex_lock(&world.queue->mutex); /* without what a call does when it locks */
    bool is_ready = world.queue->core.queued > 0 || world.queue->shutting_down;
    struct pollfd pollfd = {.fd = fd, .events = POLLIN};
    CHECK_INT(poll(&pollfd, 1, 0), ==, is_ready);
    weiri_mutex_unlock(&world.queue->mutex);
}

static void watch(void *arg)
{
    for (int i = 0; i < 4; i++) {
        look(*(const int *)arg);
    }
}

static void produce(void *arg)
{
    int own = *(const int *)arg;
    CHECK_STATUS(world_add(0), WEIR_OK);
    if (own == 0) {
        CHECK_STATUS(world_add_after(1, 10), WEIR_OK);
        CHECK_STATUS(weir_clock_advance(world.clock, 10), WEIR_OK);
    } else {
        CHECK_STATUS(weir_queue_cancel(world.queue, world_key(2), NULL), WEIR_OK);
        CHECK_STATUS(world_add(2), WEIR_OK);
    }
}

/* The loop of an event loop: until nothing is ready. */
static void consume(void *arg)
{
    (void)arg;
    struct weir_work work;
    for (int i = 0; i < 3; i++) {
        while (weir_queue_get(world.queue, 0, &work) == WEIR_OK) {
            world_process(&work);
        }
    }
}

static void shown(void *arg)
{
    struct weiri_thread producers[2];
    struct weiri_thread consumers[2];
    struct weiri_thread watcher;
    int fd = -1;
    world_init_on(true, *(const bool *)arg);
    CHECK_STATUS(weir_queue_fd(world.queue, &fd), WEIR_OK);
    world_start(&consumers[0], "consumer", world_consume, NULL);
    world_start(&consumers[1], "loop", consume, NULL);
    world_start_two(producers, "producer", produce);
    world_start(&watcher, "watcher", watch, &fd);
    world_join_two(producers);
    weiri_thread_join(&watcher);
    look(fd);
    world_wait_all_seen();
    look(fd);
    CHECK_STATUS(weir_queue_shutdown_drain(world.queue, WEIR_FOREVER), WEIR_OK);
    look(fd);
    world_join_two(consumers);
    world_fini();
}

TEST(shown_bytes, "the descriptor is readable exactly while something is there (bytes)")
{
    bool is_embedded = false;
    explorer_must_pass(shown, &is_embedded, NULL);
}

TEST(shown_embedded, "the descriptor is readable exactly while something is there (embedded)")
{
    bool is_embedded = true;
    explorer_must_pass(shown, &is_embedded, NULL);
}

static void ask(void *arg)
{
    CHECK_STATUS(weir_queue_fd(world.queue, arg), WEIR_OK);
}

static void asked(void *arg)
{
    (void)arg;
    static int fds[2];
    struct weiri_thread threads[2];
    world_init_on(true, false);
    world_start(&threads[0], "asker", ask, &fds[0]);
    world_start(&threads[1], "asker", ask, &fds[1]);
    CHECK_STATUS(world_add(0), WEIR_OK);
    world_join_two(threads);
    CHECK_INT(fds[0], ==, fds[1]);
    look(fds[0]);
    struct weir_work work;
    CHECK_STATUS(weir_queue_get(world.queue, 0, &work), WEIR_OK);
    look(fds[0]);
    world_process(&work);
    world_fini();
}

TEST(asked_at_once, "two threads that ask for the descriptor while a third adds get the same one")
{
    explorer_must_pass(asked, NULL, NULL);
}

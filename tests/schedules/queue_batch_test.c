/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "world.h"

/* Batches in a queue in which nobody sleeps, in every order of its threads: there they have ways of
 * their own (src/queue/batch.c), which single moves and batches beside sleepers do not take. */

/* A queue whose first calls, which have memory to ask for, are behind it. */
static void init_used(bool is_embedded)
{
    struct weir_work work;
    world_init_on(false, is_embedded);
    CHECK_STATUS(world_add(3), WEIR_OK);
    CHECK_STATUS(weir_queue_get(world.queue, 0, &work), WEIR_OK);
    world_process(&work);
}

/* Adds three keys, of which one is there twice. */
static enum weir_status add_three(int one, int other)
{
    struct weir_key keys[3] = {world_key(one), world_key(other), world_key(one)};
    explorer_note("adds %c and %c", 'a' + one, 'a' + other);
    unsigned add = world_ask();
    enum weir_status status = weir_queue_add_batch(world.queue, keys, 3, NULL);
    world_asked(one, add, status);
    world_asked(other, add, status);
    return status;
}

/* Processes what there is, two at most, and tries to end it again, in either way. False: there is
 * nothing. */
static bool process_two(void)
{
    struct weir_work work[2];
    size_t count = 0;
    if (weir_queue_get_batch(world.queue, 0, work, 2, &count) != WEIR_OK) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        world_begin(world_number(&work[i]));
    }
    for (size_t i = 0; i < count; i++) {
        world_end(world_number(&work[i]));
    }
    CHECK_STATUS(weir_queue_done_batch(world.queue, work, count), WEIR_OK);
    CHECK_STATUS(weir_queue_done(world.queue, &work[0]), WEIR_ENOTPROCESSING);
    CHECK_STATUS(weir_queue_done_batch(world.queue, work, count), WEIR_ENOTPROCESSING);
    return true;
}

static void process_all(void)
{
    while (process_two()) {
    }
}

static void add_and_process(void *arg)
{
    int own = *(const int *)arg;
    for (int round = 0; round < 2; round++) {
        CHECK_STATUS(add_three(own, own + 1), WEIR_OK);
        (void)process_two();
    }
}

static void batches(void *arg)
{
    struct weiri_thread threads[2];
    init_used(*(const bool *)arg);
    world_start_two(threads, "thread", add_and_process);
    world_join_two(threads);
    process_all();
    for (int number = 0; number < WORLD_KEYS; number++) {
        CHECK(world_is_seen(number));
    }
    world_fini();
}

TEST(quiet, "batches where nobody sleeps: each add is answered, no item twice at once, a second "
            "done ends nobody's processing")
{
    bool is_embedded = true;
    explorer_must_pass(batches, &is_embedded, NULL);
    is_embedded = false;
    explorer_must_pass(batches, &is_embedded, NULL);
}

/* The last of its items is another queue's. */
static void add_refused(void *arg)
{
    (void)arg;
    struct weir_key keys[3] = {world_key(0), world_key(1), world_key(3)};
    CHECK_STATUS(weir_queue_add_batch(world.queue, keys, 3, NULL), WEIR_EBUSY);
    explorer_note("was refused");
}

static void refused_beside_add(void *arg)
{
    (void)arg;
    weir_queue *other;
    struct weiri_thread thread;
    init_used(true);
    CHECK_STATUS(weir_queue_new(NULL, &other, NULL), WEIR_OK);
    CHECK_STATUS(weir_queue_add(other, world_key(3)), WEIR_OK);
    world_start(&thread, "refused", add_refused, NULL);
    CHECK_STATUS(world_add(0), WEIR_OK);
    weiri_thread_join(&thread);
    process_all();
    CHECK_INT(world.runs[0], ==, 1);
    CHECK_INT(world.runs[1], ==, 0);
    weir_queue_free(other);
    world_fini();
}

TEST(refused, "no add takes an item to be queued because of a batch that is refused")
{
    explorer_must_pass(refused_beside_add, NULL, NULL);
}

static void shut_down_and_process(void *arg)
{
    (void)arg;
    world_shut_down(NULL);
    CHECK_STATUS(add_three(1, 2), WEIR_ESHUTDOWN);
    process_all();
}

static void shutdown_beside_batch(void *arg)
{
    struct weiri_thread closer;
    init_used(*(const bool *)arg);
    world_start(&closer, "closer", shut_down_and_process, NULL);
    enum weir_status status = add_three(0, 1);
    CHECK(status == WEIR_OK || status == WEIR_ESHUTDOWN);
    weiri_thread_join(&closer);
    CHECK_INT(world.runs[0], ==, status == WEIR_OK ? 1 : 0);
    CHECK_INT(world.runs[1], ==, status == WEIR_OK ? 1 : 0);
    world_fini();
}

TEST(shutdown, "a batch beside a shutdown is accepted and processed, or refused")
{
    bool is_embedded = false;
    explorer_must_pass(shutdown_beside_batch, &is_embedded, NULL);
    is_embedded = true;
    explorer_must_pass(shutdown_beside_batch, &is_embedded, NULL);
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_WORLD_H
#define WEIR_TEST_WORLD_H

#include <weir/queue.h>

#include "base/sync.h"

#include "support/explorer/explorer.h"
#include "support/harness.h"

/* What the scenarios of the queue share: a queue, and the books on every item, which say whether
 * the queue keeps its promises:
 *
 * - an item is never in two consumers' hands;
 * - every add that returned is followed by a processing that starts after it;
 * - what is added for a time does not come before it.
 *
 * The books are plain variables: in the explorer nothing runs between two scheduling points. */

#define WORLD_KEYS 4

struct world {
    weir_queue *queue;
    weir_clock *clock;
    struct weir_item items[WORLD_KEYS];
    bool is_embedded; /* the items are named by their address, not by bytes */
    bool is_exact;    /* what comes at a time comes at that very time */

    struct weiri_mutex mutex;
    struct weiri_cond progress; /* signalled after each change of the books that helps a waiter */
    unsigned adds;              /* begun, of all items: the number of an add */
    unsigned asked[WORLD_KEYS]; /* the last one that was accepted */
    unsigned seen[WORLD_KEYS];  /* adds begun when the last processing started */
    bool busy[WORLD_KEYS];      /* in a consumer's hand */
    int64_t due[WORLD_KEYS];    /* the time it was added for; 0: at once */
    unsigned runs[WORLD_KEYS];  /* processings started */
    int phase;                  /* of the scenario, where it has some */
};

/* One schedule's world; zeroed by world_init(). */
static struct world world;

static inline void world_init_on(bool is_manual, bool is_embedded)
{
    memset(&world, 0, sizeof(world));
    world.is_embedded = is_embedded;
    struct weir_queue_options options = {0};
    options.allocator = *test_allocator();
    world.clock = weir_clock_monotonic();
    if (is_manual) {
        CHECK_STATUS(weir_clock_manual_new(1000, test_allocator(), &world.clock), WEIR_OK);
    }
    options.clock = world.clock;
    CHECK_STATUS(weir_queue_new(&options, &world.queue, NULL), WEIR_OK);
    weiri_mutex_init(&world.mutex);
    weiri_cond_init(&world.progress, &world.mutex);
}

static inline void world_init(void)
{
    world_init_on(false, false);
}

/* Nothing may be left in the queue. */
static inline void world_fini(void)
{
    struct weir_queue_counts counts;
    CHECK_STATUS(weir_queue_count(world.queue, &counts), WEIR_OK);
    CHECK_INT(counts.queued, ==, 0);
    CHECK_INT(counts.processing, ==, 0);
    CHECK_INT(counts.waiting, ==, 0);
    weiri_cond_fini(&world.progress);
    weiri_mutex_fini(&world.mutex);
    weir_queue_free(world.queue);
    weir_clock_free(world.clock);
}

static inline struct weir_key world_key(int number)
{
    static const char names[WORLD_KEYS] = {'a', 'b', 'c', 'd'};
    return world.is_embedded ? weir_key_item(&world.items[number])
                             : weir_key_bytes(&names[number], 1);
}

static inline int world_number(const struct weir_work *work)
{
    return world.is_embedded ? (int)(work->item - world.items)
                             : *(const char *)work->key.data - 'a';
}

static inline void world_start(struct weiri_thread *thread, const char *name,
                               void (*run)(void *arg), void *arg)
{
    CHECK_STATUS(weiri_thread_start(thread, name, run, arg), WEIR_OK);
}

/* Two threads of one kind, with the numbers 0 and 1. */
static inline void world_start_two(struct weiri_thread threads[2], const char *name,
                                   void (*run)(void *arg))
{
    static int numbers[2] = {0, 1};
    world_start(&threads[0], name, run, &numbers[0]);
    world_start(&threads[1], name, run, &numbers[1]);
}

static inline void world_join_two(struct weiri_thread threads[2])
{
    weiri_thread_join(&threads[0]);
    weiri_thread_join(&threads[1]);
}

static inline void world_tell(void)
{
    weiri_mutex_lock(&world.mutex);
    weiri_cond_broadcast(&world.progress);
    weiri_mutex_unlock(&world.mutex);
}

static inline bool world_is_seen(int number)
{
    return world.seen[number] >= world.asked[number] && !world.busy[number];
}

static inline void world_wait_seen(int number)
{
    weiri_mutex_lock(&world.mutex);
    while (!world_is_seen(number)) {
        weiri_cond_wait(&world.progress);
    }
    weiri_mutex_unlock(&world.mutex);
}

/* Until the item has been processed for the first time. */
static inline void world_wait_run(int number)
{
    weiri_mutex_lock(&world.mutex);
    while (world.runs[number] == 0 || world.busy[number]) {
        weiri_cond_wait(&world.progress);
    }
    weiri_mutex_unlock(&world.mutex);
}

static inline void world_set_phase(int phase)
{
    weiri_mutex_lock(&world.mutex);
    world.phase = phase;
    weiri_cond_broadcast(&world.progress);
    weiri_mutex_unlock(&world.mutex);
}

static inline void world_wait_phase(int phase)
{
    weiri_mutex_lock(&world.mutex);
    while (world.phase < phase) {
        weiri_cond_wait(&world.progress);
    }
    weiri_mutex_unlock(&world.mutex);
}

/* A shutdown wakes consumers that a lost wake-up left asleep: before it, all must be seen. */
static inline void world_wait_all_seen(void)
{
    for (int number = 0; number < WORLD_KEYS; number++) {
        world_wait_seen(number);
    }
}

/* The books of an add: its number, before it; and what came of it, after. */
static inline unsigned world_ask(void)
{
    return ++world.adds;
}

static inline void world_asked(int number, unsigned add, enum weir_status status)
{
    explorer_note("added %c: %s", 'a' + number, weir_status_name((int)status));
    if (status == WEIR_OK && world.asked[number] < add) {
        world.asked[number] = add;
    }
}

static inline enum weir_status world_add(int number)
{
    explorer_note("adds %c", 'a' + number);
    unsigned add = world_ask();
    enum weir_status status = weir_queue_add(world.queue, world_key(number));
    world_asked(number, add, status);
    return status;
}

static inline enum weir_status world_add_after(int number, int64_t delay_ns)
{
    explorer_note("adds %c after %lld", 'a' + number, (long long)delay_ns);
    unsigned add = world_ask();
    world.due[number] = weir_clock_now(world.clock) + delay_ns;
    enum weir_status status = weir_queue_add_after(world.queue, world_key(number), delay_ns);
    world_asked(number, add, status);
    return status;
}

/* Enters a processing in the books. */
static inline void world_begin(int number)
{
    explorer_note("processes %c", 'a' + number);
    CHECK(!world.busy[number]);
    world.busy[number] = true;
    world.seen[number] = world.adds;
    world.runs[number]++;
    if (world.due[number] != 0) {
        int64_t now = weir_clock_now(world.clock);
        CHECK_INT(now, >=, world.due[number]);
        CHECK(!world.is_exact || now == world.due[number]);
    }
    weiri_sync_point();
}

/* To be called before the done that ends it. */
static inline void world_end(int number)
{
    CHECK(world.busy[number]);
    world.busy[number] = false;
}

static inline void world_process(const struct weir_work *work)
{
    int number = world_number(work);
    world_begin(number);
    world_end(number);
    CHECK_STATUS(weir_queue_done(world.queue, work), WEIR_OK);
    world_tell();
}

/* A consumer's loop until the shutdown. */
static inline void world_consume(void *arg)
{
    (void)arg;
    struct weir_work work;
    enum weir_status status;
    while ((status = weir_queue_get(world.queue, WEIR_FOREVER, &work)) == WEIR_OK) {
        world_process(&work);
    }
    CHECK_STATUS(status, WEIR_ESHUTDOWN);
    CHECK(weir_queue_shutting_down(world.queue));
}

/* The usual end: all is seen, then the shutdown, then the consumers end. */
static inline void world_end_consumers(struct weiri_thread consumers[2])
{
    world_wait_all_seen();
    CHECK_STATUS(weir_queue_shutdown_drain(world.queue, WEIR_FOREVER), WEIR_OK);
    world_join_two(consumers);
    world_fini();
}

/* A thread that shuts the queue down. */
static inline void world_shut_down(void *arg)
{
    (void)arg;
    weir_queue_shutdown(world.queue);
    explorer_note("has shut down");
}

/* A scenario: consumers that sleep are told, and both return; what was accepted is processed. */
static inline void world_shutdown_beside_get(void *arg)
{
    (void)arg;
    struct weiri_thread consumers[2];
    struct weiri_thread closer;
    world_init();
    world_start_two(consumers, "consumer", world_consume);
    world_start(&closer, "closer", world_shut_down, NULL);
    enum weir_status status = world_add(0);
    CHECK(status == WEIR_OK || status == WEIR_ESHUTDOWN);
    weiri_thread_join(&closer);
    world_join_two(consumers);
    CHECK_INT(world.runs[0], ==, status == WEIR_OK ? 1 : 0);
    world_fini();
}

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <glib.h>
#include <stdlib.h>

#include "bench/pool/pool.h"

/* GAsyncQueue in the place of bench/queue/hand_over.c, GThreadPool in that of bench/pool/pool.c. */

struct object {
    char payload[64];
};

struct hand_over {
    GAsyncQueue *queue;
    struct object *objects;
    struct object end; /* ends one consumer */
    size_t share;      /* of one producer */
    struct {
        size_t count;
        uint64_t sum;
    } taken[4];
};

static void produce(void *state, size_t number)
{
    struct hand_over *over = state;
    struct object *from = &over->objects[number * over->share];
    for (size_t i = 0; i < over->share; i++) {
        g_async_queue_push(over->queue, &from[i]);
    }
}

static void consume(void *state, size_t number)
{
    struct hand_over *over = state;
    size_t count = 0;
    uint64_t sum = 0;
    void *item;
    while ((item = g_async_queue_pop(over->queue)) != &over->end) {
        count++;
        sum += (uintptr_t)item;
    }
    over->taken[number].count = count;
    over->taken[number].sum = sum;
}

static void hand_over(struct bench_run *run)
{
    const size_t sides = run->size;
    struct hand_over over = {.queue = g_async_queue_new(), .share = BENCH_HAND_OVERS / sides};
    const size_t total = over.share * sides;
    over.objects = bench_alloc(total, sizeof(struct object));
    int64_t start = bench_now();
    struct bench_threads *consumers = bench_threads_start(sides, consume, &over);
    bench_threads_join(bench_threads_start(sides, produce, &over));
    for (size_t i = 0; i < sides; i++) {
        g_async_queue_push(over.queue, &over.end);
    }
    bench_threads_join(consumers);
    bench_span(run, start, total);
    size_t count = 0;
    uint64_t sum = 0;
    for (size_t i = 0; i < sides; i++) {
        count += over.taken[i].count;
        sum += over.taken[i].sum;
    }
    for (size_t i = 0; i < total; i++) {
        sum -= (uintptr_t)&over.objects[i];
    }
    BENCH_CHECK_COUNT(count, total);
    BENCH_CHECK(sum == 0);
    g_async_queue_unref(over.queue);
    free(over.objects);
}

static void note(gpointer task, gpointer unused)
{
    (void)unused;
    ++*(unsigned char *)task;
}

static void pool(struct bench_run *run)
{
    const size_t count = BENCH_POOL_TASKS;
    unsigned char *ran = bench_alloc(count, 1);
    GThreadPool *pool = g_thread_pool_new(note, NULL, (gint)run->size, TRUE, NULL);
    BENCH_CHECK(pool != NULL);
    int64_t start = bench_now();
    for (size_t i = 0; i < count; i++) {
        BENCH_CHECK(g_thread_pool_push(pool, &ran[i], NULL));
    }
    g_thread_pool_free(pool, FALSE, TRUE);
    bench_span(run, start, count);
    bench_check_ran(ran, count);
    free(ran);
}

const struct bench_measurement bench_glib[] = {
    {"one_to_one/glib", hand_over, 1, 0},
    {"four_to_four/glib", hand_over, 4, 0},
    {"pool_1/glib", pool, 1, 0},
    {"pool_4/glib", pool, 4, 0},
    {0},
};

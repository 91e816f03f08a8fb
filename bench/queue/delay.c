/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "bench/queue/items.h"

/* Pending times. */

static int64_t random_delay(uint64_t *random)
{
    return (int64_t)(bench_random(random) % (uint64_t)WEIR_SECONDS(600)) + 1;
}

/* client-go's BenchmarkDelayingQueue_AddAfter with b.N = size; embedded items need no text. */
static void add_after(struct bench_run *run)
{
    const size_t count = bench_measurement(run)->size;
    struct bench_items items = {0};
    if (bench_is(run, BENCH_EMBEDDED)) {
        bench_items_init(&items, run, count);
    }
    weir_clock *clock;
    weir_queue *queue = bench_queue_manual(&clock);
    uint64_t random = 1;
    struct bench_span span;
    bench_span_start(&span);
    for (size_t i = 0; i < count; i++) {
        char text[24];
        struct weir_key key =
            items.objects != NULL
                ? bench_key(&items, i)
                : weir_key_bytes(text, (size_t)snprintf(text, sizeof(text), "%zu", i));
        BENCH_OK(weir_queue_add_after(queue, key, random_delay(&random)));
    }
    BENCH_OK(weir_clock_advance(clock, WEIR_SECONDS(660)));
    for (size_t i = 0; i < count; i++) {
        struct weir_work work;
        BENCH_OK(weir_queue_get(queue, &work));
    }
    bench_span_end(run, &span, count);
    BENCH_CHECK_COUNT(weir_queue_len(queue), 0);
    weir_queue_free(queue);
    weir_clock_free(clock);
    bench_items_fini(&items);
}

struct timers {
    struct bench_items items;
    weir_queue *queue;
    uint64_t random;
    size_t at;
};

static void cancel_insert(void *state, size_t count)
{
    struct timers *timers = state;
    for (size_t i = 0; i < count; i++) {
        struct weir_key key = bench_key(
            &timers->items, (size_t)(bench_random(&timers->random) % timers->items.count));
        bool taken = false;
        BENCH_OK(weir_queue_cancel(timers->queue, key, &taken));
        BENCH_CHECK(taken);
        BENCH_OK(weir_queue_add_after(timers->queue, key, random_delay(&timers->random)));
    }
}

/* What add_after, and a cancel and an add_after, cost of size items; embedded, so that no table is
 * in the way. */
static void timers(struct bench_run *run)
{
    struct timers all = {.random = 1};
    weir_clock *clock;
    all.queue = bench_queue_manual(&clock);
    bench_items_init(&all.items, run, bench_measurement(run)->size);
    int64_t start = bench_now();
    for (size_t i = 0; i < all.items.count; i++) {
        BENCH_OK(
            weir_queue_add_after(all.queue, bench_key(&all.items, i), random_delay(&all.random)));
    }
    bench_metric(run, "insert_ns", (double)(bench_now() - start) / (double)all.items.count);
    bench_chunks(run, bench_scale(run, 2000000), cancel_insert, &all);
    struct weir_queue_counts counts;
    BENCH_OK(weir_queue_count(all.queue, &counts));
    BENCH_CHECK_COUNT(counts.waiting, all.items.count);
    weir_queue_free(all.queue);
    weir_clock_free(clock);
    bench_items_fini(&all.items);
}

const struct bench_measurement bench_delays[] = {
    {"add_after_1e5", "weir", add_after, 100000, 0},
    {"add_after_1e5", "weir-embedded", add_after, 100000, BENCH_EMBEDDED},
    {"add_after_1e6", "weir", add_after, 1000000, BENCH_FULL},
    {"add_after_1e6", "weir-embedded", add_after, 1000000, BENCH_EMBEDDED | BENCH_FULL},
    {"add_after_5e6", "weir", add_after, 5000000, BENCH_FULL},
    {"add_after_1e7", "weir", add_after, 10000000, BENCH_FULL},
    {"cancel_insert_1e5", "weir-embedded", timers, 100000, BENCH_EMBEDDED},
    {0},
};

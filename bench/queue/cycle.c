/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "bench/queue/items.h"

/* add, get, done of hot items on one thread; and the add of an item that is queued already. */

struct cycle {
    struct bench_items items;
    weir_queue *queue;
    size_t at;
    size_t got;
    struct weir_work work; /* fused: the item in hand */
};

static size_t next(struct cycle *cycle)
{
    size_t at = cycle->at;
    cycle->at = at + 1 == cycle->items.count ? 0 : at + 1;
    return at;
}

static void plain(void *state, size_t count)
{
    struct cycle *cycle = state;
    cycle->at = bench_cycle(cycle->queue, &cycle->items, cycle->at, count);
    cycle->got += count;
}

static void fused(void *state, size_t count)
{
    struct cycle *cycle = state;
    for (size_t i = 0; i < count; i++) {
        BENCH_OK(weir_queue_add(cycle->queue, bench_key(&cycle->items, next(cycle))));
        BENCH_OK(weir_queue_done_get(cycle->queue, &cycle->work));
        cycle->got++;
    }
}

static void batches(void *state, size_t count)
{
    struct cycle *cycle = state;
    struct weir_key keys[BENCH_BATCH_SIZE];
    struct weir_work works[BENCH_BATCH_SIZE];
    for (size_t left = count; left > 0;) {
        size_t size = left < BENCH_BATCH_SIZE ? left : BENCH_BATCH_SIZE;
        for (size_t i = 0; i < size; i++) {
            keys[i] = bench_key(&cycle->items, next(cycle));
        }
        size_t got = 0;
        BENCH_OK(weir_queue_add_batch(cycle->queue, keys, size));
        BENCH_OK(weir_queue_get_batch(cycle->queue, works, size, &got));
        BENCH_OK(weir_queue_done_batch(cycle->queue, works, got));
        cycle->got += got;
        left -= size;
    }
}

static void cycle_on(struct bench_run *run, weir_queue *queue)
{
    const size_t total = bench_scale(run, 20000000);
    struct cycle cycle = {.queue = queue};
    bench_items_init(&cycle.items, run, BENCH_HOT_KEYS);
    if (bench_is(run, BENCH_FUSED)) {
        BENCH_OK(weir_queue_add(cycle.queue, bench_key(&cycle.items, next(&cycle))));
        BENCH_OK(weir_queue_get(cycle.queue, &cycle.work));
        bench_chunks(run, total, fused, &cycle);
        BENCH_OK(weir_queue_done(cycle.queue, &cycle.work));
    } else {
        bench_chunks(run, total, bench_is(run, BENCH_BATCH) ? batches : plain, &cycle);
    }
    BENCH_CHECK_COUNT(cycle.got, total / BENCH_CHUNKS * (BENCH_CHUNKS + 1));
    BENCH_CHECK_COUNT(weir_queue_len(cycle.queue), 0);
    weir_queue_free(cycle.queue);
    bench_items_fini(&cycle.items);
}

static void cycle(struct bench_run *run)
{
    cycle_on(run, bench_queue_new());
}

static void ranked_cycle(struct bench_run *run)
{
    cycle_on(run, bench_queue_ranked());
}

/* client-go's BenchmarkQueue: a new queue, made off the clock, for each 100 items. */
static void fresh(struct bench_run *run)
{
    const size_t queues = bench_scale(run, 50000);
    struct cycle cycle = {0};
    bench_items_init(&cycle.items, run, BENCH_HOT_KEYS);
    int64_t spent = 0;
    int64_t cpu = 0;
    for (size_t i = 0; i < queues + queues / 10; i++) {
        if (i == queues / 10) {
            spent = 0;
            cpu = 0;
        }
        cycle.queue = bench_queue_new();
        int64_t cpu_start = bench_cpu();
        int64_t start = bench_now();
        if (bench_is(run, BENCH_FUSED)) {
            BENCH_OK(weir_queue_add(cycle.queue, bench_key(&cycle.items, next(&cycle))));
            BENCH_OK(weir_queue_get(cycle.queue, &cycle.work));
            fused(&cycle, BENCH_HOT_KEYS - 1);
            BENCH_OK(weir_queue_done(cycle.queue, &cycle.work));
            cycle.got++;
        } else {
            plain(&cycle, BENCH_HOT_KEYS);
        }
        spent += bench_now() - start;
        cpu += bench_cpu() - cpu_start;
        BENCH_CHECK_COUNT(weir_queue_len(cycle.queue), 0);
        weir_queue_free(cycle.queue);
    }
    BENCH_CHECK_COUNT(cycle.got, (queues + queues / 10) * BENCH_HOT_KEYS);
    bench_items(run, queues * BENCH_HOT_KEYS);
    bench_metric(run, "ns", (double)spent / (double)(queues * BENCH_HOT_KEYS));
    bench_metric(run, "cpu_ns", (double)cpu / (double)(queues * BENCH_HOT_KEYS));
    bench_items_fini(&cycle.items);
}

static void add_again(void *state, size_t count)
{
    struct cycle *cycle = state;
    struct weir_key key = bench_key(&cycle->items, 0);
    for (size_t i = 0; i < count; i++) {
        BENCH_OK(weir_queue_add(cycle->queue, key));
    }
}

static void coalesced(struct bench_run *run)
{
    struct cycle cycle = {.queue = bench_queue_new()};
    bench_items_init(&cycle.items, run, 1);
    bench_chunks(run, bench_scale(run, 50000000), add_again, &cycle);
    BENCH_CHECK_COUNT(weir_queue_len(cycle.queue), 1);
    weir_queue_free(cycle.queue);
    bench_items_fini(&cycle.items);
}

const struct bench_measurement bench_cycles[] = {
    {"keyed_cycle", "weir", cycle, 0, 0},
    {"keyed_cycle", "weir-fused", cycle, 0, BENCH_FUSED},
    {"keyed_cycle", "weir-batch", cycle, 0, BENCH_BATCH},
    {"priority_cycle", "weir", ranked_cycle, 0, 0},
    {"priority_cycle", "weir-fused", ranked_cycle, 0, BENCH_FUSED},
    {"keyed_fresh_queue", "weir", fresh, 0, 0},
    {"keyed_fresh_queue", "weir-fused", fresh, 0, BENCH_FUSED},
    {"embedded_cycle", "weir", cycle, 0, BENCH_EMBEDDED},
    {"embedded_cycle", "weir-fused", cycle, 0, BENCH_EMBEDDED | BENCH_FUSED},
    {"embedded_cycle", "weir-batch", cycle, 0, BENCH_EMBEDDED | BENCH_BATCH},
    {0},
};

const struct bench_measurement bench_coalesced[] = {
    {"coalesced_add", "weir", coalesced, 0, 0},
    {"coalesced_add", "weir-embedded", coalesced, 0, BENCH_EMBEDDED},
    {0},
};

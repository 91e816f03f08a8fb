/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdatomic.h>

#include "bench/queue/items.h"

/* add, get and done of BENCH_HOT_KEYS items by one thread. */

#define CYCLES 10000000

struct cycle {
    struct bench_items items;
    weir_queue *queue;
    size_t at;
    size_t got;
    struct weir_work work; /* fused: the item being processed */
    atomic_bool has_ended;
};

static struct weir_key next_key(struct cycle *cycle)
{
    size_t at = cycle->at;
    cycle->at = at + 1 == cycle->items.count ? 0 : at + 1;
    return bench_key(&cycle->items, at);
}

static void plain(void *state, size_t count)
{
    struct cycle *cycle = state;
    for (size_t i = 0; i < count; i++) {
        struct weir_work work;
        BENCH_OK(weir_queue_add(cycle->queue, next_key(cycle)));
        BENCH_OK(weir_queue_get(cycle->queue, WEIR_FOREVER, &work));
        BENCH_OK(weir_queue_done(cycle->queue, &work));
    }
    cycle->got += count;
}

static void fused(void *state, size_t count)
{
    struct cycle *cycle = state;
    for (size_t i = 0; i < count; i++) {
        BENCH_OK(weir_queue_add(cycle->queue, next_key(cycle)));
        BENCH_OK(weir_queue_done_get(cycle->queue, WEIR_FOREVER, &cycle->work));
    }
    cycle->got += count;
}

static void batches(void *state, size_t count)
{
    struct cycle *cycle = state;
    struct weir_key keys[BENCH_BATCH_SIZE];
    struct weir_work works[BENCH_BATCH_SIZE];
    for (size_t left = count; left > 0;) {
        size_t size = left < BENCH_BATCH_SIZE ? left : BENCH_BATCH_SIZE;
        for (size_t i = 0; i < size; i++) {
            keys[i] = next_key(cycle);
        }
        size_t got = 0;
        BENCH_OK(weir_queue_add_batch(cycle->queue, keys, size, NULL));
        BENCH_OK(weir_queue_get_batch(cycle->queue, WEIR_FOREVER, works, size, &got));
        BENCH_OK(weir_queue_done_batch(cycle->queue, works, got));
        cycle->got += got;
        left -= size;
    }
}

static void retries(void *state, size_t count)
{
    struct cycle *cycle = state;
    for (size_t i = 0; i < count; i++) {
        struct weir_work work;
        BENCH_OK(weir_queue_add_rate_limited(cycle->queue, next_key(cycle)));
        BENCH_OK(weir_queue_get(cycle->queue, WEIR_FOREVER, &work));
        BENCH_OK(weir_queue_forget(cycle->queue, work.key));
        BENCH_OK(weir_queue_done(cycle->queue, &work));
    }
    cycle->got += count;
}

static void start(struct cycle *cycle, struct bench_run *run,
                  const struct weir_queue_options *options)
{
    *cycle = (struct cycle){.queue = bench_queue_new(options)};
    bench_items_init(&cycle->items, run, BENCH_HOT_KEYS);
}

/* Checks that each item which was added has come out, also while the parts warmed up. */
static void end(struct cycle *cycle)
{
    BENCH_CHECK_COUNT(cycle->got, CYCLES / BENCH_PARTS * (BENCH_PARTS + 1));
    BENCH_CHECK_COUNT(weir_queue_len(cycle->queue), 0);
    weir_queue_free(cycle->queue);
    bench_items_fini(&cycle->items);
}

static void hot_cycle(struct bench_run *run)
{
    struct cycle cycle;
    start(&cycle, run, NULL);
    if ((run->flags & BENCH_FUSED) != 0) {
        BENCH_OK(weir_queue_add(cycle.queue, next_key(&cycle)));
        BENCH_OK(weir_queue_get(cycle.queue, WEIR_FOREVER, &cycle.work));
        bench_parts(run, CYCLES, fused, &cycle);
        BENCH_OK(weir_queue_done(cycle.queue, &cycle.work));
    } else {
        bench_parts(run, CYCLES, (run->flags & BENCH_BATCH) != 0 ? batches : plain, &cycle);
    }
    end(&cycle);
}

static void ask_len(void *state, size_t number)
{
    struct cycle *cycle = state;
    (void)number;
    while (!atomic_load(&cycle->has_ended)) {
        BENCH_CHECK(weir_queue_len(cycle->queue) <= 1);
        bench_sleep(WEIR_US(100));
    }
}

/* The same while a second thread asks for the length every 100 us. */
static void cycle_with_len(struct bench_run *run)
{
    struct cycle cycle;
    start(&cycle, run, NULL);
    struct bench_threads *asking = bench_threads_start(1, ask_len, &cycle);
    bench_parts(run, CYCLES, plain, &cycle);
    atomic_store(&cycle.has_ended, true);
    bench_threads_join(asking);
    end(&cycle);
}

static void priority_cycle(struct bench_run *run)
{
    struct weir_queue_options options = {0};
    options.flags = WEIR_QUEUE_PRIORITIES;
    struct cycle cycle;
    start(&cycle, run, &options);
    bench_parts(run, CYCLES, plain, &cycle);
    end(&cycle);
}

/* The limiter answers 1 ns. */
static void rate_limited_cycle(struct bench_run *run)
{
    weir_limiter *limiter;
    struct weir_queue_options options = {0};
    BENCH_OK(weir_limiter_exponential_new(1, 1, NULL, &limiter, NULL));
    options.limiter = limiter;
    struct cycle cycle;
    start(&cycle, run, &options);
    bench_parts(run, CYCLES, retries, &cycle);
    end(&cycle);
    weir_limiter_free(limiter);
}

const struct bench_measurement bench_cycles[] = {
    {"cycle/weir-keyed", hot_cycle, 0, 0},
    {"cycle/weir-keyed-fused", hot_cycle, 0, BENCH_FUSED},
    {"cycle/weir-keyed-batch", hot_cycle, 0, BENCH_BATCH},
    {"cycle/weir-embedded", hot_cycle, 0, BENCH_EMBEDDED},
    {"cycle/weir-embedded-fused", hot_cycle, 0, BENCH_EMBEDDED | BENCH_FUSED},
    {"cycle/weir-embedded-batch", hot_cycle, 0, BENCH_EMBEDDED | BENCH_BATCH},
    {"cycle_with_len/weir-keyed", cycle_with_len, 0, 0},
    {"cycle_with_len/weir-embedded", cycle_with_len, 0, BENCH_EMBEDDED},
    {"priority_cycle/weir", priority_cycle, 0, 0},
    {"rate_limited_cycle/weir", rate_limited_cycle, 0, 0},
    {0},
};

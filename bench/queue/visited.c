/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdatomic.h>

#include "bench/queue/items.h"

/* A lock can be made cheap for one thread at the price of a dear change to another one. So: the
 * cycle of one thread while a second one looks in every 100 us. */

struct visited {
    struct bench_items items;
    weir_queue *queue;
    size_t at;
    size_t got;
    atomic_bool ended;
};

static void visit(void *state, size_t number)
{
    struct visited *visited = state;
    (void)number;
    while (!atomic_load(&visited->ended)) {
        BENCH_CHECK(weir_queue_len(visited->queue) <= 1);
        bench_sleep(WEIR_US(100));
    }
}

static void cycle(void *state, size_t count)
{
    struct visited *visited = state;
    visited->at = bench_cycle(visited->queue, &visited->items, visited->at, count);
    visited->got += count;
}

static void visited(struct bench_run *run)
{
    const size_t total = bench_scale(run, 10000000);
    struct visited visited = {.queue = bench_queue_new()};
    bench_items_init(&visited.items, run, BENCH_HOT_KEYS);
    struct bench_crowd *visitor = bench_crowd_start(run, 1, visit, &visited);
    bench_chunks(run, total, cycle, &visited);
    atomic_store(&visited.ended, true);
    bench_crowd_join(visitor);
    BENCH_CHECK_COUNT(visited.got, total / BENCH_CHUNKS * (BENCH_CHUNKS + 1));
    weir_queue_free(visited.queue);
    bench_items_fini(&visited.items);
}

const struct bench_measurement bench_visited[] = {
    {"visited_cycle", "weir", visited, 0, 0},
    {"visited_cycle", "weir-embedded", visited, 0, BENCH_EMBEDDED},
    {0},
};

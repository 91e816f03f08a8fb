/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdatomic.h>

#include "bench/queue/items.h"

/* Four producers add few items in random order and as fast as they can, while four consumers work:
 * most adds coalesce. The figure is the time until the last add, for each add. */

#define SIDES 4
#define ADDS 4000000

struct storm {
    struct bench_items items;
    weir_queue *queue;
    size_t share; /* adds of one producer */
    atomic_size_t got;
};

static void produce(void *state, size_t number)
{
    struct storm *storm = state;
    uint64_t random = number + 1;
    for (size_t i = 0; i < storm->share; i++) {
        size_t index = (size_t)bench_random(&random) & (storm->items.count - 1);
        BENCH_OK(weir_queue_add(storm->queue, bench_key(&storm->items, index)));
    }
}

static void consume(void *state, size_t number)
{
    struct storm *storm = state;
    struct weir_work work;
    size_t got = 0;
    (void)number;
    while (weir_queue_get(storm->queue, WEIR_FOREVER, &work) == WEIR_OK) {
        got++;
        BENCH_OK(weir_queue_done(storm->queue, &work));
    }
    atomic_fetch_add(&storm->got, got);
}

static void storm(struct bench_run *run)
{
    struct storm storm = {.queue = bench_queue_new(NULL), .share = ADDS / SIDES};
    bench_items_init(&storm.items, run, run->size);
    int64_t start = bench_now();
    struct bench_threads *consumers = bench_threads_start(SIDES, consume, &storm);
    bench_threads_join(bench_threads_start(SIDES, produce, &storm));
    bench_span(run, start, ADDS);
    weir_queue_shutdown(storm.queue);
    bench_threads_join(consumers);
    size_t got = atomic_load(&storm.got);
    BENCH_CHECK(got >= storm.items.count && got <= ADDS);
    BENCH_CHECK_COUNT(weir_queue_len(storm.queue), 0);
    weir_queue_free(storm.queue);
    bench_items_fini(&storm.items);
}

const struct bench_measurement bench_storms[] = {
    {"storm_64/weir-keyed", storm, 64, 0},
    {"storm_64/weir-embedded", storm, 64, BENCH_EMBEDDED},
    {"storm_65536/weir-keyed", storm, 65536, 0},
    {"storm_65536/weir-embedded", storm, 65536, BENCH_EMBEDDED},
    {0},
};

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "bench/queue/items.h"

/* client-go's BenchmarkDelayingQueue_AddAfter with b.N = size: adds with delays of up to ten
 * minutes, one step of eleven minutes, gets. */
static void add_after(struct bench_run *run)
{
    weir_clock *clock;
    BENCH_OK(weir_clock_manual_new(0, NULL, &clock));
    struct weir_queue_options options = {0};
    options.clock = clock;
    weir_queue *queue = bench_queue_new(&options);
    uint64_t random = 1;
    int64_t start = bench_now();
    for (size_t i = 0; i < run->size; i++) {
        char text[24];
        int length = snprintf(text, sizeof(text), "%zu", i);
        int64_t delay_ns = (int64_t)(bench_random(&random) % (uint64_t)WEIR_SECONDS(600));
        BENCH_OK(weir_queue_add_after(queue, weir_key_bytes(text, (size_t)length), delay_ns));
    }
    BENCH_OK(weir_clock_advance(clock, WEIR_SECONDS(660)));
    for (size_t i = 0; i < run->size; i++) {
        struct weir_work work;
        BENCH_OK(weir_queue_get(queue, WEIR_FOREVER, &work));
    }
    bench_span(run, start, run->size);
    BENCH_CHECK_COUNT(weir_queue_len(queue), 0);
    weir_queue_free(queue);
    weir_clock_free(clock);
}

const struct bench_measurement bench_delays[] = {
    {"add_after_1e5/weir", add_after, 100000, 0},
    {"add_after_1e6/weir", add_after, 1000000, 0},
    {"add_after_5e6/weir", add_after, 5000000, 0},
    {0},
};

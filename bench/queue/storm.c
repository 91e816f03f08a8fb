/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdatomic.h>

#include "bench/queue/items.h"

/* Four producers add few items, in random order and as fast as they can, while four consumers work:
 * most adds coalesce. The figure is the time of an add; a sample of adds is timed by itself. */

#define SIDES 4
/* One add in so many is timed. The peers in Go use the same. */
#define LATENCY_EVERY 64

struct storm {
    struct bench_items items;
    weir_queue *queue;
    size_t share;      /* adds of one producer */
    double clock_cost; /* taken off each timed add */
    double *latencies; /* share / LATENCY_EVERY + 1 of each producer */
    atomic_size_t got;
};

static size_t samples_each(const struct storm *storm)
{
    return (storm->share + LATENCY_EVERY - 1) / LATENCY_EVERY;
}

static void produce(void *state, size_t number)
{
    struct storm *storm = state;
    double *latency = storm->latencies + number * samples_each(storm);
    uint64_t random = number + 1;
    for (size_t i = 0; i < storm->share; i++) {
        size_t index = (size_t)bench_random(&random) & (storm->items.count - 1);
        struct weir_key key = bench_key(&storm->items, index);
        if (i % LATENCY_EVERY != 0) {
            BENCH_OK(weir_queue_add(storm->queue, key));
            continue;
        }
        int64_t before = bench_now();
        BENCH_OK(weir_queue_add(storm->queue, key));
        *latency++ = (double)(bench_now() - before) - storm->clock_cost;
    }
}

static void consume(void *state, size_t number)
{
    struct storm *storm = state;
    struct weir_work work;
    size_t got = 0;
    (void)number;
    while (weir_queue_get(storm->queue, &work) == WEIR_OK) {
        got++;
        BENCH_OK(weir_queue_done(storm->queue, &work));
    }
    atomic_fetch_add(&storm->got, got);
}

static void storm(struct bench_run *run)
{
    struct storm storm = {.queue = bench_queue_new(), .clock_cost = bench_clock_cost()};
    storm.share = bench_scale(run, 8000000) / SIDES;
    storm.latencies = bench_alloc(samples_each(&storm) * SIDES, sizeof(double));
    bench_items_init(&storm.items, run, bench_measurement(run)->size);
    struct bench_span span;
    bench_span_start(&span);
    struct bench_crowd *consumers = bench_crowd_start(run, SIDES, consume, &storm);
    bench_crowd_join(bench_crowd_start(run, SIDES, produce, &storm));
    bench_span_end(run, &span, storm.share * SIDES);
    weir_queue_shutdown(storm.queue);
    bench_crowd_join(consumers);
    size_t got = atomic_load(&storm.got);
    BENCH_CHECK(got >= storm.items.count && got <= storm.share * SIDES);
    BENCH_CHECK_COUNT(weir_queue_len(storm.queue), 0);
    bench_metric(run, "p99_ns",
                 bench_quantile(storm.latencies, samples_each(&storm) * SIDES, 0.99));
    bench_metric(run, "runs_per_add", (double)got / (double)(storm.share * SIDES));
    weir_queue_free(storm.queue);
    bench_items_fini(&storm.items);
    bench_free(storm.latencies);
}

const struct bench_measurement bench_storms[] = {
    {"storm_64", "weir", storm, 64, 0},
    {"storm_64", "weir-embedded", storm, 64, BENCH_EMBEDDED},
    {"storm_65536", "weir", storm, 65536, 0},
    {"storm_65536", "weir-embedded", storm, 65536, BENCH_EMBEDDED},
    {0},
};

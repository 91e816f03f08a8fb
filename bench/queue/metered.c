/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/metrics.h>

#include "bench/queue/items.h"

/* What metrics add to a cycle of add, get and done. They need three readings of the clock; so
 * cycles without metrics, cycles with them and such readings alone take turns within one sample. */

#define TURNS 9

struct turn {
    struct bench_items items;
    weir_queue *queue;
    size_t at;
};

static void cycle(struct turn *turn, size_t count)
{
    turn->at = bench_cycle(turn->queue, &turn->items, turn->at, count);
}

static double time_cycles(struct turn *turn, size_t count)
{
    int64_t start = bench_now();
    cycle(turn, count);
    return (double)(bench_now() - start) / (double)count;
}

static double time_readings(size_t count)
{
    weir_clock *clock = weir_clock_monotonic();
    int64_t start = bench_now();
    int64_t latest = start;
    for (size_t i = 0; i < 3 * count; i++) {
        int64_t now = weir_clock_now(clock);
        BENCH_CHECK(now >= latest);
        latest = now;
    }
    return (double)(bench_now() - start) / (double)count;
}

static void start(struct turn *turn, struct bench_run *run, weir_metrics *metrics)
{
    struct weir_queue_options options = WEIR_QUEUE_OPTIONS_INIT;
    options.metrics = metrics;
    options.name = "bench";
    *turn = (struct turn){.at = 0};
    BENCH_OK(weir_queue_new(&options, &turn->queue));
    bench_items_init(&turn->items, run, BENCH_HOT_KEYS);
}

static void end(struct turn *turn)
{
    BENCH_CHECK_COUNT(weir_queue_len(turn->queue), 0);
    weir_queue_free(turn->queue);
    bench_items_fini(&turn->items);
}

/* "ns" of a cycle with metrics, "plain_ns" of one without, "clock_ns" of three readings, and
 * "extra_ns", the first less the other two: medians of the turns. */
static void metered(struct bench_run *run)
{
    const size_t count = bench_scale(run, 500000);
    double with[TURNS];
    double without[TURNS];
    double readings[TURNS];
    weir_metrics *metrics;
    BENCH_OK(weir_metrics_new(NULL, &metrics));
    struct turn metered;
    struct turn plain;
    start(&metered, run, metrics);
    start(&plain, run, NULL);
    cycle(&metered, count);
    cycle(&plain, count);
    for (size_t i = 0; i < TURNS; i++) {
        with[i] = time_cycles(&metered, count);
        without[i] = time_cycles(&plain, count);
        readings[i] = time_readings(count);
    }
    end(&metered);
    end(&plain);
    weir_metrics_free(metrics);
    double with_ns = bench_quantile(with, TURNS, 0.5);
    double without_ns = bench_quantile(without, TURNS, 0.5);
    double readings_ns = bench_quantile(readings, TURNS, 0.5);
    bench_items(run, TURNS * count);
    bench_metric(run, "ns", with_ns);
    bench_metric(run, "plain_ns", without_ns);
    bench_metric(run, "clock_ns", readings_ns);
    bench_metric(run, "extra_ns", with_ns - without_ns - readings_ns);
}

const struct bench_measurement bench_metered[] = {
    {"metered_cycle", "weir", metered, 0, 0},
    {"metered_cycle", "weir-embedded", metered, 0, BENCH_EMBEDDED},
    {0},
};

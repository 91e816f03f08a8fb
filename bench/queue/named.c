/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include <weir/metrics.h>
#include <weir/queue.h>

#include "bench/support/bench.h"

/* What it takes to make a named queue beside many others of its registry: processor time, of the
 * last tenth of them. The names come in no order. */

#define STEP 7919 /* a prime that does not divide the counts */

static weir_queue *make(weir_metrics *metrics, size_t number)
{
    char name[32];
    struct weir_queue_options options = {0};
    (void)snprintf(name, sizeof(name), "queue-%zu", number);
    options.name = name;
    options.metrics = metrics;
    weir_queue *queue;
    BENCH_OK(weir_queue_new(&options, &queue, NULL));
    return queue;
}

static void make_named(struct bench_run *run)
{
    const size_t count = run->size;
    const size_t last = count / 10;
    weir_queue **queues = bench_alloc(count, sizeof(weir_queue *));
    weir_metrics *metrics;
    int64_t cpu = 0;
    BENCH_OK(weir_metrics_new(NULL, &metrics, NULL));
    for (size_t i = 0; i < count; i++) {
        cpu = i == count - last ? bench_cpu() : cpu;
        queues[i] = make(metrics, i * STEP % count);
    }
    bench_metric(run, "ns", (double)(bench_cpu() - cpu) / (double)last);
    for (size_t i = 0; i < count; i++) {
        weir_queue_free(queues[i]);
    }
    BENCH_OK(weir_metrics_free(metrics));
    free(queues);
}

const struct bench_measurement bench_named[] = {
    {"named_1e5/weir", make_named, 100000, 0},
    {0},
};

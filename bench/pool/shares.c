/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "bench/pool/letters.h"

/* Two workers with tasks of some hundred nanoseconds: how near they come to two processors that do
 * nothing but the tasks. All is sent before the start, so that no third thread is at work. */

#define WORKERS 2
/* Passes of the loop that a task's length is measured with. */
#define CALIBRATION 20000000u

static size_t passes;

static void spin(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        __asm__ volatile("" : "+r"(i));
    }
}

static int work(weir_context *context, void *payload)
{
    (void)context;
    (void)payload;
    spin(passes);
    return WEIR_OK;
}

/* How long the passes of one task take, of many tasks. */
static double task_ns(void)
{
    const size_t count = 200000;
    double times[BENCH_CHUNKS];
    for (size_t chunk = 0; chunk < BENCH_CHUNKS; chunk++) {
        int64_t start = bench_now();
        for (size_t i = 0; i < count; i++) {
            (void)work(NULL, NULL);
        }
        times[chunk] = (double)(bench_now() - start) / (double)count;
    }
    return bench_quantile(times, BENCH_CHUNKS, 0.5);
}

static void share(struct bench_run *run)
{
    const size_t count = bench_scale(run, 2000000);
    spin(CALIBRATION); /* the processor is awake */
    int64_t start = bench_now();
    spin(CALIBRATION);
    double pass_ns = (double)(bench_now() - start) / CALIBRATION;
    passes = (size_t)((double)bench_measurement(run)->size / pass_ns);
    double ideal_ns = task_ns() / WORKERS;

    weir_envelope **envelopes = bench_alloc(count, sizeof(weir_envelope *));
    struct weir_pool_options options = WEIR_POOL_OPTIONS_INIT;
    options.workers = WORKERS;
    weir_pool *pool;
    BENCH_OK(weir_pool_new(&options, &pool));
    for (size_t i = 0; i < count; i++) {
        envelopes[i] = bench_letter_new(&(struct bench_letter){.invoke = work});
        BENCH_OK(weir_pool_send(pool, envelopes[i]));
    }
    start = bench_now();
    BENCH_OK(weir_pool_start(pool));
    BENCH_OK(weir_pool_drain(pool));
    double each_ns = (double)(bench_now() - start) / (double)count;
    BENCH_CHECK_COUNT(bench_pool_counts(pool).runs, count);
    bench_items(run, count);
    bench_metric(run, "ns", each_ns);
    bench_metric(run, "ideal_ns", ideal_ns);
    weir_pool_free(pool);
    for (size_t i = 0; i < count; i++) {
        weir_envelope_unref(envelopes[i]);
    }
    bench_free(envelopes);
}

const struct bench_measurement bench_shares[] = {
    {"pool_tasks_500", "weir", share, 500, 0},
    {"pool_tasks_100", "weir", share, 100, 0},
    {0},
};

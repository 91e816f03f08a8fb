/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "bench/pool/letters.h"

/* The two benchmarks that rate-envelope-queue has of its own, in C, and the first of them with
 * distinct envelopes. Its figures are known as multiples of client-go's hot cycle
 * (keyed_cycle/client-go), which is what these are compared with. */

#define WORKERS 64
#define CAPACITY 9000000

static const struct bench_letter all_hooks = {.has_hooks = true, .deadline_ns = WEIR_MS(50)};

/* BenchmarkQueueFull: one envelope, over and over. No send is refused, and workers go on running
 * it. */
static void full(struct bench_run *run)
{
    const size_t count = bench_scale(run, 10000000);
    weir_pool *pool = bench_pool_new(WORKERS, CAPACITY, &bench_counted);
    weir_envelope *envelope = bench_letter_new(&all_hooks);
    while (bench_pool_counts(pool).runs == 0) { /* what the queue needs of memory, it has then */
        BENCH_OK(weir_pool_send(pool, envelope));
    }
    uint64_t calls = bench_counted_calls();
    struct bench_span span;
    bench_span_start(&span);
    for (size_t i = 0; i < count; i++) {
        BENCH_OK(weir_pool_send(pool, envelope));
    }
    bench_span_end(run, &span, count);
    bench_metric(run, "allocations", (double)(bench_counted_calls() - calls));
    uint64_t runs = bench_pool_counts(pool).runs;
    BENCH_OK(weir_pool_drain(pool));
    BENCH_CHECK(runs > 0 && bench_pool_counts(pool).dropped == 0);
    bench_metric(run, "sends_per_run", (double)count / (double)runs);
    weir_pool_free(pool);
    weir_envelope_unref(envelope);
}

/* The same with another envelope each time, until the last has run. */
static void distinct(struct bench_run *run)
{
    const size_t count = bench_scale(run, 1000000);
    weir_envelope **envelopes = bench_alloc(count, sizeof(weir_envelope *));
    for (size_t i = 0; i < count; i++) {
        envelopes[i] = bench_letter_new(&all_hooks);
    }
    weir_pool *pool = bench_pool_new(WORKERS, CAPACITY, NULL);
    struct bench_span span;
    bench_span_start(&span);
    for (size_t i = 0; i < count; i++) {
        BENCH_OK(weir_pool_send(pool, envelopes[i]));
    }
    BENCH_OK(weir_pool_drain(pool));
    bench_span_end(run, &span, count);
    BENCH_CHECK_COUNT(bench_pool_counts(pool).runs, count);
    weir_pool_free(pool);
    for (size_t i = 0; i < count; i++) {
        weir_envelope_unref(envelopes[i]);
    }
    bench_free(envelopes);
}

/* BenchmarkQueueInterval: each send is of a new envelope, made on the clock, while all earlier ones
 * recur. */
static void interval(struct bench_run *run)
{
    const size_t count = bench_scale(run, 500000);
    const struct bench_letter periodic = {
        .has_hooks = true, .deadline_ns = WEIR_MS(10), .interval_ns = WEIR_MS(11)};
    weir_pool *pool = bench_pool_new(WORKERS, CAPACITY, NULL);
    struct bench_span span;
    bench_span_start(&span);
    for (size_t i = 0; i < count; i++) {
        weir_envelope *envelope = bench_letter_new(&periodic);
        BENCH_OK(weir_pool_send(pool, envelope));
        weir_envelope_unref(envelope);
    }
    bench_span_end(run, &span, count);
    struct weir_pool_counts counts = bench_pool_counts(pool);
    BENCH_CHECK_COUNT(counts.in_flight, count);
    bench_metric(run, "sends_per_run", (double)count / (double)(counts.runs + 1));
    BENCH_OK(weir_pool_stop(pool));
    weir_pool_free(pool);
}

const struct bench_measurement bench_sends[] = {
    {"pool_send_full", "weir", full, 0, 0},
    {"pool_send_distinct", "weir", distinct, 0, 0},
    {"pool_send_interval", "weir", interval, 0, 0},
    {0},
};

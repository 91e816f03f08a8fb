/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "bench/pool/pool.h"

#include <stdlib.h>

/* Sends by one thread to workers that run empty tasks. */

weir_pool *bench_pool_new(size_t workers)
{
    struct weir_pool_options options = {0};
    options.workers = workers;
    weir_pool *pool;
    BENCH_OK(weir_pool_new(&options, &pool, NULL));
    BENCH_OK(weir_pool_start(pool));
    return pool;
}

weir_envelope *bench_envelope_new(const struct weir_envelope_options *options)
{
    weir_envelope *envelope;
    BENCH_OK(weir_envelope_new(options, &envelope, NULL));
    return envelope;
}

struct weir_pool_counts bench_pool_counts(weir_pool *pool)
{
    struct weir_pool_counts counts;
    BENCH_OK(weir_pool_count(pool, &counts));
    return counts;
}

static int note(weir_context *context, void *payload)
{
    (void)context;
    ++*(unsigned char *)payload;
    return WEIR_OK;
}

static int before(weir_context *context, weir_envelope *envelope, void *payload)
{
    (void)context;
    (void)envelope;
    (void)payload;
    return WEIR_OK;
}

static int after(weir_context *context, weir_envelope *envelope, int status, void *payload)
{
    (void)context;
    (void)envelope;
    (void)payload;
    return status;
}

static void succeed(weir_context *context, weir_envelope *envelope, void *payload)
{
    (void)context;
    (void)envelope;
    (void)payload;
}

static int64_t fail(weir_context *context, weir_envelope *envelope,
                    const struct weir_failure *failure, void *payload)
{
    (void)context;
    (void)envelope;
    (void)failure;
    (void)payload;
    return WEIR_DROP;
}

/* An envelope as in rate-envelope-queue's benchmarks: all hooks, which do nothing, and a
 * deadline. */
static struct weir_envelope_options with_hooks(unsigned char *ran)
{
    struct weir_envelope_options options = {0};
    options.invoke = note;
    options.payload = ran;
    options.deadline_ns = WEIR_MS(50);
    options.before = before;
    options.after = after;
    options.success = succeed;
    options.failure = fail;
    return options;
}

/* From the first send of distinct envelopes until all have run. */
static void send_each(struct bench_run *run, size_t count, size_t workers, bool has_hooks)
{
    unsigned char *ran = bench_alloc(count, 1);
    weir_envelope **envelopes = bench_alloc(count, sizeof(weir_envelope *));
    for (size_t i = 0; i < count; i++) {
        struct weir_envelope_options options = with_hooks(&ran[i]);
        if (!has_hooks) {
            options = (struct weir_envelope_options){0};
            options.invoke = note;
            options.payload = &ran[i];
        }
        envelopes[i] = bench_envelope_new(&options);
    }
    weir_pool *pool = bench_pool_new(workers);
    int64_t start = bench_now();
    for (size_t i = 0; i < count; i++) {
        BENCH_OK(weir_pool_send(pool, envelopes[i]));
    }
    BENCH_OK(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER));
    bench_span(run, start, count);
    bench_check_ran(ran, count);
    weir_pool_free(pool);
    for (size_t i = 0; i < count; i++) {
        weir_envelope_unref(envelopes[i]);
    }
    free(envelopes);
    free(ran);
}

static void send_to_run(struct bench_run *run)
{
    send_each(run, BENCH_POOL_TASKS, run->size, false);
}

static void send_distinct(struct bench_run *run)
{
    send_each(run, 1000000, run->size, true);
}

/* BenchmarkQueueFull: one envelope is sent over and over, while workers go on running it. */
static void send_full(struct bench_run *run)
{
    const size_t count = 10000000;
    unsigned char ran = 0;
    struct weir_envelope_options options = with_hooks(&ran);
    weir_envelope *envelope = bench_envelope_new(&options);
    weir_pool *pool = bench_pool_new(run->size);
    while (bench_pool_counts(pool).runs == 0) {
        BENCH_OK(weir_pool_send(pool, envelope));
    }
    int64_t start = bench_now();
    for (size_t i = 0; i < count; i++) {
        BENCH_OK(weir_pool_send(pool, envelope));
    }
    bench_span(run, start, count);
    BENCH_OK(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER));
    BENCH_CHECK(bench_pool_counts(pool).dropped == 0);
    weir_pool_free(pool);
    weir_envelope_unref(envelope);
}

const struct bench_measurement bench_pool[] = {
    {"pool_1/weir", send_to_run, 1, 0},
    {"pool_4/weir", send_to_run, 4, 0},
    {"pool_send_full/weir", send_full, 64, 0},
    {"pool_send_distinct/weir", send_distinct, 64, 0},
    {0},
};

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "bench/pool/pool.h"

/* What share of a processor it takes to run each of 10^5 envelopes once a second. */

#define SECONDS 5

static int do_nothing(weir_context *context, void *payload)
{
    (void)context;
    (void)payload;
    return WEIR_OK;
}

static void periodic(struct bench_run *run)
{
    const size_t count = run->size;
    weir_envelope **envelopes = bench_alloc(count, sizeof(weir_envelope *));
    weir_pool *pool = bench_pool_new(2);
    struct weir_envelope_options options = {0};
    options.invoke = do_nothing;
    options.interval_ns = WEIR_SECONDS(1);
    for (size_t i = 0; i < count; i++) {
        envelopes[i] = bench_envelope_new(&options);
        /* Spread over the second, as they are in a program that has run for long. */
        int64_t delay_ns = (int64_t)((uint64_t)WEIR_SECONDS(1) * i / count);
        BENCH_OK(weir_pool_send_after(pool, envelopes[i], delay_ns));
    }
    bench_sleep(WEIR_SECONDS(2));
    uint64_t runs = bench_pool_counts(pool).runs;
    int64_t start = bench_now();
    int64_t cpu = bench_cpu();
    bench_sleep(WEIR_SECONDS(SECONDS));
    bench_metric(run, "cpu_percent",
                 (double)(bench_cpu() - cpu) / (double)(bench_now() - start) * 100);
    runs = bench_pool_counts(pool).runs - runs;
    BENCH_CHECK(runs >= (SECONDS - 1) * count);
    BENCH_OK(weir_pool_end(pool, WEIR_END_STOP, 0, WEIR_FOREVER));
    weir_pool_free(pool);
    for (size_t i = 0; i < count; i++) {
        weir_envelope_unref(envelopes[i]);
    }
    free(envelopes);
}

const struct bench_measurement bench_periodic[] = {
    {"pool_periodic/weir", periodic, 100000, 0},
    {0},
};

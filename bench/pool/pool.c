/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "bench/pool/pool.h"

#include "bench/pool/letters.h"

struct letter {
    weir_envelope *envelope;
};

static int note(weir_context *context, void *payload)
{
    (void)context;
    ++*(unsigned char *)payload;
    return WEIR_OK;
}

static void pool(struct bench_run *run)
{
    const size_t count = bench_scale(run, BENCH_POOL_TASKS);
    unsigned char *ran = bench_alloc(count, 1);
    struct letter *letters = bench_alloc(count, sizeof(*letters));
    for (size_t i = 0; i < count; i++) {
        struct weir_envelope_options options = WEIR_ENVELOPE_OPTIONS_INIT;
        options.invoke = note;
        options.payload = &ran[i];
        BENCH_OK(weir_envelope_new(&options, &letters[i].envelope));
    }
    struct weir_pool_options options = WEIR_POOL_OPTIONS_INIT;
    options.workers = bench_measurement(run)->size;
    weir_pool *pool;
    BENCH_OK(weir_pool_new(&options, &pool));
    BENCH_OK(weir_pool_start(pool));
    struct bench_span span;
    bench_span_start(&span);
    for (size_t i = 0; i < count; i++) {
        BENCH_OK(weir_pool_send(pool, letters[i].envelope));
    }
    BENCH_OK(weir_pool_drain(pool));
    bench_span_end(run, &span, count);
    bench_check_ran(ran, count);
    weir_pool_free(pool);
    for (size_t i = 0; i < count; i++) {
        weir_envelope_unref(letters[i].envelope);
    }
    bench_free(letters);
    bench_free(ran);
}

const struct bench_measurement bench_pools[] = {
    {"pool_1", "weir", pool, 1, 0},
    {"pool_4", "weir", pool, 4, 0},
    {0},
};

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <glib.h>

#include "bench/peers/c/peers.h"
#include "bench/pool/pool.h"

static void note(gpointer task, gpointer unused)
{
    (void)unused;
    ++*(unsigned char *)task;
}

static void pool(struct bench_run *run)
{
    const size_t count = bench_scale(run, BENCH_POOL_TASKS);
    unsigned char *ran = bench_alloc(count, 1);
    GThreadPool *pool =
        g_thread_pool_new(note, NULL, (gint)bench_measurement(run)->size, TRUE, NULL);
    BENCH_CHECK(pool != NULL);
    struct bench_span span;
    bench_span_start(&span);
    for (size_t i = 0; i < count; i++) {
        BENCH_CHECK(g_thread_pool_push(pool, &ran[i], NULL));
    }
    g_thread_pool_free(pool, FALSE, TRUE);
    bench_span_end(run, &span, count);
    bench_check_ran(ran, count);
    bench_free(ran);
}

const struct bench_measurement bench_glib_pool[] = {
    {"pool_1", "glib-thread-pool", pool, 1, 0},
    {"pool_4", "glib-thread-pool", pool, 4, 0},
    {0},
};

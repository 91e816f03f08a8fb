/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_BENCH_POOL_H
#define WEIR_BENCH_POOL_H

#include <weir/weir.h>

#include "bench/support/bench.h"

/* Checks that each task has noted one run. */
static inline void bench_check_ran(const unsigned char *ran, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        BENCH_CHECK(ran[i] == 1);
    }
}

/* Makes a pool that runs, and an envelope. */
weir_pool *bench_pool_new(size_t workers);
weir_envelope *bench_envelope_new(const struct weir_envelope_options *options);
struct weir_pool_counts bench_pool_counts(weir_pool *pool);

#endif

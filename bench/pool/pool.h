/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_BENCH_POOL_H
#define WEIR_BENCH_POOL_H

#include "bench/support/bench.h"

/* One thread sends distinct tasks that only note that they ran, workers (the measurement's size)
 * run them: from the first send until all have run. */

#define BENCH_POOL_TASKS 500000

extern const struct bench_measurement bench_pools[];
extern const struct bench_measurement bench_stages[];

/* Every task ran exactly once. */
static inline void bench_check_ran(const unsigned char *ran, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (ran[i] != 1) {
            bench_fail("task %zu ran %d times", i, ran[i]);
        }
    }
}

#endif

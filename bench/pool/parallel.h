/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_BENCH_PARALLEL_H
#define WEIR_BENCH_PARALLEL_H

#include "bench/support/bench.h"

/* client-go's BenchmarkParallelizeUntil: which of the numbers below a count are prime, a piece
 * each, in chunks, by ten workers. One item is one call, for all the numbers. */

#define BENCH_PARALLEL_WORKERS 10
#define BENCH_PARALLEL_RUNS 20000

extern const struct bench_measurement bench_parallel[];

struct bench_shape {
    size_t pieces;
    size_t chunk_size;
};

/* The four shapes, for one subject; a measurement's size is pieces * 1000 + chunk_size. */
#define BENCH_SHAPES(subject, run)                                                                 \
    {"parallelize_1000_by_1", subject, run, 1000001, 0},                                           \
        {"parallelize_1000_by_10", subject, run, 1000010, 0},                                      \
        {"parallelize_1000_by_100", subject, run, 1000100, 0},                                     \
    {                                                                                              \
        "parallelize_999_by_13", subject, run, 999013, 0                                           \
    }

static inline struct bench_shape bench_shape(const struct bench_run *run)
{
    size_t size = bench_measurement(run)->size;
    struct bench_shape shape = {size / 1000, size % 1000};
    return shape;
}

/* Numbers are 64 bits wide, as Go's are. */
static inline bool bench_is_prime(int64_t number)
{
    if (number <= 1) {
        return false;
    }
    for (int64_t i = 2; i * i <= number; i++) {
        if (number % i == 0) {
            return false;
        }
    }
    return true;
}

static inline void bench_check_primes(const bool *primes, size_t pieces)
{
    size_t found = 0;
    for (size_t i = 0; i < pieces; i++) {
        found += primes[i];
    }
    BENCH_CHECK_COUNT(found, 168);
}

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include <weir/parallel.h>
#include <weir/weir.h>

#include "bench/support/bench.h"

/* client-go's BenchmarkParallelizeUntil: which of the numbers below a count are prime, a piece
 * each, in chunks, by ten workers. An item is one call, for all the numbers. */

struct work {
    size_t pieces;
    struct weir_parallel_options options;
    weir_crew *crew;
    bool *primes;
};

/* Numbers are 64 bits wide, as Go's are. */
static bool is_prime(int64_t number)
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

static int do_piece(size_t piece, void *arg)
{
    ((bool *)arg)[piece] = is_prime((int64_t)piece);
    return WEIR_OK;
}

static void runs(void *state, size_t count)
{
    struct work *work = state;
    for (size_t i = 0; i < count; i++) {
        BENCH_OK(weir_crew_run(work->crew, work->pieces, do_piece, work->primes, &work->options));
    }
}

/* The threads are kept from call to call, as Go's are. */
static void parallelize(struct bench_run *run)
{
    const size_t chunk_size = run->size;
    struct work work = {.pieces = chunk_size == 13 ? 999 : 1000, .options = {0}};
    work.options.chunk_size = chunk_size;
    work.primes = bench_alloc(work.pieces, sizeof(bool));
    struct weir_crew_options options = {0};
    options.workers = 10;
    BENCH_OK(weir_crew_new(&options, &work.crew, NULL));
    bench_parts(run, 20000, runs, &work);
    weir_crew_free(work.crew);
    size_t found = 0;
    for (size_t i = 0; i < work.pieces; i++) {
        found += work.primes[i];
    }
    BENCH_CHECK_COUNT(found, 168);
    free(work.primes);
}

const struct bench_measurement bench_parallel[] = {
    {"parallelize_1000_by_1/weir", parallelize, 1, 0},
    {"parallelize_1000_by_10/weir", parallelize, 10, 0},
    {"parallelize_1000_by_100/weir", parallelize, 100, 0},
    {"parallelize_999_by_13/weir", parallelize, 13, 0},
    {0},
};

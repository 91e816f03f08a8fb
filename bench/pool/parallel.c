/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/parallel.h>

#include "bench/pool/parallel.h"

static int do_piece(size_t piece, void *arg)
{
    ((bool *)arg)[piece] = bench_is_prime((int64_t)piece);
    return WEIR_OK;
}

struct work {
    struct bench_shape shape;
    struct weir_parallel_options options;
    weir_crew *crew; /* NULL: threads of each run's own */
    bool *primes;
};

static void runs(void *state, size_t count)
{
    struct work *work = state;
    for (size_t i = 0; i < count; i++) {
        int status = work->crew != NULL
                         ? weir_crew_run(work->crew, work->shape.pieces, do_piece, work->primes,
                                         &work->options)
                         : weir_parallelize(BENCH_PARALLEL_WORKERS, work->shape.pieces, do_piece,
                                            work->primes, &work->options);
        BENCH_CHECK(status == WEIR_OK);
    }
}

static void init(struct work *work, struct bench_run *run)
{
    work->shape = bench_shape(run);
    work->options = (struct weir_parallel_options)WEIR_PARALLEL_OPTIONS_INIT;
    work->options.chunk_size = work->shape.chunk_size;
    work->crew = NULL;
    work->primes = bench_alloc(work->shape.pieces, sizeof(bool));
}

static void crew(struct bench_run *run)
{
    struct work work;
    init(&work, run);
    struct weir_crew_options options = WEIR_CREW_OPTIONS_INIT;
    options.workers = BENCH_PARALLEL_WORKERS;
    BENCH_CHECK(weir_crew_new(&options, &work.crew) == WEIR_OK);
    bench_chunks(run, bench_scale(run, BENCH_PARALLEL_RUNS), runs, &work);
    weir_crew_free(work.crew);
    bench_check_primes(work.primes, work.shape.pieces);
    bench_free(work.primes);
}

static void one_shot(struct bench_run *run)
{
    struct work work;
    init(&work, run);
    bench_chunks(run, bench_scale(run, BENCH_PARALLEL_RUNS / 10), runs, &work);
    bench_check_primes(work.primes, work.shape.pieces);
    bench_free(work.primes);
}

const struct bench_measurement bench_parallel[] = {
    BENCH_SHAPES("weir", crew),
    BENCH_SHAPES("weir-one-shot", one_shot),
    {0},
};

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include "bench/peers/c/peers.h"
#include "bench/pool/parallel.h"
#include "bench/pool/pool.h"

/* The sending thread takes part in the work once it waits, as TBB has it: so workers + 1 threads.
 */
static void pool(bench_run *run)
{
    const size_t count = bench_scale(run, BENCH_POOL_TASKS);
    const size_t workers = bench_measurement(run)->size;
    auto *ran = static_cast<unsigned char *>(bench_alloc(count, 1));
    tbb::global_control threads(tbb::global_control::max_allowed_parallelism, workers + 1);
    tbb::task_arena arena(static_cast<int>(workers + 1));
    arena.execute([&] {
        tbb::task_group group;
        struct bench_span span;
        bench_span_start(&span);
        for (size_t i = 0; i < count; i++) {
            group.run([task = &ran[i]] { ++*task; });
        }
        group.wait();
        bench_span_end(run, &span, count);
    });
    bench_check_ran(ran, count);
    bench_free(ran);
}

const struct bench_measurement bench_tbb_pool[] = {
    {"pool_1", "tbb-task-group", pool, 1, 0},
    {"pool_4", "tbb-task-group", pool, 4, 0},
    {},
};

struct parallel_work {
    tbb::task_arena *arena;
    struct bench_shape shape;
    bool *primes;
};

/* simple_partitioner splits down to the chunk size, as the others do. */
static void parallel_runs(void *state, size_t count)
{
    auto *work = static_cast<parallel_work *>(state);
    work->arena->execute([work, count] {
        const tbb::blocked_range<size_t> all(0, work->shape.pieces, work->shape.chunk_size);
        for (size_t i = 0; i < count; i++) {
            tbb::parallel_for(
                all,
                [work](const tbb::blocked_range<size_t> &chunk) {
                    for (size_t piece = chunk.begin(); piece < chunk.end(); piece++) {
                        work->primes[piece] = bench_is_prime(static_cast<int64_t>(piece));
                    }
                },
                tbb::simple_partitioner());
        }
    });
}

static void parallel(bench_run *run)
{
    tbb::global_control threads(tbb::global_control::max_allowed_parallelism,
                                BENCH_PARALLEL_WORKERS);
    tbb::task_arena arena(BENCH_PARALLEL_WORKERS);
    parallel_work work = {&arena, bench_shape(run), nullptr};
    work.primes = static_cast<bool *>(bench_alloc(work.shape.pieces, sizeof(bool)));
    bench_chunks(run, bench_scale(run, BENCH_PARALLEL_RUNS), parallel_runs, &work);
    bench_check_primes(work.primes, work.shape.pieces);
    bench_free(work.primes);
}

const struct bench_measurement bench_tbb_parallel[] = {
    BENCH_SHAPES("tbb-parallel-for", parallel),
    {},
};

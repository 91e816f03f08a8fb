/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include "bench/peers/c/peers.h"
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

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "bench/pool/pool.h"

/* libuv's thread pool in the place of bench/pool/pool.c. */

struct task {
    uv_work_t request;
    unsigned char *ran;
};

static void note(uv_work_t *request)
{
    ++*((struct task *)request->data)->ran;
}

static void after(uv_work_t *request, int status)
{
    (void)request;
    BENCH_CHECK(status == 0);
}

/* libuv hands each task back to its loop; that is part of what it promises, and of its figure. */
static void pool(struct bench_run *run)
{
    const size_t count = BENCH_POOL_TASKS;
    unsigned char *ran = bench_alloc(count, 1);
    struct task *tasks = bench_alloc(count, sizeof(*tasks));
    char workers[24];
    snprintf(workers, sizeof(workers), "%zu", run->size);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the one other thread sleeps for ever */
    setenv("UV_THREADPOOL_SIZE", workers, 1);
    uv_loop_t loop;
    BENCH_CHECK(uv_loop_init(&loop) == 0);
    int64_t start = bench_now();
    for (size_t i = 0; i < count; i++) {
        tasks[i].ran = &ran[i];
        tasks[i].request.data = &tasks[i];
        BENCH_CHECK(uv_queue_work(&loop, &tasks[i].request, note, after) == 0);
    }
    BENCH_CHECK(uv_run(&loop, UV_RUN_DEFAULT) == 0);
    bench_span(run, start, count);
    bench_check_ran(ran, count);
    BENCH_CHECK(uv_loop_close(&loop) == 0);
    free(tasks);
    free(ran);
}

const struct bench_measurement bench_libuv[] = {
    {"pool_1/libuv", pool, 1, 0},
    {"pool_4/libuv", pool, 4, 0},
    {0},
};

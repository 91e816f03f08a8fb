/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Runs of pieces in a pool's task. */
#include <weir/parallel.h>

#include "pool/fixture.h"

#define PIECES 1000

static int count_piece(size_t piece, void *arg)
{
    (void)piece;
    atomic_fetch_add((atomic_size_t *)arg, 1);
    return WEIR_OK;
}

static int ask_context(void *context)
{
    return (int)weir_context_check(context);
}

static int run_in_task(weir_context *context, struct task *task)
{
    atomic_size_t begun = 0;
    struct weir_parallel_options options = {0};
    options.proceed = ask_context;
    options.proceed_arg = context;
    CHECK_STATUS(weir_parallelize(4, PIECES, count_piece, &begun, &options), WEIR_OK);
    CHECK_INT(atomic_load(&begun), ==, PIECES);
    weir_context_cancel(context);
    CHECK_STATUS(weir_parallelize(4, PIECES, count_piece, &begun, &options), WEIR_ECANCELED);
    CHECK_INT(atomic_load(&begun), ==, PIECES);
    counter_add(&task->allowed, 1);
    return WEIR_OK;
}

TEST(task_passes_limits_on, "the context of a pool's task can be asked by the workers of its run")
{
    struct task task;
    task_init(&task);
    task.body = run_in_task;
    weir_pool *pool = pool_with(1, 0, NULL);
    weir_envelope *envelope = envelope_for(&task, 0);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counter_value(&task.allowed), ==, 1);
    weir_pool_free(pool);
    weir_envelope_unref(envelope);
    task_fini(&task);
}

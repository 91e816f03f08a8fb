/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/pool.h"

#include "pool/fixture.h"

/* weir_pool_run(): an envelope that nobody but the pool ever has. */

TEST(runs, "the task is run once, with its payload, which is released after")
{
    struct task task;
    task_init(&task);
    weir_pool *pool = pool_with(2, 0, NULL);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    CHECK_STATUS(weir_pool_run(pool, task_invoke, &task, task_release), WEIR_OK);
    counter_wait(&task.released, 1);
    CHECK_INT(counter_value(&task.entered), ==, 1);
    weir_pool_free(pool);
    CHECK_INT(counter_value(&task.released), ==, 1);
    CHECK_INT(test_allocated_blocks(), ==, 0);
    task_fini(&task);
}

TEST(fails, "a run that fails ends it: nothing is tried again")
{
    struct task task;
    task_init(&task);
    task.status = WEIR_EUSER;
    weir_pool *pool = pool_with(1, 0, NULL);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    CHECK_STATUS(weir_pool_run(pool, task_invoke, &task, NULL), WEIR_OK);
    pass_by(pool);
    struct weir_pool_counts counts = counts_of(pool);
    CHECK_INT(counts.failed, ==, 1);
    CHECK_INT(counts.retries, ==, 0);
    CHECK_INT(counts.exhausted, ==, 0);
    CHECK_INT(counter_value(&task.entered), ==, 1);
    weir_pool_free(pool);
    task_fini(&task);
}

static void expect_plain(const struct weir_ended *ended, void *arg)
{
    struct counter *told = arg;
    CHECK_INT(ended->reason, ==, WEIR_ENDED_TERMINATED);
    CHECK_INT(weir_envelope_id(ended->envelope), ==, 0);
    CHECK_STRING(weir_envelope_type(ended->envelope), "");
    counter_add(told, 1);
}

TEST(dropped,
     "one that is dropped is told and released as any envelope; the same task may be queued "
     "twice")
{
    struct task task;
    struct counter told;
    task_init(&task);
    counter_init(&told);
    struct weir_pool_options options = {.allocator = *test_allocator(), .workers = 1};
    options.ended = expect_plain;
    options.ended_arg = &told;
    weir_pool *pool;
    CHECK_STATUS(weir_pool_new(&options, &pool, NULL), WEIR_OK);
    CHECK_STATUS(weir_pool_run(pool, task_invoke, &task, task_release), WEIR_OK);
    CHECK_STATUS(weir_pool_run(pool, task_invoke, &task, task_release), WEIR_OK);
    CHECK_INT(counts_of(pool).queued, ==, 2);
    CHECK_INT(counter_value(&task.released), ==, 0);
    weir_pool_free(pool);
    CHECK_INT(counter_value(&task.entered), ==, 0);
    CHECK_INT(counter_value(&task.released), ==, 2);
    CHECK_INT(counter_value(&told), ==, 2);
    counter_fini(&told);
    task_fini(&task);
}

TEST(refused, "a call that fails leaves the payload the caller's, and no memory behind")
{
    struct task task;
    task_init(&task);
    weir_pool *pool = pool_with(1, 1, NULL);
    CHECK_STATUS(weir_pool_run(pool, task_invoke, &task, task_release), WEIR_OK);
    size_t blocks = test_allocated_blocks();
    CHECK_STATUS(weir_pool_run(pool, task_invoke, &task, task_release), WEIR_EFULL);
    CHECK_STATUS(weir_pool_run(pool, NULL, &task, task_release), WEIR_EINVAL);
    CHECK_STATUS(weir_pool_run(NULL, task_invoke, &task, task_release), WEIR_EINVAL);
    CHECK_INT(test_allocated_blocks(), ==, blocks);
    CHECK_INT(counter_value(&task.released), ==, 0);
    CHECK_INT(counts_of(pool).in_flight, ==, 1);
    weir_pool_free(pool);
    CHECK_INT(counter_value(&task.released), ==, 1);
    task_fini(&task);
}

static int run_another(weir_context *context, struct task *task)
{
    (void)context;
    if (counter_value(&task->entered) < 5) {
        CHECK_STATUS(weir_pool_run(task->pool, task_invoke, task, task_release), WEIR_OK);
    }
    return WEIR_OK;
}

TEST(from_a_task, "a task may run others in its own pool")
{
    struct task task;
    task_init(&task);
    task.body = run_another;
    weir_pool *pool = task.pool = pool_with(1, 2, NULL);
    CHECK_STATUS(weir_pool_run(pool, task_invoke, &task, task_release), WEIR_OK);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    counter_wait(&task.released, 5);
    CHECK_INT(counter_value(&task.entered), ==, 5);
    weir_pool_free(pool);
    task_fini(&task);
}

TEST_OOM(no_memory, "without memory nothing is run, and the payload is the caller's")
{
    struct task task;
    task_init(&task);
    weir_pool *pool = pool_with(1, 0, NULL);
    if (pool != NULL) {
        bool is_refused = CHECK_OR_OOM(weir_pool_run(pool, task_invoke, &task, task_release));
        CHECK_INT(counts_of(pool).in_flight, ==, is_refused ? 0 : 1);
        CHECK_INT(counter_value(&task.released), ==, 0);
        weir_pool_free(pool);
        CHECK_INT(counter_value(&task.released), ==, is_refused ? 0 : 1);
    }
    task_fini(&task);
}

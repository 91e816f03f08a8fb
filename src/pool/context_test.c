/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* What a task of a pool finds in its context. */

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include <weir/lifecycle.h>

#include "pool/fixture.h"
#include "support/forbid_call.h"

static int look_around(weir_context *context, struct task *task)
{
    CHECK(weir_context_pool(context) == task->pool);
    CHECK(weir_context_envelope(context) == task->envelope);
    CHECK_INT(weir_context_attempt(context), ==, 1);
    CHECK_INT(weir_context_due(context), ==, 0);
    return WEIR_OK;
}

TEST(whose, "a task finds its pool, its envelope and which attempt it is in its context")
{
    struct task task;
    task_init(&task);
    task.body = look_around;
    task.pool = pool_with(1, 0, NULL);
    task.envelope = envelope_for(&task, 0);
    CHECK_STATUS(weir_pool_start(task.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_send(task.pool, task.envelope), WEIR_OK);
    CHECK_STATUS(weir_pool_end(task.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(task_runs(&task), ==, 1);
    weir_pool_free(task.pool);
    weir_envelope_unref(task.envelope);
    task_fini(&task);
}

static int note_attempt(weir_context *context, struct task *task)
{
    task->delay_ns = task->delay_ns * 10 + weir_context_attempt(context);
    return WEIR_EUSER;
}

static void keep_ended(const struct weir_ended *ended, void *arg)
{
    *(struct weir_ended *)arg = *ended;
}

TEST(attempts_before, "attempts that failed before count towards those of the first flight")
{
    struct task task;
    struct weir_ended ended;
    task_init(&task);
    task.body = note_attempt;
    struct weir_pool_options options = {.workers = 1, .ended = keep_ended, .ended_arg = &ended};
    CHECK_STATUS(weir_pool_new(&options, &task.pool, NULL), WEIR_OK);
    struct weir_envelope_options failing = task_envelope(&task);
    failing.attempts_before = 3;
    failing.retry = (struct weir_retry){.attempts = 5, .base_ns = 1};
    CHECK_STATUS(weir_envelope_new(&failing, &task.envelope, NULL), WEIR_OK);
    CHECK_STATUS(weir_pool_start(task.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_send(task.pool, task.envelope), WEIR_OK);
    CHECK_STATUS(weir_pool_wait_idle(task.pool, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(task.delay_ns, ==, 45);
    CHECK_INT(ended.reason, ==, WEIR_ENDED_EXHAUSTED);
    task.delay_ns = 0;
    CHECK_STATUS(weir_pool_send(task.pool, task.envelope), WEIR_OK);
    CHECK_STATUS(weir_pool_wait_idle(task.pool, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(task.delay_ns, ==, 12345);
    CHECK_STATUS(weir_pool_free(task.pool), WEIR_OK);
    weir_envelope_unref(task.envelope);
    task_fini(&task);
}

static int look_for_pool(weir_context *context, struct task *task)
{
    task->pool = weir_context_pool(context);
    CHECK(weir_context_envelope(context) == task->envelope);
    return WEIR_OK;
}

TEST(hidden, "a pool that is its maker's alone is not told to its tasks")
{
    struct task task;
    task_init(&task);
    task.body = look_for_pool;
    task.envelope = envelope_for(&task, 0);
    struct weir_pool_options options = {.workers = 1, .flags = WEIR_POOL_HIDDEN};
    weir_pool *pool;
    CHECK_STATUS(weir_pool_new(&options, &pool, NULL), WEIR_OK);
    task.pool = pool;
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    CHECK_STATUS(weir_pool_send(pool, task.envelope), WEIR_OK);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK(task.pool == NULL);
    CHECK_STATUS(weir_pool_free(pool), WEIR_OK);
    weir_envelope_unref(task.envelope);
    task_fini(&task);
}

static const char key;

static int wait_cancelled(weir_context *context, struct task *task)
{
    CHECK(weir_context_get(context, &key) == NULL); /* of an earlier run */
    CHECK_STATUS(weir_context_set(context, &key, task), WEIR_OK);
    CHECK(weir_context_get(context, &key) == task);
    struct pollfd poller = {.fd = -1, .events = POLLIN};
    CHECK_STATUS(weir_context_fd(context, &poller.fd), WEIR_OK);
    CHECK_INT(poll(&poller, 1, -1), ==, 1);
    return (int)weir_context_check(context);
}

TEST(in_pool, "a task that waits on its descriptor is ended by a stop, and one by its deadline")
{
    struct task tasks[2];
    weir_pool *pool = pool_with(1, 0, NULL);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    for (int i = 0; i < 2; i++) {
        task_init(&tasks[i]);
        tasks[i].body = wait_cancelled;
        weir_envelope *envelope = envelope_for(&tasks[i], i == 0 ? WEIR_MS(2) : 0);
        CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
        weir_envelope_unref(envelope);
        counter_wait(&tasks[i].entered, 1);
    }
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(atomic_load(&tasks[0].last_status), WEIR_ETIMEDOUT);
    CHECK_STATUS(atomic_load(&tasks[1].last_status), WEIR_ECANCELED);
    weir_pool_free(pool);
    task_fini(&tasks[0]);
    task_fini(&tasks[1]);
}

static const char keys[20];

static int set_many(weir_context *context, struct task *task)
{
    for (int i = 0; i < 20; i++) {
        CHECK(weir_context_get(context, &keys[i]) == NULL);
        if (CHECK_OR_OOM(weir_context_set(context, &keys[i], task))) {
            return WEIR_ENOMEM;
        }
        CHECK(weir_context_get(context, &keys[i]) == task);
    }
    CHECK_STATUS(weir_context_set(context, NULL, task), WEIR_EINVAL);
    CHECK_STATUS(weir_context_set(NULL, keys, task), WEIR_EINVAL);
    CHECK(weir_context_get(NULL, keys) == NULL);
    return WEIR_OK;
}

static int set_and_take_out(weir_context *context, struct task *task)
{
    int status = set_many(context, task);
    for (int i = 0; i < 20 && status == WEIR_OK; i++) {
        CHECK_STATUS(weir_context_set(context, &keys[i], NULL), WEIR_OK);
    }
    return status;
}

static void run_twice(int (*body)(weir_context *context, struct task *task))
{
    struct task task;
    task_init(&task);
    task.body = body;
    weir_pool *pool = pool_with(1, 0, NULL);
    weir_envelope *envelope = pool == NULL ? NULL : envelope_for(&task, 0);
    if (envelope != NULL && !CHECK_OR_OOM(weir_pool_start(pool))) {
        int runs = 0;
        for (int i = 0; i < 2; i++) {
            if (!CHECK_OR_OOM(weir_pool_send(pool, envelope))) {
                counter_wait(&task.outcomes, ++runs);
            }
        }
        CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    }
    weir_envelope_unref(envelope);
    weir_pool_free(pool);
    task_fini(&task);
}

TEST_OOM(values_end, "values end with their run, and their memory")
{
    run_twice(set_many);
}

TEST_OOM(values_taken_out, "so does the memory of values that the run has taken out itself")
{
    run_twice(set_and_take_out);
}

#define WORKERS 5

static uint32_t numbers[WORKERS]; /* of the workers that run the tasks */

static int note_number(weir_context *context, struct task *task)
{
    numbers[task->delay_ns] = weir_context_worker(context);
    counter_add(&task->entered, 1);
    counter_wait(&task->allowed, 1);
    return WEIR_OK;
}

/* The workers that run count tasks at once have different numbers below limit. */
static void check_numbers(weir_pool *pool, uint32_t count, uint32_t limit)
{
    struct task tasks[WORKERS];
    weir_envelope *envelopes[WORKERS];
    for (uint32_t i = 0; i < count; i++) {
        task_init(&tasks[i]);
        tasks[i].body = note_number;
        tasks[i].delay_ns = i;
        envelopes[i] = envelope_for(&tasks[i], 0);
        CHECK_STATUS(weir_pool_send(pool, envelopes[i]), WEIR_OK);
    }
    for (uint32_t i = 0; i < count; i++) {
        counter_wait(&tasks[i].entered, 2);
        CHECK_INT(numbers[i], <, limit);
        for (uint32_t other = 0; other < i; other++) {
            CHECK_INT(numbers[other], !=, numbers[i]);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        counter_add(&tasks[i].allowed, 1);
    }
    CHECK_STATUS(weir_pool_wait_idle(pool, WEIR_FOREVER), WEIR_OK);
    for (uint32_t i = 0; i < count; i++) {
        weir_envelope_unref(envelopes[i]);
        task_fini(&tasks[i]);
    }
}

TEST(worker, "no two workers have one number, and none is past the largest count of workers")
{
    weir_pool *pool = pool_with(2, 0, NULL);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    check_numbers(pool, 2, 2);
    CHECK_STATUS(weir_pool_resize(pool, 4), WEIR_OK);
    check_numbers(pool, 4, 4);
    CHECK_STATUS(weir_pool_resize(pool, 1), WEIR_OK);
    CHECK_STATUS(weir_pool_resize(pool, WORKERS), WEIR_OK);
    check_numbers(pool, WORKERS, WORKERS);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    check_numbers(pool, WORKERS, WORKERS);
    weir_pool_free(pool);
}

static void resize_without_threads(void *arg)
{
    test_forbid_call(SYS_clone3, SECCOMP_RET_ERRNO | EAGAIN);
    test_forbid_call(SYS_clone, SECCOMP_RET_ERRNO | EAGAIN);
    CHECK_STATUS(weir_pool_resize(arg, 100), WEIR_ETHREAD);
}

TEST(worker_refused,
     "workers that come after those that the system refused have the lowest numbers")
{
    weir_pool *pool = pool_with(2, 0, NULL);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    test_join(test_start(resize_without_threads, pool));
    check_numbers(pool, 2, 2);
    CHECK_STATUS(weir_pool_resize(pool, WORKERS), WEIR_OK);
    check_numbers(pool, WORKERS, WORKERS);
    weir_pool_free(pool);
}

static char explained[2][WEIR_EXPLANATION_SIZE]; /* what the pool's function was told, by id */

static void note_explanation(const struct weir_ended *ended, void *arg)
{
    (void)arg;
    (void)snprintf(explained[weir_envelope_id(ended->envelope)], WEIR_EXPLANATION_SIZE, "%s",
                   ended->explanation);
}

/* Fails with words twice, then succeeds without. */
static int explain(weir_context *context, void *payload)
{
    const int *run = payload;
    char text[2 * WEIR_EXPLANATION_SIZE];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    if (*run == 2) {
        return WEIR_OK;
    }
    CHECK_STATUS(weir_context_explain(context, text), WEIR_OK);
    if (*run == 0) {
        CHECK_STATUS(weir_context_explain(context, "no paper"), WEIR_OK);
    }
    return WEIR_EUSER;
}

TEST(explained, "the pool's ended function is told what a run said of itself, also an isolated one")
{
    int run = 0;
    const struct weir_isolation isolation = {0};
    struct weir_pool_options options = {0};
    weir_pool *pool;
    weir_envelope *envelopes[2];
    options.allocator = *test_allocator();
    options.workers = 1;
    options.ended = note_explanation;
    CHECK_STATUS(weir_pool_new(&options, &pool, NULL), WEIR_OK);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    for (uint64_t i = 0; i < 2; i++) {
        struct weir_envelope_options one = {0};
        one.allocator = *test_allocator();
        one.id = i;
        one.invoke = explain;
        one.payload = &run;
        one.isolation = i == 1 ? &isolation : NULL;
        CHECK_STATUS(weir_envelope_new(&one, &envelopes[i], NULL), WEIR_OK);
    }
    for (run = 0; run < 3; run++) {
        CHECK_STATUS(weir_pool_send_all(pool, envelopes, 2), WEIR_OK);
        CHECK_STATUS(weir_pool_wait_idle(pool, WEIR_FOREVER), WEIR_OK);
        for (int i = 0; i < 2; i++) {
            size_t length = run == 0   ? strlen("no paper")
                            : run == 1 ? WEIR_EXPLANATION_SIZE - 1
                                       : 0;
            CHECK_INT(strlen(explained[i]), ==, length);
            CHECK(run != 0 || strcmp(explained[i], "no paper") == 0);
        }
    }
    weir_pool_free(pool);
    for (int i = 0; i < 2; i++) {
        weir_envelope_unref(envelopes[i]);
    }
}

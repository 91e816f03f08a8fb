/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A pool in a child after fork(). */
#include "pool/pool.h"

#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pool/isolated.h"

/* Every call on a pool of another process. */
static void check_refused(weir_pool *pool, weir_envelope *envelope)
{
    struct weir_pool_counts counts;
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_EFORKED);
    CHECK_STATUS(weir_pool_send_after(pool, envelope, 1), WEIR_EFORKED);
    CHECK_STATUS(weir_pool_send_wait(pool, envelope, WEIR_FOREVER), WEIR_EFORKED);
    CHECK_STATUS(weir_pool_send_all(pool, &envelope, 1), WEIR_EFORKED);
    CHECK_STATUS(weir_pool_cancel(pool, envelope, 0, NULL), WEIR_EFORKED);
    CHECK_STATUS(weir_pool_start(pool), WEIR_EFORKED);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_EFORKED);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_EFORKED);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_TERMINATE, 0, WEIR_FOREVER), WEIR_EFORKED);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_EFORKED);
    CHECK_STATUS(weir_pool_resize(pool, 1), WEIR_EFORKED);
    CHECK_STATUS(weir_pool_pause(pool, 0), WEIR_EFORKED);
    CHECK_STATUS(weir_pool_pause(pool, WEIR_FOREVER), WEIR_EFORKED);
    CHECK_STATUS(weir_pool_resume(pool), WEIR_EFORKED);
    CHECK_STATUS(weir_pool_count(pool, &counts), WEIR_EFORKED);
    CHECK_INT(weir_pool_state(pool), ==, WEIR_POOL_STATE_TERMINATED);
    weir_pool_free(pool);
}

static void wait_for(pid_t child)
{
    int status;
    CHECK_INT(waitpid(child, &status, 0), ==, child);
    CHECK_INT(status, ==, 0);
}

TEST(refused,
     "in a child every call on the parent's pool is WEIR_EFORKED; the parent's goes on (V39)")
{
    struct task task;
    task_init(&task);
    task.is_held = true;
    weir_pool *pool = pool_with(2, 0, NULL);
    weir_envelope *envelope = envelope_for(&task, 0);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    counter_wait(&task.entered, 1);
    pid_t child = fork();
    if (child == 0) {
        check_refused(pool, envelope);
        test_end_child();
    }
    wait_for(child);
    counter_add(&task.allowed, 1);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(task_runs(&task), ==, 1);
    weir_pool_free(pool);
    weir_envelope_unref(envelope);
    task_fini(&task);
}

/* The calls of a program at its end. */
static void free_all(weir_pool *pool, weir_scope *scope, weir_metrics *metrics)
{
    weir_scope_cancel(scope);
    weir_pool_free(pool);
    weir_scope_free(scope);
    weir_metrics_free(metrics);
}

TEST(shared, "in a child what the parent's pools share may be freed like them, and is left alone")
{
    weir_scope *scope;
    weir_metrics *metrics;
    struct weir_metrics_options of_metrics = {0};
    of_metrics.allocator = *test_allocator();
    CHECK_STATUS(weir_metrics_new(&of_metrics, &metrics, NULL), WEIR_OK);
    CHECK_STATUS(weir_scope_new(test_allocator(), &scope), WEIR_OK);
    struct weir_pool_options options = {0};
    options.allocator = *test_allocator();
    options.workers = 1;
    options.scope = scope;
    options.metrics = metrics;
    options.name = "pool";
    weir_pool *pool;
    CHECK_STATUS(weir_pool_new(&options, &pool, NULL), WEIR_OK);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    pid_t child = fork();
    if (child == 0) {
        weir_pool *none = NULL;
        CHECK_STATUS(weir_pool_new(&options, &none, NULL), WEIR_EFORKED);
        free_all(pool, scope, metrics);
        test_end_child();
    }
    wait_for(child);
    CHECK(!weir_scope_is_cancelled(scope));
    CHECK_INT(weir_pool_state(pool), ==, WEIR_POOL_STATE_RUNNING);
    free_all(pool, scope, metrics);
}

/* In a child that has one thread, so that even ThreadSanitizer lets it start others. */
TEST(own, "a child may make pools of its own, and a child of that may not use them")
{
    (void)weiri_forked_mark();
    pid_t child = fork();
    if (child == 0) {
        struct task task;
        task_init(&task);
        weir_pool *pool = pool_with(1, 0, NULL);
        weir_envelope *envelope = envelope_for(&task, 0);
        CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
        CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
        CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
        CHECK_INT(task_runs(&task), ==, 1);
        pid_t grandchild = fork();
        if (grandchild == 0) {
            check_refused(pool, envelope);
            test_end_child();
        }
        wait_for(grandchild);
        weir_pool_free(pool);
        weir_envelope_unref(envelope);
        test_end_child();
    }
    wait_for(child);
}

static int use_pool(weir_context *context, struct isolated *isolated)
{
    (void)isolated;
    check_refused(weir_context_pool(context), weir_context_envelope(context));
    return WEIR_EUSER;
}

TEST(isolated, "so it is for an isolated task and the pool that runs it")
{
    struct isolated isolated = isolated_once(use_pool, NULL);
    CHECK_STATUS(isolated.status, WEIR_EUSER);
}

/* This program's own pthread_atfork() is the one that src/base calls. It has no memory on command,
 * and else hands on to what libc's calls. */
static bool has_no_memory;

int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *); /* NOLINT: libc's */

/* ThreadSanitizer calls it before it is ready for code that reports to it. */
#ifdef __clang__
#    define WITHOUT_SANITIZER __attribute__((disable_sanitizer_instrumentation))
#else
#    define WITHOUT_SANITIZER
#endif

WITHOUT_SANITIZER
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): libc's names are reserved */
int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    return has_no_memory ? ENOMEM : __register_atfork(prepare, parent, child, NULL);
}

TEST(no_memory, "without memory to learn of forks nothing is made that must")
{
    weir_clock *clock;
    weir_metrics *metrics;
    weir_limiter *limiter;
    weir_queue *queue;
    weir_scope *scope;
    weir_pool *pool;
    struct weir_pool_options options = {0};
    options.workers = 1;
    has_no_memory = true;
    CHECK_INT(weiri_forked_mark(), ==, 0);
    CHECK_STATUS(weir_clock_manual_new(0, test_allocator(), &clock), WEIR_ENOMEM);
    CHECK_STATUS(weir_metrics_new(NULL, &metrics, NULL), WEIR_ENOMEM);
    CHECK_STATUS(weir_limiter_default_new(NULL, &limiter, NULL), WEIR_ENOMEM);
    CHECK_STATUS(weir_queue_new(NULL, &queue, NULL), WEIR_ENOMEM);
    CHECK_STATUS(weir_scope_new(NULL, &scope), WEIR_ENOMEM);
    CHECK_STATUS(weir_pool_new(&options, &pool, NULL), WEIR_ENOMEM);
    has_no_memory = false;
    CHECK_STATUS(weir_queue_new(NULL, &queue, NULL), WEIR_OK);
    weir_queue_free(queue);
}

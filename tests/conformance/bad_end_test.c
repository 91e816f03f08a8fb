/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall numbers */

#include <errno.h>
#include <sys/resource.h>

#include "conformance/bad_pool.h"
#include "support/forbid_call.h"

/* Bad input to ends of pools; starts and resizes that the system has no threads or memory for. */

ROW(weir_pool_end, mode, unknown, WEIR_EINVAL)
{
    CHECK_STATUS(weir_pool_end(w->pool, (enum weir_end_mode)(WEIR_END_TERMINATE + 1), 0, 0),
                 WEIR_EINVAL);
    return weir_pool_end(w->pool, (enum weir_end_mode) - 1, 0, 0);
}

ROW(weir_pool_end, flags, most, WEIR_EINVAL)
{
    CHECK_STATUS(weir_pool_end(w->pool, WEIR_END_STOP, 2, 0), WEIR_EINVAL);
    return weir_pool_end(w->pool, WEIR_END_STOP, UINT32_MAX, 0);
}

/* What is kept could never be run. */
ROW(weir_pool_end, flags, kept_for_ever, WEIR_EINVAL)
{
    return weir_pool_end(w->pool, WEIR_END_TERMINATE, WEIR_END_KEEP, 0);
}

ROW(weir_pool_end, timeout_ns, least, WEIR_OK)
{
    CHECK_STATUS(weir_pool_end(w->pool, WEIR_END_DRAIN, 0, INT64_MIN), WEIR_OK);
    CHECK_INT(weir_pool_state(w->pool), ==, WEIR_POOL_STATE_STOPPING);
    let_go(w);
    return WEIR_OK;
}

ROW(weir_pool_end, timeout_ns, most, WEIR_OK)
{
    let_go(w);
    CHECK_STATUS(weir_pool_end(w->pool, WEIR_END_DRAIN, 0, INT64_MAX), WEIR_OK);
    CHECK_INT(weir_pool_state(w->pool), ==, WEIR_POOL_STATE_STOPPED);
    CHECK_INT(task_runs(&w->tasks[IS_QUEUED]), ==, 1);
    return WEIR_OK;
}

struct timed_end {
    weir_pool *pool;
    enum weir_status status;
};

static void end_in_time(void *arg)
{
    struct timed_end *call = arg;
    call->status = weir_pool_end(call->pool, WEIR_END_STOP, 0, DELAY);
}

ROW(weir_pool_end, pool, busy, WEIR_ETIMEDOUT)
{
    accept_change(w); /* the end goes on */
    struct timed_end call = {.pool = w->pool};
    struct test_thread *thread = test_start(end_in_time, &call);
    test_wait_asleep(thread);
    CHECK_INT(weir_pool_state(w->pool), ==, WEIR_POOL_STATE_STOPPING);
    CHECK_STATUS(weir_clock_advance(w->clock, DELAY), WEIR_OK);
    test_join(thread);
    return call.status;
}

ROW(weir_pool_fd, ret_fd, null, WEIR_EINVAL)
{
    return weir_pool_fd(w->pool, NULL);
}

ROW(weir_pool_fd, descriptors, none, WEIR_EIO)
{
    struct rlimit limit;
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), ==, 0);
    struct rlimit none = {.rlim_cur = 0, .rlim_max = limit.rlim_max};
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &none), ==, 0);
    int fd = UNTOUCHED;
    enum weir_status status = weir_pool_fd(w->pool, &fd);
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
    CHECK_INT(fd, ==, UNTOUCHED);
    return status;
}

struct fd_call {
    weir_pool *pool;
    enum weir_status status;
};

static void run_fd_without_timers(void *arg)
{
    struct fd_call *call = arg;
    int fd = UNTOUCHED;
    test_forbid_call(SYS_timerfd_create, SECCOMP_RET_ERRNO | ENOMEM);
    call->status = weir_pool_fd(call->pool, &fd);
    CHECK_INT(fd, ==, UNTOUCHED);
}

ROW(weir_pool_fd, memory, none, WEIR_ENOMEM)
{
    struct fd_call call = {.pool = w->pool};
    test_join(test_start(run_fd_without_timers, &call));
    return call.status;
}

/* ---- Resources ---- */

ROW(weir_pool_start, pool, scope_cancelled, WEIR_ECANCELED)
{
    weir_scope *scope;
    CHECK_STATUS(weir_scope_new(test_allocator(), &scope), WEIR_OK);
    struct weir_pool_options options = good_pool(w->clock);
    options.scope = scope;
    weir_pool *pool;
    CHECK_STATUS(weir_pool_new(&options, &pool, NULL), WEIR_OK);
    CHECK_STATUS(weir_pool_send(pool, w->envelopes[IS_IDLE]), WEIR_OK);
    weir_scope_cancel(scope);
    enum weir_status status = weir_pool_start(pool);
    CHECK_INT(weir_pool_state(pool), ==, WEIR_POOL_STATE_INIT);
    CHECK_INT(counts_of(pool).queued, ==, 1);
    weir_pool_free(pool);
    weir_scope_free(scope);
    return status;
}

ROW(weir_pool_start, memory, none, WEIR_ENOMEM)
{
    weir_pool *pool = pool_with(1, 0, w->clock);
    CHECK_STATUS(weir_pool_resize(pool, 3), WEIR_OK);
    CHECK_STATUS(weir_pool_send(pool, w->envelopes[IS_IDLE]), WEIR_OK);
    test_fail_allocation(1, true);
    enum weir_status status = weir_pool_start(pool);
    test_fail_allocation(0, false);
    CHECK_INT(weir_pool_state(pool), ==, WEIR_POOL_STATE_INIT);
    CHECK_INT(task_runs(&w->tasks[IS_IDLE]), ==, 0);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(task_runs(&w->tasks[IS_IDLE]), ==, 1);
    weir_pool_free(pool);
    accept_change(w); /* IS_IDLE has been run elsewhere */
    return status;
}

ROW(weir_pool_resize, memory, none, WEIR_ENOMEM)
{
    test_fail_allocation(1, true);
    return weir_pool_resize(w->pool, 3);
}

/* A call on a thread that can start none. */
struct lonely_call {
    weir_pool *pool;
    enum weir_status (*call)(weir_pool *pool);
    enum weir_status status;
};

static void run_lonely(void *arg)
{
    struct lonely_call *call = arg;
    test_forbid_call(SYS_clone3, SECCOMP_RET_ERRNO | EAGAIN);
    test_forbid_call(SYS_clone, SECCOMP_RET_ERRNO | EAGAIN);
    call->status = call->call(call->pool);
}

static enum weir_status call_lonely(weir_pool *pool, enum weir_status (*fn)(weir_pool *pool))
{
    struct lonely_call call = {.pool = pool, .call = fn};
    test_join(test_start(run_lonely, &call));
    return call.status;
}

ROW(weir_pool_start, threads, none, WEIR_ETHREAD)
{
    CHECK_STATUS(call_lonely(w->other, weir_pool_start), WEIR_ETHREAD);
    CHECK_INT(weir_pool_state(w->other), ==, WEIR_POOL_STATE_INIT);
    return WEIR_ETHREAD;
}

static enum weir_status resize(weir_pool *pool)
{
    return weir_pool_resize(pool, 5);
}

ROW(weir_pool_resize, threads, none, WEIR_ETHREAD)
{
    /* The records of the workers that did not come are kept for those that will. */
    CHECK_STATUS(call_lonely(w->pool, resize), WEIR_ETHREAD);
    take_stock(w);
    return call_lonely(w->pool, resize);
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall numbers */

#include <errno.h>

#include "conformance/bad_pool.h"
#include "support/forbid_call.h"

/* Bad input to ends of pools; starts and resizes that the system has no threads or memory for. */

static struct weir_end_options good_end(void)
{
    struct weir_end_options options = {0};
    options.mode = WEIR_END_STOP;
    return options;
}

static void must_not_be_told(weir_envelope *envelope, void *arg)
{
    (void)envelope;
    (void)arg;
    test_fail(__FILE__, __LINE__, "told of what runs");
}

ROW(weir_pool_end, options, null, WEIR_OK)
{
    let_go(w);
    CHECK_STATUS(weir_pool_end(w->pool, NULL), WEIR_OK);
    CHECK_INT(weir_pool_state(w->pool), ==, WEIR_POOL_STATE_STOPPED);
    CHECK_INT(task_runs(&w->tasks[IS_QUEUED]), ==, 1); /* it was a drain */
    return WEIR_OK;
}

ROW(weir_pool_end, options, mode, WEIR_EINVAL)
{
    struct weir_end_options options = good_end();
    options.mode = WEIR_END_TERMINATE + 1;
    CHECK_STATUS(weir_pool_end(w->pool, &options), WEIR_EINVAL);
    options.mode = UINT32_MAX;
    return weir_pool_end(w->pool, &options);
}

ROW(weir_pool_end, options, flags, WEIR_EINVAL)
{
    struct weir_end_options options = good_end();
    options.flags = 4;
    CHECK_STATUS(weir_pool_end(w->pool, &options), WEIR_EINVAL);
    options.flags = UINT32_MAX;
    CHECK_STATUS(weir_pool_end(w->pool, &options), WEIR_EINVAL);
    options.flags = WEIR_END_KEEP; /* what is kept could never be run */
    options.mode = WEIR_END_TERMINATE;
    return weir_pool_end(w->pool, &options);
}

ROW(weir_pool_end, options, limit_ns, WEIR_ERANGE)
{
    struct weir_end_options options = good_end();
    options.limit_ns = -1;
    CHECK_STATUS(weir_pool_end(w->pool, &options), WEIR_ERANGE);
    options.limit_ns = INT64_MIN;
    return weir_pool_end(w->pool, &options);
}

ROW(weir_pool_end, options, wait_of_none, WEIR_EINVAL)
{
    struct weir_end_options options = good_end();
    options.flags = WEIR_END_NO_WAIT;
    options.limit_ns = 1;
    return weir_pool_end(w->pool, &options);
}

ROW(weir_pool_end, options, running, WEIR_EINVAL)
{
    struct weir_end_options options = good_end();
    options.flags = WEIR_END_NO_WAIT;
    options.running = must_not_be_told;
    return weir_pool_end(w->pool, &options);
}

static void note_running(weir_envelope *envelope, void *arg)
{
    *(uint64_t *)arg = weir_envelope_id(envelope);
}

struct timed_end {
    struct world *w;
    uint64_t running;
    enum weir_status status;
};

static void end_in_time(void *arg)
{
    struct timed_end *call = arg;
    struct weir_end_options options = good_end();
    options.limit_ns = weir_clock_now(call->w->clock) + DELAY;
    options.running = note_running;
    options.running_arg = &call->running;
    call->status = weir_pool_end(call->w->pool, &options);
}

ROW(weir_pool_end, pool, busy, WEIR_ETIMEDOUT)
{
    accept_change(w); /* the end goes on */
    struct timed_end call = {.w = w, .running = UNTOUCHED};
    struct test_thread *thread = test_start(end_in_time, &call);
    test_wait_asleep(thread);
    CHECK_INT(weir_pool_state(w->pool), ==, WEIR_POOL_STATE_STOPPING);
    CHECK_STATUS(weir_clock_advance(w->clock, DELAY), WEIR_OK);
    test_join(thread);
    CHECK_INT(call.running, ==, IS_RUNNING);
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
    CHECK_STATUS(weir_pool_drain(pool), WEIR_OK);
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

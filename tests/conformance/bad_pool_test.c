/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/bad_pool.h"

/* Bad input to the calls on a pool: each in each state, from a task of the pool, in a child. */

static enum weir_status call_start(__attribute__((unused)) struct world *w, weir_pool *pool)
{
    return weir_pool_start(pool);
}

static enum weir_status call_send(struct world *w, weir_pool *pool)
{
    return weir_pool_send(pool, w->envelopes[IS_IDLE]);
}

static int do_nothing(__attribute__((unused)) weir_context *context,
                      __attribute__((unused)) void *payload)
{
    return WEIR_OK;
}

static enum weir_status call_run(__attribute__((unused)) struct world *w, weir_pool *pool)
{
    return weir_pool_run(pool, do_nothing, NULL, NULL);
}

static enum weir_status call_send_after(struct world *w, weir_pool *pool)
{
    return weir_pool_send_after(pool, w->envelopes[IS_IDLE], 1);
}

static enum weir_status call_send_wait(struct world *w, weir_pool *pool)
{
    return weir_pool_send_wait(pool, w->envelopes[IS_IDLE], WEIR_FOREVER);
}

static enum weir_status call_send_all(struct world *w, weir_pool *pool)
{
    return weir_pool_send_all(pool, &w->envelopes[IS_IDLE], 1);
}

static enum weir_status call_cancel(struct world *w, weir_pool *pool)
{
    enum weir_status status = weir_pool_cancel(pool, w->envelopes[IS_IDLE], 0, &w->number);
    CHECK_INT(w->number, ==, status == WEIR_OK ? 0 : UNTOUCHED);
    return status;
}

/* The modes are answered alike, but for a stop, and a termination where it could end something. */
static enum weir_status call_end(__attribute__((unused)) struct world *w, weir_pool *pool)
{
    enum weir_status status = weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_FINISH, 0, WEIR_FOREVER), status);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_STOP, 0, WEIR_FOREVER),
                 status == WEIR_ECANCELED ? WEIR_OK : status);
    enum weir_pool_state state = weir_pool_state(pool);
    if (state != WEIR_POOL_STATE_INIT && state != WEIR_POOL_STATE_STOPPED) {
        CHECK_STATUS(weir_pool_end(pool, WEIR_END_TERMINATE, 0, WEIR_FOREVER), status);
    }
    return status;
}

static enum weir_status call_fd(__attribute__((unused)) struct world *w, weir_pool *pool)
{
    int fd = UNTOUCHED;
    enum weir_status status = weir_pool_fd(pool, &fd);
    CHECK((fd == UNTOUCHED) == (status != WEIR_OK));
    return status;
}

static enum weir_status call_resize(__attribute__((unused)) struct world *w, weir_pool *pool)
{
    return weir_pool_resize(pool, 3);
}

static enum weir_status call_pause(__attribute__((unused)) struct world *w, weir_pool *pool)
{
    return weir_pool_pause(pool, 0);
}

static enum weir_status call_resume(__attribute__((unused)) struct world *w, weir_pool *pool)
{
    return weir_pool_resume(pool);
}

static enum weir_status call_count(struct world *w, weir_pool *pool)
{
    enum weir_status status = weir_pool_count(pool, &w->counts);
    CHECK((w->counts.skipped == UNTOUCHED) == (status != WEIR_OK));
    return status;
}

/* The state is no status: what it is in each row is looked at here. */
static enum weir_status call_state(struct world *w, weir_pool *pool)
{
    CHECK_INT(weir_pool_state(pool), ==, pool == NULL ? WEIR_POOL_STATE_TERMINATED : w->state);
    return WEIR_OK;
}

POOL_ROWS(weir_pool_start, call_start, WEIR_ESTATE, WEIR_OK, WEIR_OK, WEIR_ESTATE)
POOL_ROWS(weir_pool_send, call_send, WEIR_OK, WEIR_OK, WEIR_ESHUTDOWN, WEIR_ESHUTDOWN)
POOL_ROWS(weir_pool_run, call_run, WEIR_OK, WEIR_OK, WEIR_ESHUTDOWN, WEIR_ESHUTDOWN)
POOL_ROWS(weir_pool_send_after, call_send_after, WEIR_OK, WEIR_OK, WEIR_ESHUTDOWN, WEIR_ESHUTDOWN)
POOL_ROWS(weir_pool_send_wait, call_send_wait, WEIR_OK, WEIR_OK, WEIR_ESHUTDOWN, WEIR_ESHUTDOWN)
POOL_ROWS(weir_pool_send_all, call_send_all, WEIR_OK, WEIR_OK, WEIR_ESHUTDOWN, WEIR_ESHUTDOWN)
POOL_ROWS(weir_pool_cancel, call_cancel, WEIR_OK, WEIR_OK, WEIR_OK, WEIR_OK)
POOL_ROWS(weir_pool_end, call_end, WEIR_ESTATE, WEIR_ESTATE, WEIR_ECANCELED, WEIR_OK)
POOL_ROWS(weir_pool_fd, call_fd, WEIR_OK, WEIR_OK, WEIR_OK, WEIR_OK)
POOL_ROWS(weir_pool_resize, call_resize, WEIR_OK, WEIR_OK, WEIR_OK, WEIR_ESTATE)
POOL_ROWS(weir_pool_pause, call_pause, WEIR_OK, WEIR_OK, WEIR_OK, WEIR_ESTATE)
POOL_ROWS(weir_pool_resume, call_resume, WEIR_OK, WEIR_OK, WEIR_OK, WEIR_ESTATE)
POOL_ROWS(weir_pool_count, call_count, WEIR_OK, WEIR_OK, WEIR_OK, WEIR_OK)

/* Of calls that return no status. */
#define LOOK_ROWS(function, call)                                                                  \
    ROW(function, pool, null, WEIR_OK)                                                             \
    {                                                                                              \
        return call(w, NULL);                                                                      \
    }                                                                                              \
    ROW(function, pool, own_task, WEIR_OK)                                                         \
    {                                                                                              \
        return call(w, w->pool);                                                                   \
    }                                                                                              \
    ROW(function, pool, unstarted, WEIR_OK)                                                        \
    {                                                                                              \
        return call(w, w->pool);                                                                   \
    }                                                                                              \
    ROW(function, pool, stopped, WEIR_OK)                                                          \
    {                                                                                              \
        return call(w, w->pool);                                                                   \
    }                                                                                              \
    ROW(function, pool, terminated, WEIR_OK)                                                       \
    {                                                                                              \
        return call(w, w->pool);                                                                   \
    }

LOOK_ROWS(weir_pool_state, call_state)

ROW(weir_pool_state, pool, forked, WEIR_OK)
{
    CHECK_INT(weir_pool_state(w->pool), ==, WEIR_POOL_STATE_TERMINATED);
    return WEIR_OK;
}

ROW(weir_pool_count, ret_counts, null, WEIR_EINVAL)
{
    return weir_pool_count(w->pool, NULL);
}

/* ---- Free ---- */

ROW(weir_pool_free, pool, null, WEIR_OK)
{
    return weir_pool_free(NULL);
}

ROW(weir_pool_free, pool, forked, WEIR_EFORKED)
{
    return weir_pool_free(w->pool);
}

ROW(weir_pool_free, pool, own_task, WEIR_ESTATE)
{
    return weir_pool_free(w->pool);
}

/* Whatever it holds is dropped: the world sees that each payload is released once. */
static enum weir_status free_pool(struct world *w)
{
    weir_pool_free(w->pool);
    w->pool = NULL;
    return WEIR_OK;
}

ROW(weir_pool_free, pool, unstarted, WEIR_OK)
{
    return free_pool(w);
}

ROW(weir_pool_free, pool, stopped, WEIR_OK)
{
    return free_pool(w);
}

ROW(weir_pool_free, pool, terminated, WEIR_OK)
{
    return free_pool(w);
}

/* ---- Numbers ---- */

ROW(weir_pool_resize, workers, zero, WEIR_EINVAL)
{
    return weir_pool_resize(w->pool, 0);
}

ROW(weir_pool_resize, workers, most, WEIR_EINVAL)
{
    CHECK_STATUS(weir_pool_resize(w->pool, SIZE_MAX), WEIR_EINVAL);
    return weir_pool_resize(w->pool, 4097);
}

/* ---- Pauses ---- */

ROW(weir_pool_pause, timeout_ns, least, WEIR_OK)
{
    CHECK_STATUS(weir_pool_pause(w->pool, INT64_MIN), WEIR_OK); /* what runs goes on */
    CHECK_INT(counts_of(w->pool).running, ==, 1);
    let_go(w);
    CHECK_STATUS(weir_pool_pause(w->pool, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counts_of(w->pool).queued, ==, 1);
    return WEIR_OK;
}

ROW(weir_pool_pause, timeout_ns, most, WEIR_OK)
{
    let_go(w);
    CHECK_STATUS(weir_pool_pause(w->pool, INT64_MAX), WEIR_OK);
    CHECK_INT(counts_of(w->pool).running, ==, 0);
    return WEIR_OK;
}

ROW(weir_pool_pause, timeout_ns, own_task, WEIR_ESTATE)
{
    return weir_pool_pause(w->pool, 1);
}

struct pauser {
    weir_pool *pool;
    enum weir_status status;
};

static void pause_for_ever(void *arg)
{
    struct pauser *call = arg;
    call->status = weir_pool_pause(call->pool, WEIR_FOREVER);
}

static void pause_for_1_ns(void *arg)
{
    struct pauser *call = arg;
    call->status = weir_pool_pause(call->pool, 1);
}

static struct test_thread *start_pause(struct pauser *call, struct world *w, void (*run)(void *arg))
{
    *call = (struct pauser){.pool = w->pool};
    struct test_thread *thread = test_start(run, call);
    test_wait_asleep(thread);
    return thread;
}

ROW(weir_pool_pause, pool, resumed, WEIR_ECANCELED)
{
    struct pauser call;
    struct test_thread *thread = start_pause(&call, w, pause_for_ever);
    CHECK_STATUS(weir_pool_resume(w->pool), WEIR_OK);
    test_join(thread);
    return call.status;
}

ROW(weir_pool_pause, timeout_ns, passed, WEIR_ETIMEDOUT)
{
    struct pauser call;
    accept_change(w); /* it is paused all the same */
    struct test_thread *thread = start_pause(&call, w, pause_for_1_ns);
    CHECK_STATUS(weir_clock_advance(w->clock, 1), WEIR_OK);
    test_join(thread);
    return call.status;
}

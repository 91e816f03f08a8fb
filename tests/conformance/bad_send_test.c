/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/bad_pool.h"

/* Bad input to sends and cancellations: envelopes, times, counts, a pool that is full. */

/* What every send has; call(w, envelope) makes the call. */
#define ENVELOPE_ROWS(function, parameter, call)                                                   \
    ROW(function, parameter, null, WEIR_EINVAL)                                                    \
    {                                                                                              \
        return call(w, NULL);                                                                      \
    }                                                                                              \
    ROW(function, parameter, elsewhere, WEIR_EBUSY)                                                \
    {                                                                                              \
        return call(w, w->envelopes[IS_ELSEWHERE]);                                                \
    }                                                                                              \
    ROW(function, parameter, full, WEIR_EFULL)                                                     \
    {                                                                                              \
        fill_world(w);                                                                             \
        return call(w, w->envelopes[IS_IDLE]);                                                     \
    }

static enum weir_status call_send(struct world *w, weir_envelope *envelope)
{
    return weir_pool_send(w->pool, envelope);
}

static enum weir_status call_send_after(struct world *w, weir_envelope *envelope)
{
    return weir_pool_send_after(w->pool, envelope, 1);
}

static enum weir_status call_send_all(struct world *w, weir_envelope *envelope)
{
    weir_envelope *const all[] = {w->envelopes[IS_IDLE], envelope, w->envelopes[IS_QUEUED]};
    return weir_pool_send_all(w->pool, all, 3);
}

ENVELOPE_ROWS(weir_pool_send, envelope, call_send)
ENVELOPE_ROWS(weir_pool_send_after, envelope, call_send_after)

ROW(weir_pool_send_wait, envelope, null, WEIR_EINVAL)
{
    return weir_pool_send_wait(w->pool, NULL, WEIR_FOREVER);
}

ROW(weir_pool_send_wait, envelope, elsewhere, WEIR_EBUSY)
{
    return weir_pool_send_wait(w->pool, w->envelopes[IS_ELSEWHERE], WEIR_FOREVER);
}

ROW(weir_pool_send_wait, timeout_ns, least, WEIR_ETIMEDOUT)
{
    fill_world(w);
    CHECK_STATUS(weir_pool_send_wait(w->pool, w->envelopes[IS_IDLE], 0), WEIR_ETIMEDOUT);
    return weir_pool_send_wait(w->pool, w->envelopes[IS_IDLE], INT64_MIN);
}

ROW(weir_pool_send_wait, timeout_ns, most, WEIR_OK)
{
    return weir_pool_send_wait(w->pool, w->envelopes[IS_IDLE], INT64_MAX);
}

/* It would have to wait for its own slot. */
ROW(weir_pool_send_wait, pool, own_task_full, WEIR_EFULL)
{
    fill_world(w);
    return weir_pool_send_wait(w->pool, w->envelopes[IS_IDLE], WEIR_FOREVER);
}

ROW(weir_pool_send_after, delay_ns, least, WEIR_OK)
{
    CHECK_STATUS(weir_pool_send_after(w->pool, w->envelopes[IS_IDLE], INT64_MIN), WEIR_OK);
    counter_wait(&w->tasks[IS_IDLE].outcomes, 1);
    return WEIR_OK;
}

ROW(weir_pool_send_after, delay_ns, most, WEIR_OK)
{
    CHECK_STATUS(weir_pool_send_after(w->pool, w->envelopes[IS_IDLE], INT64_MAX), WEIR_OK);
    CHECK_INT(counts_of(w->pool).waiting, ==, 2);
    return WEIR_OK;
}

/* ---- One-shot tasks, whose payload stays the caller's ---- */

static void must_not_release(__attribute__((unused)) void *payload)
{
    test_fail(__FILE__, __LINE__, "the payload of a call that failed is released");
}

static enum weir_status run_refused(struct world *w, weir_pool *pool)
{
    return weir_pool_run(pool, task_invoke, &w->tasks[IS_IDLE], must_not_release);
}

ROW(weir_pool_run, task, null, WEIR_EINVAL)
{
    return weir_pool_run(w->pool, NULL, &w->tasks[IS_IDLE], must_not_release);
}

ROW(weir_pool_run, release, null, WEIR_OK)
{
    CHECK_STATUS(weir_pool_run(w->pool, task_invoke, &w->tasks[IS_IDLE], NULL), WEIR_OK);
    counter_wait(&w->tasks[IS_IDLE].entered, 1);
    return WEIR_OK;
}

ROW(weir_pool_run, task, full, WEIR_EFULL)
{
    fill_world(w);
    return run_refused(w, w->pool);
}

ROW(weir_pool_run, memory, none, WEIR_ENOMEM)
{
    weir_pool *pool = pool_with(1, 0, w->clock);
    size_t bytes = test_allocated_bytes();
    for (uint64_t i = 1; i <= 2; i++) { /* the envelope's, the pool's */
        test_fail_allocation(i, true);
        CHECK_STATUS(run_refused(w, pool), WEIR_ENOMEM);
        CHECK_INT(test_allocated_bytes(), ==, bytes);
    }
    weir_pool_free(pool);
    return WEIR_ENOMEM;
}

/* ---- Several ---- */

ROW(weir_pool_send_all, envelopes, null, WEIR_EINVAL)
{
    CHECK_STATUS(weir_pool_send_all(w->pool, NULL, SIZE_MAX), WEIR_EINVAL);
    return weir_pool_send_all(w->pool, NULL, 1);
}

ROW(weir_pool_send_all, envelopes, one_null, WEIR_EINVAL)
{
    return call_send_all(w, NULL);
}

ROW(weir_pool_send_all, envelopes, elsewhere, WEIR_EBUSY)
{
    return call_send_all(w, w->envelopes[IS_ELSEWHERE]);
}

ROW(weir_pool_send_all, envelopes, full, WEIR_EFULL)
{
    CHECK_STATUS(weir_pool_send_after(w->pool, w->envelopes[IS_FILLING], DELAY), WEIR_OK);
    take_stock(w);
    return call_send_all(w, w->envelopes[IS_FILLING_TOO]);
}

ROW(weir_pool_send_all, count, zero, WEIR_OK)
{
    CHECK_STATUS(weir_pool_send_all(w->pool, NULL, 0), WEIR_OK);
    check_unchanged(w);
    return WEIR_OK;
}

ROW(weir_pool_send_all, count, past_a_pool_that_waits, WEIR_EFULL)
{
    struct weir_pool_options options = good_pool(w->clock);
    options.capacity = 2;
    options.when_full = WEIR_FULL_WAIT;
    weir_pool *pool;
    CHECK_STATUS(weir_pool_new(&options, &pool, NULL), WEIR_OK);
    weir_envelope *const all[] = {w->envelopes[IS_IDLE], w->envelopes[IS_FILLING],
                                  w->envelopes[IS_FILLING_TOO]};
    enum weir_status status = weir_pool_send_all(pool, all, 3);
    CHECK_INT(counts_of(pool).in_flight, ==, 0);
    weir_pool_free(pool);
    return status;
}

/* ---- Memory: in a pool that has none yet for what it holds ---- */

typedef enum weir_status send_fn(weir_pool *pool, weir_envelope *envelope);

static enum weir_status send_without_memory(struct world *w, send_fn *send)
{
    weir_pool *pool = pool_with(1, 0, w->clock);
    size_t bytes = test_allocated_bytes();
    test_fail_allocation(1, true);
    enum weir_status status = send(pool, w->envelopes[IS_IDLE]);
    CHECK_INT(counts_of(pool).in_flight, ==, 0);
    CHECK_INT(test_allocated_bytes(), ==, bytes);
    weir_pool_free(pool);
    return status;
}

static enum weir_status send_after_1(weir_pool *pool, weir_envelope *envelope)
{
    return weir_pool_send_after(pool, envelope, 1);
}

static enum weir_status send_wait_at_once(weir_pool *pool, weir_envelope *envelope)
{
    return weir_pool_send_wait(pool, envelope, 0);
}

static enum weir_status send_all_of_one(weir_pool *pool, weir_envelope *envelope)
{
    return weir_pool_send_all(pool, &envelope, 1);
}

ROW(weir_pool_send, memory, none, WEIR_ENOMEM)
{
    return send_without_memory(w, weir_pool_send);
}

ROW(weir_pool_send_after, memory, none, WEIR_ENOMEM)
{
    return send_without_memory(w, send_after_1);
}

ROW(weir_pool_send_wait, memory, none, WEIR_ENOMEM)
{
    return send_without_memory(w, send_wait_at_once);
}

ROW(weir_pool_send_all, memory, none, WEIR_ENOMEM)
{
    return send_without_memory(w, send_all_of_one);
}

/* ---- Cancellations ---- */

ROW(weir_pool_cancel, envelope, null, WEIR_EINVAL)
{
    return weir_pool_cancel(w->pool, NULL, 0, &w->number);
}

ROW(weir_pool_cancel, envelope, elsewhere, WEIR_EBUSY)
{
    return weir_pool_cancel(w->pool, w->envelopes[IS_ELSEWHERE], WEIR_FOREVER, &w->number);
}

ROW(weir_pool_cancel, timeout_ns, least, WEIR_OK)
{
    CHECK_STATUS(weir_pool_cancel(w->pool, w->envelopes[IS_RUNNING], INT64_MIN, &w->number),
                 WEIR_OK);
    CHECK_INT(w->number, ==, WEIR_CANCELED_RUNNING);
    CHECK_INT(counts_of(w->pool).running, ==, 1);
    return WEIR_OK;
}

ROW(weir_pool_cancel, timeout_ns, most, WEIR_OK)
{
    let_go(w);
    CHECK_STATUS(weir_pool_cancel(w->pool, w->envelopes[IS_RUNNING], INT64_MAX, NULL), WEIR_OK);
    CHECK_INT(counter_value(&w->tasks[IS_RUNNING].outcomes), ==, 1);
    return WEIR_OK;
}

static void cancel_for_1_ns(void *arg)
{
    struct world *w = arg;
    CHECK_STATUS(weir_pool_cancel(w->pool, w->envelopes[IS_RUNNING], 1, &w->number),
                 WEIR_ETIMEDOUT);
}

ROW(weir_pool_cancel, timeout_ns, passed, WEIR_ETIMEDOUT)
{
    accept_change(w); /* it is cancelled all the same */
    struct test_thread *thread = test_start(cancel_for_1_ns, w);
    test_wait_asleep(thread);
    CHECK_STATUS(weir_clock_advance(w->clock, 1), WEIR_OK);
    test_join(thread);
    CHECK_INT(w->number, ==, WEIR_CANCELED_RUNNING);
    return WEIR_ETIMEDOUT;
}

/* Nor is its context cancelled by a call that is refused. */
ROW(weir_pool_cancel, timeout_ns, own_run, WEIR_ESTATE)
{
    enum weir_status status =
        weir_pool_cancel(w->pool, w->envelopes[IS_CALLING], WEIR_FOREVER, &w->number);
    CHECK_STATUS(weir_context_check(w->context), WEIR_OK);
    return status;
}

ROW(weir_pool_cancel, ret_found, null, WEIR_OK)
{
    CHECK_STATUS(weir_pool_cancel(w->pool, w->envelopes[IS_QUEUED], 0, NULL), WEIR_OK);
    CHECK_INT(counts_of(w->pool).queued, ==, 0);
    return WEIR_OK;
}

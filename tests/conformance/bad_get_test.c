/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/bad_input.h"

/* Bad input to what hands items out, to what counts them, and to what ends a queue. */

/* ---- get ---- */

ROW(weir_queue_get, queue, null, WEIR_EINVAL)
{
    return weir_queue_get(NULL, &w->result);
}

ROW(weir_queue_get, queue, shut_down, WEIR_ESHUTDOWN)
{
    empty_world(w);
    return weir_queue_get(w->queue, &w->result);
}

ROW(weir_queue_get, ret_work, null, WEIR_EINVAL)
{
    return weir_queue_get(w->queue, NULL);
}

ROW(weir_queue_try_get, queue, null, WEIR_EINVAL)
{
    return weir_queue_try_get(NULL, &w->result);
}

ROW(weir_queue_try_get, queue, shut_down, WEIR_ESHUTDOWN)
{
    empty_world(w);
    return weir_queue_try_get(w->queue, &w->result);
}

ROW(weir_queue_try_get, queue, empty, WEIR_EAGAIN)
{
    empty_world(w);
    return weir_queue_try_get(w->queue, &w->result);
}

ROW(weir_queue_try_get, ret_work, null, WEIR_EINVAL)
{
    return weir_queue_try_get(w->queue, NULL);
}

ROW(weir_queue_get_until, queue, null, WEIR_EINVAL)
{
    return weir_queue_get_until(NULL, START, &w->result);
}

ROW(weir_queue_get_until, queue, shut_down, WEIR_ESHUTDOWN)
{
    empty_world(w);
    CHECK_STATUS(weir_queue_get_until(w->queue, INT64_MIN, &w->result), WEIR_ESHUTDOWN);
    return weir_queue_get_until(w->queue, INT64_MAX, &w->result);
}

ROW(weir_queue_get_until, limit_ns, least, WEIR_ETIMEDOUT)
{
    empty_world(w);
    CHECK_STATUS(weir_queue_get_until(w->queue, START, &w->result), WEIR_ETIMEDOUT);
    return weir_queue_get_until(w->queue, INT64_MIN, &w->result);
}

ROW(weir_queue_get_until, limit_ns, most, WEIR_OK)
{
    CHECK_STATUS(weir_queue_get_until(w->queue, INT64_MAX, &w->result), WEIR_OK);
    CHECK_INT(item_of(&w->f, &w->result), ==, IS_QUEUED);
    return WEIR_OK;
}

ROW(weir_queue_get_until, ret_work, null, WEIR_EINVAL)
{
    return weir_queue_get_until(w->queue, START, NULL);
}

ROW(weir_queue_get_batch, queue, null, WEIR_EINVAL)
{
    return weir_queue_get_batch(NULL, &w->result, 1, &w->count);
}

ROW(weir_queue_get_batch, queue, shut_down, WEIR_ESHUTDOWN)
{
    empty_world(w);
    return weir_queue_get_batch(w->queue, &w->result, 1, &w->count);
}

ROW(weir_queue_get_batch, ret_work, null, WEIR_EINVAL)
{
    return weir_queue_get_batch(w->queue, NULL, 1, &w->count);
}

ROW(weir_queue_get_batch, size, zero, WEIR_EINVAL)
{
    return weir_queue_get_batch(w->queue, &w->result, 0, &w->count);
}

ROW(weir_queue_get_batch, ret_count, null, WEIR_EINVAL)
{
    return weir_queue_get_batch(w->queue, &w->result, 1, NULL);
}

ROW(weir_queue_try_get_batch, queue, null, WEIR_EINVAL)
{
    return weir_queue_try_get_batch(NULL, &w->result, 1, &w->count);
}

ROW(weir_queue_try_get_batch, queue, shut_down, WEIR_ESHUTDOWN)
{
    empty_world(w);
    return weir_queue_try_get_batch(w->queue, &w->result, 1, &w->count);
}

ROW(weir_queue_try_get_batch, queue, empty, WEIR_EAGAIN)
{
    empty_world(w);
    return weir_queue_try_get_batch(w->queue, &w->result, 1, &w->count);
}

ROW(weir_queue_try_get_batch, ret_work, null, WEIR_EINVAL)
{
    return weir_queue_try_get_batch(w->queue, NULL, 1, &w->count);
}

ROW(weir_queue_try_get_batch, size, zero, WEIR_EINVAL)
{
    return weir_queue_try_get_batch(w->queue, &w->result, 0, &w->count);
}

ROW(weir_queue_try_get_batch, ret_count, null, WEIR_EINVAL)
{
    return weir_queue_try_get_batch(w->queue, &w->result, 1, NULL);
}

ROW(weir_queue_get_batch_until, queue, null, WEIR_EINVAL)
{
    return weir_queue_get_batch_until(NULL, START, &w->result, 1, &w->count);
}

ROW(weir_queue_get_batch_until, queue, shut_down, WEIR_ESHUTDOWN)
{
    empty_world(w);
    CHECK_STATUS(weir_queue_get_batch_until(w->queue, INT64_MIN, &w->result, 1, &w->count),
                 WEIR_ESHUTDOWN);
    return weir_queue_get_batch_until(w->queue, INT64_MAX, &w->result, 1, &w->count);
}

ROW(weir_queue_get_batch_until, limit_ns, least, WEIR_ETIMEDOUT)
{
    empty_world(w);
    CHECK_STATUS(weir_queue_get_batch_until(w->queue, START, &w->result, 1, &w->count),
                 WEIR_ETIMEDOUT);
    return weir_queue_get_batch_until(w->queue, INT64_MIN, &w->result, 1, &w->count);
}

ROW(weir_queue_get_batch_until, limit_ns, most, WEIR_OK)
{
    CHECK_STATUS(weir_queue_get_batch_until(w->queue, INT64_MAX, &w->result, 1, &w->count),
                 WEIR_OK);
    CHECK_INT(item_of(&w->f, &w->result), ==, IS_QUEUED);
    return WEIR_OK;
}

ROW(weir_queue_get_batch_until, ret_work, null, WEIR_EINVAL)
{
    return weir_queue_get_batch_until(w->queue, START, NULL, 1, &w->count);
}

ROW(weir_queue_get_batch_until, size, zero, WEIR_EINVAL)
{
    return weir_queue_get_batch_until(w->queue, START, &w->result, 0, &w->count);
}

ROW(weir_queue_get_batch_until, ret_count, null, WEIR_EINVAL)
{
    return weir_queue_get_batch_until(w->queue, START, &w->result, 1, NULL);
}

/* ---- Counts ---- */

ROW(weir_queue_count, queue, null, WEIR_EINVAL)
{
    struct weir_queue_counts counts = {.queued = UNTOUCHED};
    enum weir_status status = weir_queue_count(NULL, &counts);
    CHECK_INT(counts.queued, ==, UNTOUCHED);
    return status;
}

ROW(weir_queue_count, queue, shut_down, WEIR_OK)
{
    CHECK_COUNTS(&w->f, 1, 0, 2);
    return WEIR_OK;
}

ROW(weir_queue_count, ret_counts, null, WEIR_EINVAL)
{
    return weir_queue_count(w->queue, NULL);
}

ROW(weir_queue_len, queue, null, WEIR_OK)
{
    CHECK_INT(weir_queue_len(NULL), ==, 0);
    return WEIR_OK;
}

ROW(weir_queue_len, queue, shut_down, WEIR_OK)
{
    CHECK_INT(weir_queue_len(w->queue), ==, 1);
    return WEIR_OK;
}

/* ---- Ends ---- */

ROW(weir_queue_shutdown, queue, null, WEIR_OK)
{
    weir_queue_shutdown(NULL);
    return WEIR_OK;
}

ROW(weir_queue_shutdown, queue, shut_down, WEIR_OK)
{
    weir_queue_shutdown(w->queue);
    check_unchanged(w, true);
    return WEIR_OK;
}

ROW(weir_queue_shutting_down, queue, null, WEIR_OK)
{
    CHECK(weir_queue_shutting_down(NULL));
    return WEIR_OK;
}

ROW(weir_queue_shutting_down, queue, shut_down, WEIR_OK)
{
    CHECK(weir_queue_shutting_down(w->queue));
    return WEIR_OK;
}

static void run_drain_until(void *arg)
{
    struct blocked *blocked = arg;
    blocked->status = weir_queue_shutdown_drain_until(blocked->f->queue, INT64_MAX);
}

/* A shutdown comes while it drains. */
static enum weir_status drain_forced(struct world *w, void (*run)(void *arg))
{
    accept_change(w);
    struct blocked drainer;
    block(&drainer, &w->f, run);
    weir_queue_shutdown(w->queue);
    return unblock(&drainer);
}

ROW(weir_queue_shutdown_drain, queue, null, WEIR_EINVAL)
{
    return weir_queue_shutdown_drain(NULL);
}

ROW(weir_queue_shutdown_drain, queue, shut_down, WEIR_OK)
{
    finish_world(w);
    return weir_queue_shutdown_drain(w->queue);
}

ROW(weir_queue_shutdown_drain, queue, forced, WEIR_ECANCELED)
{
    return drain_forced(w, run_drain);
}

ROW(weir_queue_shutdown_drain_until, queue, null, WEIR_EINVAL)
{
    return weir_queue_shutdown_drain_until(NULL, START);
}

ROW(weir_queue_shutdown_drain_until, queue, shut_down, WEIR_OK)
{
    finish_world(w);
    return weir_queue_shutdown_drain_until(w->queue, INT64_MIN);
}

ROW(weir_queue_shutdown_drain_until, queue, forced, WEIR_ECANCELED)
{
    return drain_forced(w, run_drain_until);
}

ROW(weir_queue_shutdown_drain_until, limit_ns, least, WEIR_ETIMEDOUT)
{
    accept_change(w); /* it is shut down */
    enum weir_status status = weir_queue_shutdown_drain_until(w->queue, INT64_MIN);
    CHECK(weir_queue_shutting_down(w->queue));
    CHECK_COUNTS(&w->f, 1, 0, 2);
    return status;
}

ROW(weir_queue_shutdown_drain_until, limit_ns, most, WEIR_OK)
{
    finish_world(w);
    return weir_queue_shutdown_drain_until(w->queue, INT64_MAX);
}

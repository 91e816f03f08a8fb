/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/bad_input.h"

/* Bad input to what hands items out, to what counts them, and to what ends a queue. */

/* ---- get ---- */

ROW(weir_queue_get, queue, null, WEIR_EINVAL)
{
    return weir_queue_get(NULL, WEIR_FOREVER, &w->result);
}

ROW(weir_queue_get, queue, shut_down, WEIR_ESHUTDOWN)
{
    empty_world(w);
    CHECK_STATUS(weir_queue_get(w->queue, 0, &w->result), WEIR_ESHUTDOWN);
    return weir_queue_get(w->queue, WEIR_FOREVER, &w->result);
}

ROW(weir_queue_get, ret_work, null, WEIR_EINVAL)
{
    return weir_queue_get(w->queue, WEIR_FOREVER, NULL);
}

ROW(weir_queue_get, timeout_ns, least, WEIR_ETIMEDOUT)
{
    empty_world(w);
    CHECK_STATUS(weir_queue_get(w->queue, 0, &w->result), WEIR_ETIMEDOUT);
    return weir_queue_get(w->queue, INT64_MIN, &w->result);
}

ROW(weir_queue_get, timeout_ns, most, WEIR_OK)
{
    CHECK_STATUS(weir_queue_get(w->queue, INT64_MAX, &w->result), WEIR_OK);
    CHECK_INT(item_of(&w->f, &w->result), ==, IS_QUEUED);
    return WEIR_OK;
}

ROW(weir_queue_get_batch, queue, null, WEIR_EINVAL)
{
    return weir_queue_get_batch(NULL, WEIR_FOREVER, &w->result, 1, &w->count);
}

ROW(weir_queue_get_batch, queue, shut_down, WEIR_ESHUTDOWN)
{
    empty_world(w);
    CHECK_STATUS(weir_queue_get_batch(w->queue, 0, &w->result, 1, &w->count), WEIR_ESHUTDOWN);
    return weir_queue_get_batch(w->queue, WEIR_FOREVER, &w->result, 1, &w->count);
}

ROW(weir_queue_get_batch, ret_work, null, WEIR_EINVAL)
{
    return weir_queue_get_batch(w->queue, WEIR_FOREVER, NULL, 1, &w->count);
}

ROW(weir_queue_get_batch, size, zero, WEIR_EINVAL)
{
    return weir_queue_get_batch(w->queue, WEIR_FOREVER, &w->result, 0, &w->count);
}

ROW(weir_queue_get_batch, ret_count, null, WEIR_EINVAL)
{
    return weir_queue_get_batch(w->queue, WEIR_FOREVER, &w->result, 1, NULL);
}

ROW(weir_queue_get_batch, timeout_ns, least, WEIR_ETIMEDOUT)
{
    empty_world(w);
    CHECK_STATUS(weir_queue_get_batch(w->queue, 0, &w->result, 1, &w->count), WEIR_ETIMEDOUT);
    return weir_queue_get_batch(w->queue, INT64_MIN, &w->result, 1, &w->count);
}

ROW(weir_queue_get_batch, timeout_ns, most, WEIR_OK)
{
    CHECK_STATUS(weir_queue_get_batch(w->queue, INT64_MAX, &w->result, 1, &w->count), WEIR_OK);
    CHECK_INT(item_of(&w->f, &w->result), ==, IS_QUEUED);
    return WEIR_OK;
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

ROW(weir_queue_shutdown_drain, queue, null, WEIR_EINVAL)
{
    return weir_queue_shutdown_drain(NULL, WEIR_FOREVER);
}

ROW(weir_queue_shutdown_drain, queue, shut_down, WEIR_OK)
{
    finish_world(w);
    return weir_queue_shutdown_drain(w->queue, WEIR_FOREVER);
}

/* A shutdown comes while it drains. */
ROW(weir_queue_shutdown_drain, queue, forced, WEIR_ECANCELED)
{
    accept_change(w);
    struct blocked drainer;
    block(&drainer, &w->f, run_drain);
    weir_queue_shutdown(w->queue);
    return unblock(&drainer);
}

static void run_short_drain(void *arg)
{
    struct blocked *blocked = arg;
    blocked->status = weir_queue_shutdown_drain(blocked->f->queue, 1);
}

ROW(weir_queue_shutdown_drain, timeout_ns, passed, WEIR_ETIMEDOUT)
{
    accept_change(w); /* it is shut down */
    struct blocked drainer;
    block(&drainer, &w->f, run_short_drain);
    pass(&w->f, 1);
    return unblock(&drainer);
}

ROW(weir_queue_shutdown_drain, timeout_ns, least, WEIR_OK)
{
    CHECK_STATUS(weir_queue_shutdown_drain(w->queue, 0), WEIR_OK);
    enum weir_status status = weir_queue_shutdown_drain(w->queue, INT64_MIN);
    CHECK(weir_queue_shutting_down(w->queue));
    CHECK_COUNTS(&w->f, 1, 0, 2);
    return status;
}

ROW(weir_queue_shutdown_drain, timeout_ns, most, WEIR_OK)
{
    finish_world(w);
    return weir_queue_shutdown_drain(w->queue, INT64_MAX);
}

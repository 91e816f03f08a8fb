/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/bad_input.h"

/* Bad input to what ends items, and to what ends them and hands out the next. */

ROW(weir_queue_done, queue, null, WEIR_EINVAL)
{
    return weir_queue_done(NULL, &w->work[0]);
}

ROW(weir_queue_done, queue, shut_down, WEIR_OK)
{
    return weir_queue_done(w->queue, &w->work[1]);
}

ROW(weir_queue_done, work, null, WEIR_EINVAL)
{
    return weir_queue_done(w->queue, NULL);
}

ROW(weir_queue_done, work, stale, WEIR_ENOTPROCESSING)
{
    return weir_queue_done(w->queue, &w->stale);
}

ROW(weir_queue_done_get, queue, null, WEIR_EINVAL)
{
    return weir_queue_done_get(NULL, WEIR_FOREVER, &w->work[0]);
}

/* A done that is followed by no get: the item is done, and work is as it was. */
static void check_done_only(struct world *w, const struct weir_work *work, size_t waiting)
{
    CHECK(is_same_work(work, &w->work[0]));
    CHECK_COUNTS(&w->f, 0, waiting, 1);
}

ROW(weir_queue_done_get, queue, shut_down, WEIR_ESHUTDOWN)
{
    empty_world(w);
    accept_change(w); /* it is done all the same */
    struct weir_work work = w->work[0];
    enum weir_status status = weir_queue_done_get(w->queue, WEIR_FOREVER, &work);
    check_done_only(w, &work, 0);
    return status;
}

ROW(weir_queue_done_get, work, null, WEIR_EINVAL)
{
    return weir_queue_done_get(w->queue, WEIR_FOREVER, NULL);
}

ROW(weir_queue_done_get, work, stale, WEIR_ENOTPROCESSING)
{
    struct weir_work work = w->stale;
    enum weir_status status = weir_queue_done_get(w->queue, WEIR_FOREVER, &work);
    CHECK(is_same_work(&work, &w->stale));
    return status;
}

ROW(weir_queue_done_get, timeout_ns, least, WEIR_ETIMEDOUT)
{
    empty_world(w);
    accept_change(w);
    struct weir_work work = w->work[0];
    enum weir_status status = weir_queue_done_get(w->queue, INT64_MIN, &work);
    check_done_only(w, &work, 2);
    return status;
}

ROW(weir_queue_done_get, timeout_ns, most, WEIR_OK)
{
    struct weir_work work = w->work[0];
    CHECK_STATUS(weir_queue_done_get(w->queue, INT64_MAX, &work), WEIR_OK);
    CHECK_INT(item_of(&w->f, &work), ==, IS_QUEUED);
    return WEIR_OK;
}

ROW(weir_queue_done_batch, queue, null, WEIR_EINVAL)
{
    return weir_queue_done_batch(NULL, w->work, 2);
}

ROW(weir_queue_done_batch, queue, shut_down, WEIR_OK)
{
    return weir_queue_done_batch(w->queue, w->work, 2);
}

ROW(weir_queue_done_batch, work, null, WEIR_EINVAL)
{
    CHECK_STATUS(weir_queue_done_batch(w->queue, NULL, 0), WEIR_OK);
    return weir_queue_done_batch(w->queue, NULL, 1);
}

ROW(weir_queue_done_batch, work, stale, WEIR_ENOTPROCESSING)
{
    CHECK_STATUS(weir_queue_done_batch(w->queue, &w->stale, 1), WEIR_ENOTPROCESSING);
    check_unchanged(w, false);
    accept_change(w); /* the others are done all the same */
    struct weir_work works[] = {w->work[0], w->stale, w->work[1]};
    enum weir_status status = weir_queue_done_batch(w->queue, works, 3);
    CHECK_COUNTS(&w->f, 2, 2, 0);
    return status;
}

ROW(weir_queue_done_batch, count, zero, WEIR_OK)
{
    CHECK_STATUS(weir_queue_done_batch(w->queue, w->work, 0), WEIR_OK);
    CHECK_COUNTS(&w->f, 1, 2, 2);
    return WEIR_OK;
}

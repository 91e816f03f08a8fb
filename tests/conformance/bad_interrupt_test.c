/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/bad_input.h"

/* Interrupts, and what each blocking call says to one. */

ROW(weir_queue_interrupt, queue, null, WEIR_EINVAL)
{
    return weir_queue_interrupt(NULL);
}

ROW(weir_queue_interrupt, queue, shut_down, WEIR_OK)
{
    empty_world(w);
    CHECK_STATUS(weir_queue_interrupt(w->queue), WEIR_OK);
    CHECK_STATUS(weir_queue_get(w->queue, WEIR_FOREVER, &w->result), WEIR_ESHUTDOWN);
    return WEIR_OK;
}

/* Nothing is queued, and the next get that would block ends. */
static void interrupt_world(struct world *w)
{
    empty_world(w);
    accept_change(w); /* what was queued is gone */
    CHECK_STATUS(weir_queue_interrupt(w->queue), WEIR_OK);
}

/* What the get that was ended left alone. */
static enum weir_status check_ended(struct world *w, enum weir_status status)
{
    check_unchanged(w, false);
    CHECK_STATUS(weir_queue_get(w->queue, INT64_MIN, &w->result), WEIR_ETIMEDOUT);
    return status;
}

ROW(weir_queue_get, queue, interrupted, WEIR_ECANCELED)
{
    interrupt_world(w);
    return check_ended(w, weir_queue_get(w->queue, WEIR_FOREVER, &w->result));
}

ROW(weir_queue_get_batch, queue, interrupted, WEIR_ECANCELED)
{
    interrupt_world(w);
    return check_ended(w, weir_queue_get_batch(w->queue, WEIR_FOREVER, &w->result, 1, &w->count));
}

/* The item of work 0 is done, and work as it was. */
static enum weir_status check_done(struct world *w, const struct weir_work *work,
                                   enum weir_status status)
{
    CHECK(is_same_work(work, &w->work[0]));
    CHECK_STATUS(weir_queue_done(w->queue, work), WEIR_ENOTPROCESSING);
    CHECK_COUNTS(&w->f, 0, 2, 1);
    return status;
}

ROW(weir_queue_done_get, queue, interrupted, WEIR_ECANCELED)
{
    interrupt_world(w);
    struct weir_work work = w->work[0];
    return check_done(w, &work, weir_queue_done_get(w->queue, WEIR_FOREVER, &work));
}

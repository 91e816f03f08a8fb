/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* What brings envelopes into a pool's queue, and what takes them out unrun. */

#include "base/panic.h"
#include "pool/flight.h"
#include "pool/pool.h"
#include "queue/internal.h"

static enum weir_status send(weir_pool *pool, weir_envelope *envelope, int64_t delay_ns)
{
    if (pool == NULL || envelope == NULL) {
        return WEIR_EINVAL;
    }
    if (!weiri_flight_hold(envelope, pool->number)) {
        return WEIR_EBUSY;
    }
    bool has_entered = false;
    enum weir_status status =
        weiri_queue_send(pool->queue, &envelope->item, delay_ns, &has_entered);
    if (status != WEIR_OK || !has_entered) {
        weiri_flight_release(envelope);
    }
    return status;
}

enum weir_status weir_pool_send(weir_pool *pool, weir_envelope *envelope)
{
    return send(pool, envelope, 0);
}

enum weir_status weir_pool_send_after(weir_pool *pool, weir_envelope *envelope, int64_t delay_ns)
{
    return send(pool, envelope, delay_ns);
}

void weiri_pool_refuse_sends(weir_pool *pool)
{
    struct weir_item *dropped;
    weiri_queue_shutdown_take(pool->queue, &dropped);
    for (struct weir_item *item = weiri_core_chain_next(&dropped); item != NULL;
         item = weiri_core_chain_next(&dropped)) {
        weiri_flight_release(weiri_envelope_of(item));
    }
}

void weiri_pool_drop_queued(weir_pool *pool)
{
    struct weir_work work;
    while (weir_queue_try_get(pool->queue, &work) == WEIR_OK) {
        weiri_sync_point();
        atomic_fetch_add_explicit(&pool->dropped, 1, memory_order_relaxed);
        bool has_left;
        enum weir_status status = weiri_queue_done_left(pool->queue, &work, &has_left);
        WEIRI_ASSERT(status == WEIR_OK);
        if (has_left) {
            weiri_flight_release(weiri_envelope_of(work.item));
        }
    }
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* What takes envelopes out of a pool unrun. */

#include <weir/drop.h>

#include "base/panic.h"
#include "pool/flight.h"
#include "pool/pool.h"
#include "queue/internal.h"

const char *weir_drop_reason_text(enum weir_drop_reason reason)
{
    switch (reason) {
    case WEIR_DROP_STOPPED:
        return "stopped";
    case WEIR_DROP_DRAINED:
        return "drained";
    case WEIR_DROP_TERMINATED:
        return "terminated";
    case WEIR_DROP_CANCELED:
        return "canceled";
    case WEIR_DROP_DISPLACED:
        return "displaced";
    case WEIR_DROP_FAILED:
        return "failed";
    case WEIR_DROP_EXHAUSTED:
        return "exhausted";
    case WEIR_DROP_NO_MEMORY:
        return "out of memory";
    }
    return "unknown reason";
}

void weiri_pool_tell_drop(weir_pool *pool, weir_envelope *envelope, enum weir_drop_reason reason)
{
    weiri_pool_forget(pool, envelope);
    if (pool->tell_dropped != NULL) {
        pool->tell_dropped(envelope, reason, pool->dropped_arg);
    }
}

void weiri_pool_tell_ending(weir_pool *pool, weir_envelope *envelope, enum weiri_ending ending,
                            uint64_t ticket)
{
    switch (ending) {
    case WEIRI_ENDS:
        return;
    case WEIRI_ENDS_FAILED:
        weiri_pool_tell_drop(pool, envelope, WEIR_DROP_FAILED);
        return;
    case WEIRI_ENDS_EXHAUSTED:
        weiri_pool_tell_drop(pool, envelope, WEIR_DROP_EXHAUSTED);
        return;
    case WEIRI_ENDS_NO_MEMORY:
        weiri_pool_tell_drop(pool, envelope, WEIR_DROP_NO_MEMORY);
        return;
    case WEIRI_ENDS_UNRUN:
    case WEIRI_ENDS_PENDING:
        break;
    }
    weiri_sync_point();
    if (atomic_load_explicit(&envelope->cancelled_run, memory_order_relaxed) == ticket) {
        weiri_pool_tell_drop(pool, envelope, WEIR_DROP_CANCELED);
        return;
    }
    bool is_stop = weiri_scope_is_cancelled(&pool->scope);
    weiri_pool_tell_drop(pool, envelope, is_stop ? WEIR_DROP_STOPPED : WEIR_DROP_DRAINED);
}

void weiri_pool_refuse_sends(weir_pool *pool, enum weir_drop_reason reason)
{
    struct weir_item *dropped;
    weiri_queue_shutdown_take(pool->queue, &dropped);
    for (struct weir_item *item = weiri_core_chain_next(&dropped); item != NULL;
         item = weiri_core_chain_next(&dropped)) {
        weir_envelope *envelope = weiri_envelope_of(item);
        weiri_pool_tell_drop(pool, envelope, reason);
        weiri_flight_release(envelope);
    }
}

void weiri_pool_drop_queued(weir_pool *pool, enum weir_drop_reason reason)
{
    struct weir_work work;
    while (weir_queue_try_get(pool->queue, &work) == WEIR_OK) {
        weiri_pool_count_drop(pool);
        bool has_left;
        enum weir_status status = weiri_queue_done_left(pool->queue, &work, &has_left);
        WEIRI_ASSERT(status == WEIR_OK);
        if (has_left) {
            weir_envelope *envelope = weiri_envelope_of(work.item);
            weiri_pool_tell_drop(pool, envelope, reason);
            weiri_flight_release(envelope);
        }
    }
}

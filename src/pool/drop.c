/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* What takes envelopes out of a pool unrun. */

#include <weir/drop.h>

#include "base/probe.h"
#include "pool/flight.h"
#include "pool/pool.h"
#include "queue/close.h"

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
    WEIRI_PROBE4(drop, pool, envelope, envelope->id, reason);
    weiri_pool_forget(pool, envelope);
    if (pool->tell_dropped != NULL) {
        pool->tell_dropped(envelope, reason, pool->dropped_arg);
    }
}

static enum weir_drop_reason reason_of(weir_pool *pool, enum weiri_ending ending)
{
    switch (ending) {
    case WEIRI_ENDS_FAILED:
        return WEIR_DROP_FAILED;
    case WEIRI_ENDS_EXHAUSTED:
        return WEIR_DROP_EXHAUSTED;
    case WEIRI_ENDS_NO_MEMORY:
        return WEIR_DROP_NO_MEMORY;
    case WEIRI_ENDS_CLOSED:
        return weiri_pool_drop_reason(pool);
    case WEIRI_ENDS:
    case WEIRI_ENDS_PENDING:
        break;
    }
    return WEIR_DROP_CANCELED;
}

void weiri_pool_tell_ending(weir_pool *pool, weir_envelope *envelope, enum weiri_ending ending)
{
    weiri_pool_tell_drop(pool, envelope, reason_of(pool, ending));
}

void weiri_pool_sweep(weir_pool *pool)
{
    struct weir_item *dropped = weiri_queue_take_closed(pool->queue);
    if (dropped == NULL) {
        return;
    }
    enum weir_drop_reason reason = weiri_pool_drop_reason(pool);
    for (struct weir_item *item = weiri_chain_next(&dropped); item != NULL;
         item = weiri_chain_next(&dropped)) {
        weir_envelope *envelope = weiri_envelope_of(item);
        weiri_pool_tell_drop(pool, envelope, reason);
        weiri_flight_release(envelope);
    }
}

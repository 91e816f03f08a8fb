/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Taking an envelope back. */

#include "pool/ended.h"
#include "pool/group.h"
#include "pool/recur.h"

/* Cancels an envelope that the pool holds. Returns flags of enum weir_canceled. */
static uint32_t cancel(weir_pool *pool, weir_envelope *envelope,
                       struct weiri_endings *endings) WEIRI_POOL_LOCKED
{
    struct weiri_worker *worker = envelope->worker;
    uint32_t pending = weiri_pending_runs(&envelope->item);
    uint32_t found = pending > 0 ? WEIR_CANCELED_PENDING : 0;
    if (worker == NULL) {
        weiri_ended_drop_locked(pool, envelope, WEIR_ENDED_CANCELED, endings);
        return found;
    }
    pool->counts.dropped += pending;
    worker->is_recalled = true;
    worker->lost += pending;
    (void)weiri_core_cancel(&pool->core, &envelope->item);
    if (weiri_envelope_is_periodic(envelope)) {
        weiri_recur_end(pool, envelope);
    }
    weiri_context_cancel_locked(&worker->context);
    return found | WEIR_CANCELED_RUNNING;
}

/* A worker that runs the envelope under that ticket or an earlier one. A run is over when all calls
 * that its end makes have returned. NULL: there is none. */
static const struct weiri_worker *find_run(const weir_pool *pool, const weir_envelope *envelope,
                                           uint64_t last_ticket) WEIRI_POOL_LOCKED
{
    const struct weiri_worker *worker = pool->workers;
    while (worker != NULL && (worker->envelope != envelope || worker->ticket > last_ticket)) {
        worker = worker->next;
    }
    return worker;
}

enum weir_status weir_pool_cancel(weir_pool *pool, weir_envelope *envelope, int64_t timeout_ns,
                                  uint32_t *ret_found)
{
    enum weir_status status = envelope == NULL ? WEIR_EINVAL : weiri_pool_check(pool);
    if (status != WEIR_OK) {
        return status;
    }
    int64_t limit_ns = weiri_clock_limit(pool->options.clock, timeout_ns);
    bool waits = limit_ns != WEIRI_AT_ONCE;
    uint32_t found = 0;
    weiri_pool_lock(pool);
    weiri_sync_point();
    const weir_pool *owner = atomic_load_explicit(&envelope->owner, memory_order_acquire);
    struct weiri_worker *self = waits ? weiri_pool_self_locked(pool) : NULL;
    if (owner != NULL && owner != pool) {
        status = WEIR_EBUSY;
    } else if (self != NULL && self->envelope == envelope) {
        status = WEIR_ESTATE;
    } else {
        uint64_t last_ticket = pool->core.last_ticket; /* runs begun later are of later sends */
        struct weiri_endings endings;
        weiri_endings_init(&endings);
        if (weiri_core_holds(&pool->core, &envelope->item)) {
            found = cancel(pool, envelope, &endings);
        }
        weiri_ended_tell_locked(pool, &endings);
        pool->run_observers += waits;
        while (waits && status == WEIR_OK && find_run(pool, envelope, last_ticket) != NULL) {
            status = weiri_pool_wait_locked(pool, limit_ns) ? WEIR_OK : WEIR_ETIMEDOUT;
        }
        pool->run_observers -= waits;
    }
    weiri_pool_unlock(pool);
    if ((status == WEIR_OK || status == WEIR_ETIMEDOUT) && ret_found != NULL) {
        *ret_found = found;
    }
    return status;
}

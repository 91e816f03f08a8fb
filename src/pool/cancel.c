/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Taking an envelope back. See "Cancel" in docs/internals/pool.md. */

#include "pool/flight.h"
#include "pool/workers.h"
#include "queue/room.h"

/* Whether the caller is the very run of this envelope: it could wait for its own end for ever. The
 * context is of the caller's thread, so it stays as it is. */
static bool is_run_of(weir_pool *pool, const weir_envelope *envelope)
{
    const struct weiri_worker *self = weiri_pool_self(pool);
    return self != NULL && self->context.cancelled_run == &envelope->cancelled_run;
}

static bool is_in_run_locked(weir_pool *pool, uint64_t run) WEIRI_REQUIRES(pool->mutex)
{
    for (struct weiri_worker *worker = weiri_worker_first(pool); worker != NULL;
         worker = weiri_worker_next(worker)) {
        weiri_sync_point();
        if (atomic_load_explicit(&worker->context.run, memory_order_acquire) == run) {
            return true;
        }
    }
    return false;
}

/* Waits until the run is over, and then until its worker has told of what came of it. */
static enum weir_status await_run(weir_pool *pool, const weir_envelope *envelope, uint64_t run)
{
    enum weir_status status = weiri_queue_await_end(pool->queue, &envelope->item, run);
    if (status == WEIR_OK) {
        weiri_mutex_lock(&pool->mutex);
        while (is_in_run_locked(pool, run)) {
            weiri_cond_wait(&pool->changed);
        }
        weiri_mutex_unlock(&pool->mutex);
    }
    return status;
}

static enum weir_status cancel_held(weir_pool *pool, weir_envelope *envelope, bool waits,
                                    uint32_t *ret_found)
{
    enum weir_status status = WEIR_OK;
    struct weiri_recalled recalled;
    weiri_queue_recall(pool->queue, &envelope->item, &envelope->cancelled_run, weiri_recur_canceled,
                       &recalled);
    uint32_t found = recalled.pending > 0 ? WEIR_CANCELED_PENDING : 0;
    if (recalled.pending > 0) {
        weiri_pool_count_drops(pool, recalled.pending);
    }
    if (recalled.item != NULL) {
        weiri_pool_tell_drop(pool, envelope, WEIR_DROP_CANCELED);
        weiri_flight_release(envelope); /* the queue's hold; the caller's is left */
    }
    if (recalled.run != 0) {
        found |= WEIR_CANCELED_RUNNING;
        weiri_scope_cancel_run(&pool->scope, recalled.run);
        if (waits) {
            status = await_run(pool, envelope, recalled.run);
        }
    }
    if (status == WEIR_OK && ret_found != NULL) {
        *ret_found = found;
    }
    return status;
}

enum weir_status weir_pool_cancel(weir_pool *pool, weir_envelope *envelope, uint32_t flags,
                                  uint32_t *ret_found)
{
    bool is_valid = envelope != NULL && (flags & ~(uint32_t)WEIR_CANCEL_WAIT) == 0;
    enum weir_status status = is_valid ? weiri_pool_check(pool) : WEIR_EINVAL;
    if (status != WEIR_OK) {
        return status;
    }
    bool waits = (flags & (uint32_t)WEIR_CANCEL_WAIT) != 0;
    if (waits && is_run_of(pool, envelope)) {
        return WEIR_ESTATE;
    }
    if (!weiri_flight_hold(envelope, pool->number)) {
        return WEIR_EBUSY;
    }
    /* Counted before the run is looked for, so that its worker finds it counted (pool/worker.c). */
    weiri_sync_point();
    atomic_fetch_add_explicit(&pool->awaiting, waits, memory_order_relaxed);
    status = cancel_held(pool, envelope, waits, ret_found);
    weiri_sync_point();
    atomic_fetch_sub_explicit(&pool->awaiting, waits, memory_order_relaxed);
    weiri_flight_release(envelope);
    return status;
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/panic.h"
#include "pool/flight.h"
#include "pool/group.h"
#include "pool/pool.h"
#include "queue/close.h"
#include "queue/room.h"

/* Workers wait here until all are there, so that a start that fails has run nothing. False: it
 * failed. */
static bool pass_gate(struct weiri_worker *worker)
{
    weir_pool *pool = worker->pool;
    weiri_mutex_lock(&pool->mutex);
    while (worker->gate == WEIRI_GATE_SHUT) {
        weiri_cond_wait(&pool->changed);
    }
    worker->is_working = worker->gate == WEIRI_GATE_OPEN;
    bool has_passed = worker->is_working;
    weiri_mutex_unlock(&pool->mutex);
    return has_passed;
}

/* What it came to (pool/pool.h). */
static enum weiri_ending run(struct weiri_worker *worker, weir_envelope *envelope, uint64_t ticket)
{
    weiri_context_name_run(&worker->context, ticket, &envelope->cancelled_run);
    return weiri_run(worker, envelope);
}

/* Puts back what was handed out and not begun when a stop came: what that means for it, the sweep
 * decides as of what is queued. False: no stop came, or it was cancelled by now, or there is no
 * memory for it; it is to be run. */
static bool put_back(struct weiri_worker *worker, const struct weir_work *work)
{
    return weiri_scope_is_cancelled(&worker->pool->scope) &&
           weiri_queue_put_back(worker->pool->queue, work,
                                &weiri_envelope_of(work->item)->cancelled_run) == WEIR_OK;
}

/* Whether an envelope that has left with the end of this run was dropped. */
static bool is_dropped(weir_envelope *envelope, enum weiri_ending ending, uint64_t ticket)
{
    weiri_sync_point();
    uint64_t note = atomic_load_explicit(&envelope->cancelled_run, memory_order_relaxed);
    return ending != WEIRI_ENDS || weiri_run_was_robbed(note, ticket);
}

/* The run is over, and all that it led to. Who waits for that said so before it found the envelope
 * processing, so before the done of the run, and is seen here. */
static void end_run(struct weiri_worker *worker)
{
    weir_pool *pool = worker->pool;
    weiri_sync_point();
    atomic_store_explicit(&worker->context.run, 0, memory_order_release);
    weiri_sync_point();
    if (atomic_load_explicit(&pool->awaiting, memory_order_relaxed) > 0) {
        weiri_mutex_lock(&pool->mutex);
        weiri_cond_broadcast(&pool->changed);
        weiri_mutex_unlock(&pool->mutex);
    }
}

/* Works until it is handed nothing more, and says why. An envelope is given back before the worker
 * may sleep: its last reference must not wait for the next envelope to come. */
static enum weir_status work_off(struct weiri_worker *worker, struct weir_work *work)
{
    enum weir_status status = WEIR_OK;
    bool is_surplus = false;
    weiri_reserve_begin(worker);
    while (status == WEIR_OK && !is_surplus && !put_back(worker, work)) {
        weir_envelope *envelope = weiri_envelope_of(work->item);
        uint64_t ticket = work->ticket;
        enum weiri_ending ending = run(worker, envelope, ticket);
        weiri_envelope_note_ending(worker->pool, envelope, ending);
        is_surplus = weiri_reserve_is_due(worker, &worker->pace);
        bool has_left;
        status = is_surplus ? weiri_queue_done_left(worker->pool->queue, work, &has_left)
                            : weiri_queue_done_try_get(worker->pool->queue, work, &has_left);
        WEIRI_ASSERT(status == WEIR_OK || status == WEIR_EAGAIN || status == WEIR_ESHUTDOWN ||
                     status == WEIR_ECANCELED);
        if (has_left) {
            if (is_dropped(envelope, ending, ticket)) {
                weiri_pool_tell_ending(worker->pool, envelope, ending);
            }
            weiri_flight_release(envelope);
        }
        end_run(worker);
    }
    if (is_surplus) {
        weiri_reserve_rest(worker);
    } else {
        weiri_reserve_end(worker);
    }
    return status;
}

void weiri_worker_main(void *arg)
{
    struct weiri_worker *worker = arg;
    if (!pass_gate(worker)) {
        return;
    }
    struct weir_work work;
    weir_queue *queue = worker->pool->queue;
    enum weir_status status;
    do { /* WEIR_ENOMEM too is tried again: a worker that gave up would leave its work undone */
        status = weir_queue_get(queue, &work);
        if (status == WEIR_ESHUTDOWN) {
            /* What the sweep drops may have kept a group waiting, which is queued then. */
            weiri_pool_sweep(worker->pool);
            status = weir_queue_try_get(queue, &work);
        }
        if (status == WEIR_OK && work_off(worker, &work) == WEIR_ECANCELED) {
            status = WEIR_ECANCELED; /* a resize has no use for it any more */
        }
    } while (status != WEIR_ESHUTDOWN && status != WEIR_ECANCELED);
    weiri_reserve_leave(worker);
    weiri_pool_leave(worker->pool, worker);
}

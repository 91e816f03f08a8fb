/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/panic.h"
#include "pool/flight.h"
#include "pool/pool.h"
#include "queue/internal.h"

/* Workers wait here until all are there, so that a start that fails has run nothing. False: it
 * failed. */
static bool pass_gate(struct weiri_worker *worker)
{
    weir_pool *pool = worker->pool;
    weiri_mutex_lock(&pool->mutex);
    while (pool->state == WEIRI_POOL_STARTING) {
        weiri_cond_wait(&pool->changed);
    }
    worker->is_working = pool->state != WEIRI_POOL_ABORTING;
    bool has_passed = worker->is_working;
    weiri_mutex_unlock(&pool->mutex);
    return has_passed;
}

static void leave(struct weiri_worker *worker)
{
    weiri_mutex_lock(&worker->pool->mutex);
    worker->is_working = false;
    weiri_mutex_unlock(&worker->pool->mutex);
}

/* What it came to (pool/pool.h). */
static enum weiri_ending run_or_drop(struct weiri_worker *worker, weir_envelope *envelope,
                                     uint64_t ticket)
{
    weir_pool *pool = worker->pool;
    if (weiri_scope_is_cancelled(&pool->scope)) {
        weiri_pool_count_drop(pool);
        return WEIRI_ENDS_UNRUN;
    }
    weiri_context_name_run(&worker->context, ticket, &envelope->cancelled_run);
    return weiri_run(worker, envelope);
}

/* Works until nothing is queued. An envelope is given back before the worker may sleep: its last
 * reference must not wait for the next envelope to come. */
static void work_off(struct weiri_worker *worker, struct weir_work *work)
{
    enum weir_status status;
    do {
        weir_envelope *envelope = weiri_envelope_of(work->item);
        uint64_t ticket = work->ticket;
        enum weiri_ending ending = run_or_drop(worker, envelope, ticket);
        bool has_left;
        status = weiri_queue_done_try_get(worker->pool->queue, work, &has_left);
        WEIRI_ASSERT(status == WEIR_OK || status == WEIR_EAGAIN || status == WEIR_ESHUTDOWN);
        if (has_left) {
            weiri_pool_tell_ending(worker->pool, envelope, ending, ticket);
            weiri_flight_release(envelope);
        }
    } while (status == WEIR_OK);
}

void weiri_worker_main(void *arg)
{
    struct weiri_worker *worker = arg;
    if (!pass_gate(worker)) {
        return;
    }
    struct weir_work work;
    enum weir_status status;
    do { /* WEIR_ENOMEM too is tried again: a worker that gave up would leave its work undone */
        status = weir_queue_get(worker->pool->queue, &work);
        if (status == WEIR_OK) {
            work_off(worker, &work);
        }
    } while (status != WEIR_ESHUTDOWN);
    leave(worker);
}

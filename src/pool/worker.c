/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A worker: takes envelopes and runs them until it has to leave. */

#include "pool/group.h"
#include "pool/recur.h"
#include "pool/run.h"

/* The envelope is running from here on. */
static void begin_locked(weir_pool *pool, struct weiri_worker *worker, weir_envelope *envelope,
                         int64_t due_ns) WEIRI_POOL_LOCKED
{
    weiri_core_start(&pool->core, &envelope->item, pool->now_ns);
    worker->envelope = envelope;
    worker->ticket = envelope->item.weir_position;
    worker->is_recalled = false;
    worker->lost = 0;
    envelope->worker = worker;
    weiri_context_describe(&worker->context, envelope, weiri_envelope_attempt(envelope), due_ns);
}

bool weiri_worker_take_locked(weir_pool *pool, struct weiri_worker *worker)
{
    while (weiri_pool_hands_out_locked(pool)) {
        weir_envelope *envelope = weiri_group_first_locked(pool);
        if (envelope == NULL) {
            struct weir_item *first = weiri_core_first(&pool->core);
            if (first == NULL) {
                return false;
            }
            envelope = weiri_envelope_of(first);
            if (!weiri_group_admit_locked(pool, envelope)) {
                continue;
            }
        }
        int64_t due_ns = 0;
        weiri_group_unqueue_locked(pool, envelope);
        if (!weiri_envelope_is_periodic(envelope) || weiri_recur_begin(pool, envelope, &due_ns)) {
            begin_locked(pool, worker, envelope, due_ns);
            return true;
        }
        /* It waits for its next firing. */
        weiri_group_free_slot_locked(pool, envelope);
        if (!pool->end.keeps) {
            struct weiri_endings endings;
            weiri_endings_init(&endings);
            weiri_ended_drop_locked(pool, envelope, weiri_pool_drop_reason_locked(pool), &endings);
            weiri_ended_tell_locked(pool, &endings);
        }
    }
    return false;
}

/* Whether the worker has to leave before it takes anything. */
static bool is_dismissed_locked(weir_pool *pool) WEIRI_POOL_LOCKED
{
    if (pool->leavers > 0) {
        pool->leavers--;
        return true;
    }
    return pool->state == WEIR_POOL_STATE_STOPPING && pool->end.mode != WEIR_END_DRAIN;
}

static void work_locked(weir_pool *pool, struct weiri_worker *worker) WEIRI_POOL_LOCKED
{
    while (!is_dismissed_locked(pool)) {
        if (weiri_worker_take_locked(pool, worker)) {
            struct weiri_endings endings;
            weiri_endings_init(&endings);
            endings.run = worker->envelope;
            endings.explanation = worker->context.explanation;
            weiri_run_envelope_locked(pool, worker, &endings);
            weiri_ended_tell_locked(pool, &endings);
            worker->envelope = NULL;
            worker->ticket = 0;
            if (pool->run_observers > 0) {
                weiri_pool_announce_locked(pool);
            }
        } else if (pool->state == WEIR_POOL_STATE_STOPPING) {
            return; /* a drain: envelopes that are queued still wait for a run of their group */
        } else {
            weiri_pool_sleep_locked(pool);
        }
    }
}

void weiri_worker_main(void *arg)
{
    struct weiri_worker *worker = arg;
    weir_pool *pool = worker->pool;
    weiri_pool_lock(pool);
    if (!worker->is_refused) {
        worker->thread_id = weiri_thread_current();
        work_locked(pool, worker);
        worker->thread_id = 0;
        pool->working--;
        weiri_pool_leave_locked(pool);
        /* Not before the log function has returned: it may call what joins the threads that have
         * left, and this is none yet. */
        worker->has_left = true;
    }
    weiri_pool_unlock(pool);
}

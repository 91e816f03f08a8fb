/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Shutdown and drain. */

#include "queue/queue.h"

/* Begins a shutdown, once. The lock call has already queued all due items. */
static void begin_locked(weir_queue *queue) WEIRI_REQUIRES(queue->mutex)
{
    if (!queue->shutting_down) {
        queue->shutting_down = true;
        weiri_sync_point();
        atomic_store_explicit(&queue->coalesces, false, memory_order_relaxed);
        weiri_core_drop_waiting(&queue->core);
        weiri_waiters_wake_all(&queue->consumers);
    }
}

void weir_queue_shutdown(weir_queue *queue)
{
    if (!weiri_queue_is_valid(queue)) {
        return;
    }
    weiri_queue_lock(queue);
    begin_locked(queue);
    queue->shutdowns++;
    weiri_waiters_wake_all(&queue->drains);
    weiri_queue_unlock(queue);
}

enum weir_status weir_queue_shutdown_drain(weir_queue *queue, int64_t timeout_ns)
{
    if (!weiri_queue_is_valid(queue)) {
        return weiri_queue_refusal(queue);
    }
    enum weir_status status = WEIR_OK;
    int64_t limit_ns = weiri_clock_limit(queue->clock, timeout_ns);
    weiri_queue_lock(queue);
    begin_locked(queue);
    uint64_t shutdowns = queue->shutdowns;
    while (status == WEIR_OK && limit_ns != WEIRI_AT_ONCE &&
           queue->core.queued + queue->core.processing > 0) {
        if (queue->shutdowns != shutdowns) {
            status = WEIR_ECANCELED;
        } else if (weiri_clock_is_past(queue->clock, limit_ns)) {
            status = WEIR_ETIMEDOUT;
        } else {
            weiri_queue_sleep_locked(queue, &queue->drains, limit_ns);
        }
    }
    weiri_queue_unlock(queue);
    return status;
}

bool weir_queue_shutting_down(weir_queue *queue)
{
    if (!weiri_queue_is_valid(queue)) {
        return true;
    }
    weiri_queue_lock(queue);
    bool is_shutting_down = queue->shutting_down;
    weiri_queue_unlock(queue);
    return is_shutting_down;
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Shutdown and drain. */

#include "queue/internal.h"

/* Begins a shutdown, once. */
static void begin_locked(weir_queue *queue) WEIRI_REQUIRES(queue->lock)
{
    if (queue->shutting_down) {
        return;
    }
    weiri_queue_pass_time_locked(queue); /* what was due before is still handed out */
    queue->shutting_down = true;
    atomic_store_explicit(&queue->takes_joins, false, memory_order_relaxed);
    weiri_queue_wake_locked(queue, SIZE_MAX);
    weiri_core_drop_waiting(&queue->core);
}

void weir_queue_shutdown(weir_queue *queue)
{
    if (weiri_queue_check(queue) != WEIR_OK) {
        return;
    }
    weiri_queue_lock(queue);
    begin_locked(queue);
    queue->forced++;
    weiri_queue_wake_drains_locked(queue);
    weiri_queue_unlock(queue);
}

enum weir_status weir_queue_shutdown_drain(weir_queue *queue)
{
    return weir_queue_shutdown_drain_until(queue, WEIR_FOREVER);
}

enum weir_status weir_queue_shutdown_drain_until(weir_queue *queue, int64_t limit_ns)
{
    enum weir_status status = weiri_queue_check(queue);
    if (status != WEIR_OK) {
        return status;
    }
    weiri_queue_lock(queue);
    begin_locked(queue);
    uint64_t forced = queue->forced;
    while (status == WEIR_OK && !weiri_queue_is_idle_locked(queue)) {
        if (queue->forced != forced) {
            status = WEIR_ECANCELED;
        } else if (limit_ns != WEIR_FOREVER && weir_clock_now(queue->clock) >= limit_ns) {
            status = WEIR_ETIMEDOUT;
        } else {
            status = weiri_queue_sleep_for_drain_locked(queue, limit_ns);
        }
    }
    weiri_queue_unlock(queue);
    return status;
}

bool weir_queue_shutting_down(weir_queue *queue)
{
    if (weiri_queue_check(queue) != WEIR_OK) {
        return true;
    }
    weiri_queue_lock(queue);
    bool is_shutting_down = queue->shutting_down;
    weiri_queue_unlock(queue);
    return is_shutting_down;
}

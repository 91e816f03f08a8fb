/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Gets and dones. */

#include "queue/queue.h"

/* Starts queued items, at most size. */
static size_t take_locked(weir_queue *queue, struct weir_work *ret_work, size_t size)
    WEIRI_REQUIRES(queue->mutex)
{
    size_t count = 0;
    while (count < size) {
        struct weir_item *item = weiri_core_first(&queue->core);
        if (item == NULL) {
            break;
        }
        weiri_core_start(&queue->core, item, queue->now_ns);
        weiri_core_fill_work(item, &ret_work[count++]);
    }
    return count;
}

/* Gets items. Sleeps until one is queued. Every get goes through here. The clock is read for the
 * limit only where nothing is queued: a reading takes a third of a get. */
static enum weir_status get_locked(weir_queue *queue, int64_t timeout_ns,
                                   struct weir_work *ret_work, size_t size, size_t *ret_count)
    WEIRI_REQUIRES(queue->mutex)
{
    for (int64_t limit_ns = WEIRI_AT_ONCE;;) {
        size_t count = take_locked(queue, ret_work, size);
        if (count > 0) {
            *ret_count = count;
            return WEIR_OK;
        }
        if (queue->shutting_down) {
            return WEIR_ESHUTDOWN;
        }
        if (timeout_ns <= 0) { /* it takes no interrupt */
            return WEIR_ETIMEDOUT;
        }
        if (queue->interrupts > 0) {
            queue->interrupts--;
            return WEIR_ECANCELED;
        }
        if (limit_ns == WEIRI_AT_ONCE) {
            limit_ns = weiri_clock_limit(queue->clock, timeout_ns);
        }
        if (!weiri_clock_is_past(queue->clock, limit_ns)) {
            weiri_queue_sleep_locked(queue, &queue->consumers, limit_ns);
            continue;
        }
        /* An item may have become due since the time was last read. */
        weiri_queue_pass_time_locked(queue);
        if (weiri_core_first(&queue->core) == NULL) {
            return WEIR_ETIMEDOUT;
        }
    }
}

enum weir_status weir_queue_get_batch(weir_queue *queue, int64_t timeout_ns,
                                      struct weir_work *ret_work, size_t size, size_t *ret_count)
{
    if (!weiri_queue_is_valid(queue) || ret_work == NULL || size == 0 || ret_count == NULL) {
        return weiri_queue_refusal(queue);
    }
    weiri_queue_lock(queue);
    enum weir_status status = get_locked(queue, timeout_ns, ret_work, size, ret_count);
    weiri_queue_unlock(queue);
    return status;
}

enum weir_status weir_queue_get(weir_queue *queue, int64_t timeout_ns, struct weir_work *ret_work)
{
    return weir_queue_get_batch(queue, timeout_ns, ret_work, 1, &(size_t){0});
}

enum weir_status weir_queue_interrupt(weir_queue *queue)
{
    if (!weiri_queue_is_valid(queue)) {
        return weiri_queue_refusal(queue);
    }
    weiri_queue_lock(queue);
    queue->interrupts++;
    weiri_queue_unlock(queue);
    return WEIR_OK;
}

/* Every done goes through here. */
static enum weir_status done_locked(weir_queue *queue, const struct weir_work *work)
    WEIRI_REQUIRES(queue->mutex)
{
    struct weir_item *item = weiri_core_find_work(&queue->core, work);
    if (item == NULL) {
        return WEIR_ENOTPROCESSING;
    }
    (void)weiri_core_done(&queue->core, item, queue->now_ns);
    return WEIR_OK;
}

enum weir_status weir_queue_done_batch(weir_queue *queue, const struct weir_work *work,
                                       size_t count)
{
    if (!weiri_queue_is_valid(queue) || (work == NULL && count > 0)) {
        return weiri_queue_refusal(queue);
    }
    enum weir_status status = WEIR_OK;
    weiri_queue_lock(queue);
    for (size_t i = 0; i < count; i++) {
        if (done_locked(queue, &work[i]) != WEIR_OK) {
            status = WEIR_ENOTPROCESSING;
        }
    }
    weiri_queue_unlock(queue);
    return status;
}

enum weir_status weir_queue_done(weir_queue *queue, const struct weir_work *work)
{
    return work == NULL ? weiri_queue_refusal(queue) : weir_queue_done_batch(queue, work, 1);
}

enum weir_status weir_queue_done_get(weir_queue *queue, int64_t timeout_ns, struct weir_work *work)
{
    if (!weiri_queue_is_valid(queue) || work == NULL) {
        return weiri_queue_refusal(queue);
    }
    weiri_queue_lock(queue);
    enum weir_status status = done_locked(queue, work);
    if (status == WEIR_OK) {
        status = get_locked(queue, timeout_ns, work, 1, &(size_t){0});
    }
    weiri_queue_unlock(queue);
    return status;
}

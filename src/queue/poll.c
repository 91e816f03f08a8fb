/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The descriptor that event loops watch. It is a function of the queue's state, brought up to date
 * at each unlock and therefore right whatever the call has changed; the kernel is told of
 * transitions only. That is done with the lock held: two threads that told it of two states after
 * their unlocks might do so in the wrong order, and leave a loop asleep beside work. */

#include "queue/internal.h"

void weiri_queue_show_locked(weir_queue *queue)
{
    int64_t limit_ns = WEIR_FOREVER;
    if (queue->core.delay.count > 0) {
        limit_ns = weiri_clock_wait_limit(queue->clock, weiri_delay_next(&queue->core.delay));
        if (limit_ns == WEIR_FOREVER) {
            /* A manual clock, which the kernel cannot watch: each of its steps comes here. */
            weiri_queue_pass_time_locked(queue);
        }
    }
    bool is_ready = weiri_ready_count(&queue->core.ready) > 0 || queue->shutting_down;
    weiri_event_fd_show(&queue->event_fd, is_ready, limit_ns);
}

static bool find_fd(weir_queue *queue, int *ret_fd)
{
    weiri_queue_lock(queue);
    bool has_fd = queue->has_event_fd;
    if (has_fd) {
        *ret_fd = queue->event_fd.watched;
    }
    weiri_queue_unlock(queue);
    return has_fd;
}

enum weir_status weir_queue_fd(weir_queue *queue, int *ret_fd)
{
    if (weiri_queue_check(queue) != WEIR_OK || ret_fd == NULL) {
        return weiri_queue_refusal(queue);
    }
    if (find_fd(queue, ret_fd)) {
        return WEIR_OK;
    }
    struct weiri_event_fd made;
    enum weir_status status = weiri_event_fd_open(&made);
    if (status != WEIR_OK) {
        return status;
    }
    weiri_queue_lock(queue);
    bool was_first = !queue->has_event_fd;
    if (was_first) {
        queue->event_fd = made;
        queue->has_event_fd = true;
    }
    *ret_fd = queue->event_fd.watched;
    weiri_queue_unlock(queue);
    if (!was_first) {
        weiri_event_fd_close(&made);
    }
    return WEIR_OK;
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The descriptor for event loops. Its readiness is a function of the queue's state, and each unlock
 * updates it. Only transitions cause system calls. They are made with the lock held: two threads
 * that made them after their unlocks might do so in the wrong order, and a loop would sleep
 * although there is work. */

#include "queue/queue.h"

void weiri_queue_show_fd_locked(weir_queue *queue)
{
    /* The kernel cannot watch a manual clock; each of its steps queues what is due. */
    int64_t next_ns = weiri_clock_wait_limit(queue->clock, weiri_core_next_time(&queue->core));
    weiri_event_fd_show(&queue->fd, queue->core.queued > 0 || queue->shutting_down, next_ns);
}

enum weir_status weir_queue_fd(weir_queue *queue, int *ret_fd)
{
    if (!weiri_queue_is_valid(queue) || ret_fd == NULL) {
        return weiri_queue_refusal(queue);
    }
    enum weir_status status = weiri_event_fd_open(&queue->fd, &queue->mutex, ret_fd);
    weiri_queue_lock(queue);
    weiri_queue_unlock(queue); /* it shows the state */
    return status;
}

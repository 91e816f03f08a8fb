/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_QUEUE_H
#define WEIRI_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/queue.h>

#include "base/clock.h"
#include "base/event_fd.h"
#include "base/forked.h"
#include "base/sync.h"
#include "base/waiters.h"
#include "metrics/registry.h"
#include "queue/core.h"

/* The queue's shell around the core: one mutex, one clock, the threads that sleep.
 *
 * Every call that locks has the same steps: check the arguments, lock, queue what is due, change
 * the core, unlock. The unlock does what follows from the state: it wakes a consumer or the drains,
 * and updates the event loop's descriptor.
 *
 * Order of locks: a manual clock's mutex before the queue's (on_step), and a metrics registry's
 * before the queue's (collect). */
struct weir_queue {
    /* Immutable after new. */
    uint64_t process; /* the mark of the process that made it (base/forked.h) */
    weir_clock *clock;
    weir_limiter *limiter;
    weir_limiter *own_limiter; /* NULL: the limiter is the user's */
    size_t key_size_max;
    weir_touch_fn *touch; /* NULL: none */
    void *touch_arg;
    bool reads_clock; /* every call needs the time */
    struct weiri_clock_user clock_user;
    weir_metrics *metrics; /* NULL: none */
    struct weiri_source source;
    char *name;

    /* Whether an add of an item that is queued or dirty changes nothing. Cleared by shutdown, with
     * the mutex held; read without it. */
    atomic_bool coalesces;

    struct weiri_mutex mutex;
    /* Guarded by the mutex. */
    struct weiri_core core WEIRI_GUARDED_BY(mutex);
    struct weiri_queue_sample meter WEIRI_GUARDED_BY(mutex);
    struct weiri_waiters consumers WEIRI_GUARDED_BY(mutex);
    struct weiri_waiters drains WEIRI_GUARDED_BY(mutex);
    size_t interrupts WEIRI_GUARDED_BY(mutex);  /* gets that are to end without an item */
    uint64_t shutdowns WEIRI_GUARDED_BY(mutex); /* plain ones, so far */
    int64_t now_ns WEIRI_GUARDED_BY(mutex);     /* the latest time that a call has seen */
    bool shutting_down WEIRI_GUARDED_BY(mutex);
    struct weiri_event_fd fd WEIRI_GUARDED_BY(mutex); /* open: an event loop uses the queue */
};

/* Whether a caller's queue is one of this process. */
static inline bool weiri_queue_is_valid(const weir_queue *queue)
{
    return queue != NULL && !weiri_forked_since(queue->process);
}

/* The status of a call with a queue that is not valid, or with other bad arguments: WEIR_EFORKED
 * for a parent's queue, else WEIR_EINVAL. */
WEIR_NODISCARD enum weir_status weiri_queue_refusal(const weir_queue *queue);

/* Checks a caller's queue and key. */
WEIR_NODISCARD enum weir_status weiri_queue_check(const weir_queue *queue, struct weir_key key);

/* Locks, and queues what is due. */
void weiri_queue_lock(weir_queue *queue) WEIRI_ACQUIRE(queue->mutex);
/* Queues what is due, after a sleep or at the limit of a get. */
void weiri_queue_pass_time_locked(weir_queue *queue) WEIRI_REQUIRES(queue->mutex);
/* Does what follows from the state, and unlocks. */
void weiri_queue_unlock(weir_queue *queue) WEIRI_RELEASE(queue->mutex);
/* Does the same, sleeps once in the list waiters, locks again and queues what is due. */
void weiri_queue_sleep_locked(weir_queue *queue, struct weiri_waiters *waiters, int64_t limit_ns)
    WEIRI_REQUIRES(queue->mutex);

/* Shows the queue's metrics in a registry, if any, or takes them out again. WEIR_ENOMEM,
 * WEIR_EBUSY (the name is taken), WEIR_EINVAL (it is empty or not UTF-8), WEIR_EFORKED (the
 * registry is another process's). */
WEIR_NODISCARD enum weir_status weiri_queue_publish(weir_queue *queue, weir_metrics *metrics,
                                                    const char *name, struct weir_error *ret_error);
void weiri_queue_unpublish(weir_queue *queue);

/* Updates the event loop's descriptor, which the queue has. */
void weiri_queue_show_fd_locked(weir_queue *queue) WEIRI_REQUIRES(queue->mutex);

#endif

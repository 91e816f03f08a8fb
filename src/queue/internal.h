/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_QUEUE_INTERNAL_H
#define WEIRI_QUEUE_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/queue.h>

#include "base/clock.h"
#include "base/event_fd.h"
#include "base/forked.h"
#include "base/inline.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/park.h"
#include "queue/core.h"

/* The shell around the core: one lock, one clock, the threads that sleep.
 *
 * Sleeping: each thread that sleeps stands in a list with a parker of its own, so that a wake-up
 * goes to one chosen thread, and a burst of adds never wakes a thread twice. Whoever unlocks a
 * queue with something queued sees to it that a consumer is on its way, or awake; one that comes
 * and leaves something behind has the next one called by its own unlock. One of the consumers
 * at most, the timer, sleeps only until the earliest pending time; the others until they are woken.
 * Whoever leaves while times are pending and no timer is left wakes another one, which takes its
 * place. The system calls that end sleeps are collected and made after the unlock.
 *
 * Locks: the queue's lock is taken with the manual clock's held (on_step), never the other way
 * round. */

struct weiri_sleeper {
    struct weiri_list link;
    struct weiri_parker parker;
    bool is_woken; /* taken out of the list by whoever woke it */
};

/* Parkers that were set and whose threads are to be woken. */
#define WEIRI_WAKES_MAX 8
struct weiri_wakes {
    struct weiri_parker *parkers[WEIRI_WAKES_MAX];
    size_t count;
};

struct weiri_groups; /* queue/groups.h */

struct weir_queue {
    /* Immutable after new. */
    uint64_t process; /* the mark of the one that made it (base/forked.h); 0 once it is freed */
    weir_clock *clock;
    weir_limiter *limiter;
    weir_limiter *own_limiter; /* NULL: the limiter is the user's */
    size_t key_size_max;
    size_t calls_at_once; /* consumers that may be on their way */
    weir_touch_fn *touch; /* NULL: none */
    void *touch_arg;
    struct weiri_clock_user clock_user;
    uint32_t mark; /* the core's */

    /* Cleared by shutdown, under the lock. Set: the add of an item that is queued or dirty changes
     * nothing and need not be seen. */
    atomic_bool takes_joins;
    /* Set under the lock, once: what adds of short keys see of the table without it, where the lock
     * is open. NULL: nothing. */
    _Atomic(struct weiri_view *) view;

    struct weiri_lock lock;

    /* Guarded by the lock. */
    struct weiri_core core WEIRI_GUARDED_BY(lock);
    struct weiri_list sleepers
        WEIRI_GUARDED_BY(lock); /* consumers, the latest first: its caches are warm */
    struct weiri_sleeper *timer WEIRI_GUARDED_BY(lock); /* one of them, or NULL */
    struct weiri_list drainers WEIRI_GUARDED_BY(lock);  /* threads that drain */
    struct weiri_list seekers WEIRI_GUARDED_BY(lock);   /* threads that wait for room, in order */
    struct weiri_list watchers WEIRI_GUARDED_BY(lock);  /* threads that wait for a run's end */
    struct weiri_wakes wakes WEIRI_GUARDED_BY(lock);
    size_t called WEIRI_GUARDED_BY(lock); /* consumers that were woken and have not been here yet */
    uint64_t forced WEIRI_GUARDED_BY(lock); /* plain shutdowns so far */
    bool shutting_down WEIRI_GUARDED_BY(lock);
    bool is_gated WEIRI_GUARDED_BY(lock);   /* gets look at the next three before all else */
    bool is_paused WEIRI_GUARDED_BY(lock);  /* what is queued is not handed out for now */
    size_t leavers WEIRI_GUARDED_BY(lock);  /* the next so many gets are told to leave */
    bool is_closed WEIRI_GUARDED_BY(lock);  /* shutting down, but with a way back: queue/close.h */
    bool is_stopped WEIRI_GUARDED_BY(lock); /* closed, and what is queued is not handed out */
    bool keeps WEIRI_GUARDED_BY(lock);      /* closed, and what is left unrun stays */
    bool takes_joins_open WEIRI_GUARDED_BY(lock);       /* takes_joins before it was closed */
    bool has_event_fd WEIRI_GUARDED_BY(lock);           /* somebody asked for it */
    struct weiri_groups *groups WEIRI_GUARDED_BY(lock); /* NULL: none */
    bool has_guests WEIRI_GUARDED_BY(lock); /* seekers or watchers: weiri_queue_serve_locked() */
    uint32_t adds_by_turns WEIRI_GUARDED_BY(lock); /* of keys, while the lock was open */
    bool is_calm WEIRI_GUARDED_BY(lock);           /* as weiri_queue_unlock() found it */
    bool is_plain WEIRI_GUARDED_BY(lock);          /* so are these three */
    bool is_ranked WEIRI_GUARDED_BY(lock);
    bool is_quiet WEIRI_GUARDED_BY(lock);
    struct weiri_event_fd event_fd WEIRI_GUARDED_BY(lock);
};

static inline void weiri_queue_lock(weir_queue *queue) WEIRI_ACQUIRE(queue->lock)
{
    weiri_lock_lock(&queue->lock);
}

/* Lets those seekers and watchers go on whose wait is over (queue/room.c). Every unlock of a queue
 * that has some does it, so that no call that makes room, or ends a run, need know of them. */
void weiri_queue_serve_locked(weir_queue *queue) WEIRI_REQUIRES(queue->lock);
/* A manual clock was stepped: all of them look at their limits. */
void weiri_queue_step_guests_locked(weir_queue *queue) WEIRI_REQUIRES(queue->lock);

/* Sets a parker, and has its thread woken after the unlock. */
void weiri_queue_unpark_locked(weir_queue *queue, struct weiri_parker *parker)
    WEIRI_REQUIRES(queue->lock);

/* Makes the event loop's descriptor show the state of the queue, which has one. */
void weiri_queue_show_locked(weir_queue *queue) WEIRI_REQUIRES(queue->lock);

/* Unlocks. Before, calls consumers for what is queued, and notes whether the queue is calm (nothing
 * waits, nobody sleeps, drains or watches, so that the next unlock will have nothing to do), plain
 * (nothing waits, nobody is to be told of adds, and its core keeps nothing of items but their
 * order, in which they are handed out) and quiet (both), or else ranked (plain, but with
 * priorities, which do not age).
 * That is found out here, by every call but those that only make moves in a calm queue: of all that
 * it depends on they change nothing. Afterwards wakes who was called, here or by the caller. */
void weiri_queue_unlock(weir_queue *queue) WEIRI_RELEASE(queue->lock);

/* The end of a call that found the queue quiet and made nothing but moves. */
static inline void weiri_queue_unlock_quiet(weir_queue *queue) WEIRI_RELEASE(queue->lock)
{
    weiri_lock_unlock(&queue->lock);
}

/* The end of a call that made nothing but moves. */
static inline void weiri_queue_unlock_moved(weir_queue *queue) WEIRI_RELEASE(queue->lock)
{
    if (queue->is_calm) {
        weiri_lock_unlock(&queue->lock);
    } else {
        weiri_queue_unlock(queue);
    }
}

/* Whether what a caller brought is a queue, and of this process. */
static inline bool weiri_queue_is_one(const weir_queue *queue)
{
    return WEIRI_LIKELY(queue != NULL && !weiri_forked_since(queue->process));
}

/* What a call with such a queue, or with other bad arguments, is told: WEIR_EFORKED of a queue of a
 * parent's, else WEIR_EINVAL. */
WEIR_NODISCARD enum weir_status weiri_queue_refusal(const weir_queue *queue);

/* Checks what a caller brought as a queue and as a key. */
WEIR_NODISCARD static inline enum weir_status weiri_queue_check(const weir_queue *queue)
{
    return weiri_queue_is_one(queue) ? WEIR_OK : weiri_queue_refusal(queue);
}

WEIR_NODISCARD static inline enum weir_status weiri_queue_check_key(const weir_queue *queue,
                                                                    struct weir_key key)
{
    if (key.size == WEIR_KEY_ITEM) {
        return weiri_key_is_item(key) ? WEIR_OK : WEIR_EINVAL;
    }
    if (key.size > queue->key_size_max) {
        return WEIR_ETOOBIG;
    }
    return key.data != NULL || key.size == 0 ? WEIR_OK : WEIR_EINVAL;
}

/* Checks both, for a call about one key. */
WEIR_NODISCARD static inline enum weir_status weiri_queue_check_call(const weir_queue *queue,
                                                                     struct weir_key key)
{
    enum weir_status status = weiri_queue_check(queue);
    return status == WEIR_OK ? weiri_queue_check_key(queue, key) : status;
}

/* Whether an add comes to nothing because it joins an earlier one, as can be seen without the lock:
 * the item is queued or dirty, so that a processing will come that began after this look. What the
 * caller did before the add is seen by it, if the caller may look (weiri_lock_may_look). */
static inline bool weiri_queue_takes_join(const weir_queue *queue, const struct weir_item *item)
{
    return weiri_item_joins(item, queue->mark) &&
           atomic_load_explicit(&queue->takes_joins, memory_order_relaxed);
}

/* The same, with the question whether the caller may look. To ask that takes a fence, so there is a
 * look before, whose answer is only a hint. */
static inline bool weiri_queue_joins(weir_queue *queue, const struct weir_item *item)
{
    return weiri_queue_takes_join(queue, item) && weiri_lock_may_look(&queue->lock) &&
           weiri_item_joins(item, queue->mark);
}

/* To be called by adds of keys that may look no further than the lock. Has those that follow look
 * at the table without it (queue/view.h) where that can pay: threads share the lock, and one in so
 * many adds, asked here, joins. For lack of memory they go on as they do. */
void weiri_queue_show_table_locked(weir_queue *queue, struct weir_key key)
    WEIRI_REQUIRES(queue->lock);

/* What every call passes and hardly any needs is inline up to the question whether it is needed. */
void weiri_queue_pass_time_slow_locked(weir_queue *queue) WEIRI_REQUIRES(queue->lock);
/* The same for a caller who has read the clock, before it took the lock: returns the time to go by,
 * which is later where another thread has brought a later one meanwhile. */
int64_t weiri_queue_pass_time_to_locked(weir_queue *queue, int64_t now_ns)
    WEIRI_REQUIRES(queue->lock);
void weiri_queue_wake_slow_locked(weir_queue *queue, size_t count) WEIRI_REQUIRES(queue->lock);

/* Queues what is due, so that what is added or gotten next finds it in its order. In a queue with
 * metrics or aging this is where each call reads the clock, once. In one with groups it is where
 * the head of what is queued is made one that may be handed out. */
static inline void weiri_queue_pass_time_locked(weir_queue *queue) WEIRI_REQUIRES(queue->lock)
{
    if ((queue->core.delay.count | (uintptr_t)queue->core.meter | (uintptr_t)queue->groups |
         (uint64_t)queue->core.ready.ranks.aging_ns) != 0) {
        weiri_queue_pass_time_slow_locked(queue);
    }
}

/* Wakes up to count sleeping consumers, those first that are not the timer. */
static inline void weiri_queue_wake_locked(weir_queue *queue, size_t count)
    WEIRI_REQUIRES(queue->lock)
{
    if (count > 0 && !weiri_list_is_empty(&queue->sleepers)) {
        weiri_queue_wake_slow_locked(queue, count);
    }
}

/* Wakes whoever must learn that the earliest pending time has changed. */
void weiri_queue_wake_timer_locked(weir_queue *queue) WEIRI_REQUIRES(queue->lock);

/* To be called by a consumer that leaves: sees to it that pending times have their timer. */
static inline void weiri_queue_hand_over_timer_locked(weir_queue *queue) WEIRI_REQUIRES(queue->lock)
{
    if (queue->core.delay.count > 0 && queue->timer == NULL) {
        weiri_queue_wake_locked(queue, 1);
    }
}

/* Both let the lock go while they sleep, until woken or until the clock may show limit_ns (a
 * consumer also until something may be due), or for no reason. WEIR_ENOMEM: could not sleep. */
WEIR_NODISCARD enum weir_status weiri_queue_sleep_locked(weir_queue *queue, int64_t limit_ns)
    WEIRI_REQUIRES(queue->lock);
WEIR_NODISCARD enum weir_status weiri_queue_sleep_for_drain_locked(weir_queue *queue,
                                                                   int64_t limit_ns)
    WEIRI_REQUIRES(queue->lock);
/* Wakes all drains, to look again. */
void weiri_queue_wake_drains_locked(weir_queue *queue) WEIRI_REQUIRES(queue->lock);

/* Nothing is queued or processing. */
static inline bool weiri_queue_is_idle_locked(const weir_queue *queue) WEIRI_REQUIRES(queue->lock)
{
    return weiri_ready_count(&queue->core.ready) == 0 &&
           weiri_running_count(&queue->core.running) + queue->core.aside == 0;
}

/* Whether somebody's wait for the end of what is processed may be over. */
static inline bool weiri_queue_is_drained_locked(const weir_queue *queue)
    WEIRI_REQUIRES(queue->lock)
{
    return (queue->shutting_down && weiri_queue_is_idle_locked(queue)) ||
           (queue->is_paused && weiri_running_count(&queue->core.running) == 0);
}

/* To be called after a change that may have made the queue idle. */
static inline void weiri_queue_tell_drains_locked(weir_queue *queue) WEIRI_REQUIRES(queue->lock)
{
    if (weiri_queue_is_drained_locked(queue)) {
        weiri_queue_wake_drains_locked(queue);
    }
}

/* Gives the queue, which is new, a meter, and a name in a registry (NULL: in none). WEIR_ENOMEM,
 * WEIR_EBUSY (the name is taken), WEIR_EINVAL (it is not UTF-8): it has none. */
WEIR_NODISCARD enum weir_status weiri_queue_measure(weir_queue *queue, weir_metrics *metrics,
                                                    const char *name);
/* Takes it out of its registry, if it is in one; then it has no meter any more. */
void weiri_queue_unmeasure(weir_queue *queue);

/* Whether this get is one of those that are told to leave (queue/close.h). */
bool weiri_queue_leave_locked(weir_queue *queue) WEIRI_REQUIRES(queue->lock);

/* What the pool needs beyond weir/queue.h: it hangs its capacity and its references on the two
 * moments at which an item comes to be held by the queue (queued, waiting or processing) and is
 * held no more. */

/* Bounds the items held: the add of a free item past it fails with WEIR_EFULL. To be called before
 * first use. */
void weiri_queue_set_capacity(weir_queue *queue, size_t capacity);

/* weir_queue_add_after(); *ret_entered, on WEIR_OK: the item was free before. Refusals in this
 * order: WEIR_ESHUTDOWN, WEIR_EFULL, WEIR_ENOMEM. */
WEIR_NODISCARD enum weir_status weiri_queue_send(weir_queue *queue, struct weir_item *item,
                                                 int64_t delay_ns, bool *ret_entered);

/* weir_queue_done(); *ret_left: the item is free now. */
WEIR_NODISCARD enum weir_status weiri_queue_done_left(weir_queue *queue,
                                                      const struct weir_work *work, bool *ret_left);

/* weiri_queue_done_left() of work and weir_queue_try_get() into it under one lock. WEIR_EAGAIN,
 * WEIR_ESHUTDOWN: it is done, and work is as it was. *ret_left tells of the item that was done,
 * whatever was gotten. */
WEIR_NODISCARD enum weir_status weiri_queue_done_try_get(weir_queue *queue, struct weir_work *work,
                                                         bool *ret_left);

/* weir_queue_count(), and how many items are held, at one moment. */
WEIR_NODISCARD enum weir_status weiri_queue_count_held(weir_queue *queue,
                                                       struct weir_queue_counts *ret_counts,
                                                       size_t *ret_held);

#endif

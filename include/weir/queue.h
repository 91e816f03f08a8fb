/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_QUEUE_H
#define WEIR_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/allocator.h>
#include <weir/clock.h>
#include <weir/duration.h>
#include <weir/export.h>
#include <weir/key.h>
#include <weir/limiter.h>
#include <weir/metrics.h>
#include <weir/status.h>

WEIR_BEGIN_DECLS

/** @file
 * A de-duplicating work queue with delays, for the threads of one process. The semantics are those
 * of client-go's util/workqueue; where weir differs, the call says so.
 *
 * An item has a place (enum weir_place in weir/key.h): idle, queued, processing, or
 * processing-and-dirty (added again meanwhile). Independently of that it may be waiting for one
 * time. Items named by bytes and embedded ones may share a queue, and for both this holds:
 *
 * - An item is never processed by two consumers at once.
 * - An add that returned before get handed the item out is covered by that processing, and the
 *   consumer sees what the caller wrote before the add. An add after it causes another processing.
 * - Items come out first in, first out. In a queue with priorities the most urgent item comes
 *   first, and equals first in, first out. Waiting items become queued in order of their times,
 *   those of equal times in order of their adds, and never early.
 * - An item counts as queued from the moment at which it became due, however late a call sees it.
 * - Only an add can fail for lack of memory. Get, done and the passing of time cannot.
 *
 * Threads: every function is thread-safe except weir_queue_free(). None calls back into the
 * caller's code with a lock held, except the allocator (weir/allocator.h). Only get, get_batch,
 * done_get and shutdown_drain block, for timeout_ns of the queue's clock at most: not with 0 or
 * less, without a limit with WEIR_FOREVER. An event loop watches weir_queue_fd() instead.
 *
 * Few sleeping consumers are woken at once, and each that leaves queued items wakes the next one.
 * If the kernel does not schedule a woken consumer, queued items wait although others sleep: give
 * all consumers of a queue the same priority.
 *
 * The mutex of a queue is not fair: a thread that calls in a loop may get it many times before one
 * that waits for it. Items that become due at one moment are queued by one call, in one hold of the
 * mutex, and every other call waits meanwhile: a million take half a second and more. A program
 * that has so many spreads their times.
 *
 * An add coalesces with an earlier one if it causes no processing of its own, because the one that
 * was asked earlier is still to come: an add at once, where the item is queued or
 * processing-and-dirty; an add for a time, where the item waits and keeps its pending time. An add
 * that coalesces may still raise the item's priority, and one at once that supersedes takes the
 * pending time away.
 *
 * Times are readings of the queue's clock. Keys, arrays and options are borrowed during the call;
 * the queue copies the bytes of the keys that it keeps. struct weir_key says which keys are
 * refused. A call that fails has changed nothing, its results neither, unless it says so.
 *
 * After fork() the child cannot use the parent's queues: each call that returns a status is
 * WEIR_EFORKED, they count as empty and as shut down, and weir_queue_free() does nothing. It may
 * make queues of its own. It can use an embedded item that a parent's queue holds with them, after
 * weir_item_init(). */

/** A queue. Opaque. */
typedef struct weir_queue weir_queue;

/** Flags of struct weir_queue_options. */
enum weir_queue_flags {
    /** Items are handed out in order of (priority, arrival), not of arrival alone. */
    WEIR_QUEUE_PRIORITIES = 1,
    /** Every add at once takes the item's pending time away, as with WEIR_ADD_SUPERSEDE. */
    WEIR_QUEUE_SUPERSEDE = 2,
    /** Keeps the ages of items for snapshots and look-ups (weir/snapshot.h). Each call then reads
     * the clock once. A queue with metrics does so anyway. */
    WEIR_QUEUE_AGES = 4
};

/** Called after an add at once of an item that is queued already, which changed nothing but, at
 * most, its priority and, where it supersedes, its pending time; not for a time that passes, nor
 * for an item that is processing. key is what the caller of the add passed. From client-go's
 * Queue.Touch. Called on the thread that adds, before its call returns, with no lock held: once for
 * each such add, and in a batch once for each such key, in their order. The item may have been
 * handed out by then. It may call everything on the queue but weir_queue_free(). */
typedef void weir_touch_fn(struct weir_key key, void *arg);

/** What a queue is made with. Zero means the default of every field. */
struct weir_queue_options {
    struct weir_allocator allocator; /**< Copied; all members NULL: libc's. */
    weir_clock *clock;               /**< Borrowed until free; NULL: weir_clock_monotonic(). */
    weir_limiter *limiter; /**< Borrowed until free, for add_rate_limited; NULL: an exponential one
                                of the queue's own, 5 ms to 1000 s. */
    size_t key_size_max;   /**< Largest key of bytes; 0: 65536; at most WEIR_KEY_SIZE_LIMIT. */
    const char *name;      /**< Copied; UTF-8. The queue's name in metrics; required there. */
    weir_metrics *metrics; /**< Borrowed until free: where the queue shows its metrics, under its
                                name. NULL: it keeps none. */
    uint32_t flags;        /**< Of enum weir_queue_flags. */
    int64_t aging_ns; /**< With WEIR_QUEUE_PRIORITIES: a queued item becomes more urgent by one each
                           time this has passed, so that none is passed over for ever. Each call
                           then reads the clock once. 0: never. */
    weir_touch_fn *touch; /**< NULL: none. */
    void *touch_arg;      /**< Passed to touch; borrowed until free. */
};

/** An item that a consumer is processing, as get fills it. Plain data: it may be copied. */
struct weir_work {
    struct weir_key
        key; /**< The bytes (the queue's own copy, readable until done), or the address. */
    struct weir_item *item; /**< The embedded item; NULL where the item is named by bytes. */
    uint64_t ticket;        /**< Number of this processing, rising with every get of the queue. */
    uint64_t weir_record;   /**< The queue's. */
    int32_t priority;       /**< What it was handed out with; 0 in a queue without priorities. */
};

/** Flags of struct weir_add_options. */
enum weir_add_flags {
    /** A pending time is replaced by the new one, earlier or later; with delay_ns <= 0 it is taken
     * away, and the item added at once. */
    WEIR_ADD_MOVE = 1,
    /** Only with delay_ns <= 0: also takes away the item's pending time, as WEIR_ADD_MOVE. */
    WEIR_ADD_SUPERSEDE = 2,
    /** As weir_queue_add_rate_limited(), but not before delay_ns has passed: the longer of delay_ns
     * and the limiter's delay counts. Not with WEIR_ADD_SUPERSEDE, nor in a batch. */
    WEIR_ADD_RATE_LIMITED = 4
};

/** How to add. Zero means the default of every field. */
struct weir_add_options {
    int64_t delay_ns; /**< As weir_queue_add_after(). */
    uint32_t flags;   /**< Of enum weir_add_flags. */
    int32_t priority; /**< Smaller is more urgent; 0 is usual, and the priority of the calls without
                           options. See weir_queue_add_with(). */
};

/** What an add did. The numbers are part of the ABI. */
enum weir_added {
    WEIR_ADDED_NEW = 1,      /**< It causes a processing, or changed when one comes. */
    WEIR_ADDED_COALESCED = 2 /**< It coalesced with an earlier add. */
};

/** Makes an empty queue. options may be NULL. Returns owned: weir_queue_free(). Errors: WEIR_EINVAL
 * (allocator, key_size_max over its limit, an unknown flag, aging without priorities, metrics
 * without a name or with one that is not UTF-8), WEIR_ERANGE (aging_ns negative), WEIR_EBUSY (a
 * queue of that name is in the registry already), WEIR_EFORKED (the clock or registry is of another
 * process), WEIR_ENOMEM. */
WEIR_API WEIR_NODISCARD enum weir_status weir_queue_new(const struct weir_queue_options *options,
                                                        weir_queue **ret_queue,
                                                        struct weir_error *ret_error);

/** Frees a queue and drops what is in it; embedded items become idle. Takes NULL. No other thread
 * may be in a call on it; embedded items that are not idle must still exist. */
WEIR_API void weir_queue_free(weir_queue *queue);

/** Adds an item: idle becomes queued at the tail, and a sleeping consumer is woken unless enough
 * are on their way; queued and processing-and-dirty stay as they are; processing becomes
 * processing-and-dirty. A pending time stays, but in a queue with WEIR_QUEUE_SUPERSEDE. Errors:
 * WEIR_ESHUTDOWN, WEIR_EINVAL, WEIR_ETOOBIG (key), WEIR_ENOMEM, WEIR_EBUSY (an embedded item that
 * another queue holds). */
WEIR_API WEIR_NODISCARD enum weir_status weir_queue_add(weir_queue *queue, struct weir_key key);

/** Adds an item once delay_ns has passed; at once where delay_ns <= 0. Of two pending times the
 * earlier is kept. A delay past the end of time waits until then. Errors as weir_queue_add(). */
WEIR_API WEIR_NODISCARD enum weir_status weir_queue_add_after(weir_queue *queue,
                                                              struct weir_key key,
                                                              int64_t delay_ns);

/** Adds an item as options (not NULL) say. ret_added (may be NULL) receives what the add did.
 *
 * Of several priorities asked for before an item is handed out the most urgent counts. Where the
 * queue has priorities and the item is
 * - queued: a more urgent priority moves it up, to where it would stand had it come with that one
 *   in the first place (its arrival and age stay); a less urgent one changes nothing;
 * - processing: done queues it with the most urgent priority that was asked meanwhile;
 * - waiting: its time comes with the most urgent priority that was asked for that time. An add that
 *   takes the time away takes over its priority, where that is the more urgent one.
 *
 * A rate-limited add of an item that is processing is at least as urgent as that processing.
 *
 * Errors as weir_queue_add_after(), with WEIR_ADD_RATE_LIMITED as weir_queue_add_rate_limited();
 * WEIR_EINVAL also for unknown flags, WEIR_ADD_SUPERSEDE with a delay or a limiter, and a priority
 * other than 0 in a queue without priorities. */
WEIR_API WEIR_NODISCARD enum weir_status weir_queue_add_with(weir_queue *queue, struct weir_key key,
                                                             const struct weir_add_options *options,
                                                             enum weir_added *ret_added);

/** Adds the item after the delay that the queue's limiter gives it, and counts one more failure.
 * The delay begins when the limiter is asked. An item that is processing keeps its priority. Errors
 * as weir_queue_add(), and those of the limiter. Then the failure is not counted either, unless the
 * limiter is the user's and has no undo (weir/limiter.h). */
WEIR_API WEIR_NODISCARD enum weir_status weir_queue_add_rate_limited(weir_queue *queue,
                                                                     struct weir_key key);

/** Adds count items under one lock, all as options (may be NULL) say: all, or on an error none.
 * count 0 is allowed, keys may be NULL then. Errors as weir_queue_add_with(); WEIR_EINVAL also for
 * WEIR_ADD_RATE_LIMITED. */
WEIR_API WEIR_NODISCARD enum weir_status weir_queue_add_batch(
    weir_queue *queue, const struct weir_key *keys, size_t count,
    const struct weir_add_options *options);

/** Clears the limiter's record of an item, whatever its place. Does not imply done. Works after
 * shutdown too. Errors: WEIR_EINVAL, WEIR_ETOOBIG (key). */
WEIR_API enum weir_status weir_queue_forget(weir_queue *queue, struct weir_key key);

/** How often the limiter was asked for the item since it was forgotten last; 0 if it was not.
 * Errors: WEIR_EINVAL, WEIR_ETOOBIG (key). */
WEIR_API WEIR_NODISCARD enum weir_status weir_queue_num_requeues(weir_queue *queue,
                                                                 struct weir_key key,
                                                                 uint64_t *ret_count);

/** Takes an item out that is queued or waiting; one that is processing only loses its dirty mark
 * and its wait. ret_taken (may be NULL) tells whether there was one. Works after shutdown too.
 * Errors: WEIR_EINVAL, WEIR_ETOOBIG, WEIR_EBUSY (an embedded item that another queue holds). */
WEIR_API enum weir_status weir_queue_cancel(weir_queue *queue, struct weir_key key,
                                            bool *ret_taken);

/** Hands out the item at the head, which becomes processing; waits for one while nothing is queued.
 * The consumer must call weir_queue_done() for it. Errors: WEIR_ETIMEDOUT (nothing is queued, and
 * the time has passed or is 0), WEIR_ESHUTDOWN (shut down, and nothing is queued), WEIR_ECANCELED
 * (weir_queue_interrupt()), WEIR_EINVAL. After WEIR_ESHUTDOWN an item may still come while others
 * are processing, since the done of a dirty item queues it again. A consumer that gets again after
 * its own last done leaves nothing behind; one whose handlers end elsewhere (in other threads, in
 * an event loop) gets after each of their dones. */
WEIR_API WEIR_NODISCARD enum weir_status weir_queue_get(weir_queue *queue, int64_t timeout_ns,
                                                        struct weir_work *ret_work);

/** As weir_queue_get(), for up to size items at once: waits until there is one, then takes what is
 * there. ret_count receives how many. Errors as weir_queue_get(); WEIR_EINVAL also for size 0. */
WEIR_API WEIR_NODISCARD enum weir_status weir_queue_get_batch(weir_queue *queue, int64_t timeout_ns,
                                                              struct weir_work *ret_work,
                                                              size_t size, size_t *ret_count);

/** Ends one blocked get, of whichever consumer, with WEIR_ECANCELED; where none blocks, the next
 * one that would block. Several calls end as many gets. For a consumer that is to leave without a
 * shutdown. Gets that find something queued and those with a timeout of 0 are not ended; one whose
 * time has just passed is. Errors: WEIR_EINVAL. */
WEIR_API enum weir_status weir_queue_interrupt(weir_queue *queue);

/** Ends a processing: the item becomes idle, or queued at the tail where it is dirty. Errors:
 * WEIR_ENOTPROCESSING (this processing has ended before, or work is none of the queue's),
 * WEIR_EINVAL. An embedded item that work names must exist, also where its processing has ended.
 * Works after shutdown. */
WEIR_API enum weir_status weir_queue_done(weir_queue *queue, const struct weir_work *work);

/** weir_queue_done() of work and weir_queue_get() into it under one lock, for a consumer's loop.
 * Errors: WEIR_ENOTPROCESSING, WEIR_EINVAL, as weir_queue_done(): nothing was done. WEIR_ETIMEDOUT,
 * WEIR_ESHUTDOWN, WEIR_ECANCELED, as weir_queue_get(): the item is done, work is as it was. */
WEIR_API WEIR_NODISCARD enum weir_status weir_queue_done_get(weir_queue *queue, int64_t timeout_ns,
                                                             struct weir_work *work);

/** weir_queue_done() of count items under one lock. count 0 is allowed, work may be NULL then.
 * Errors: WEIR_ENOTPROCESSING (at least one was not being processed; the others are done all the
 * same), WEIR_EINVAL. */
WEIR_API enum weir_status weir_queue_done_batch(weir_queue *queue, const struct weir_work *work,
                                                size_t count);

/** Counts of a queue's items at one moment. Due waiting items count as queued. */
struct weir_queue_counts {
    size_t queued;     /**< Ready to be handed out. */
    size_t waiting;    /**< With a pending time, whatever their place. */
    size_t processing; /**< Handed out and not done. */
    uint64_t dropped;  /**< Pending times that shutdown dropped, ever. */
};

/** Reads all counts under one lock. Errors: WEIR_EINVAL. */
WEIR_API WEIR_NODISCARD enum weir_status weir_queue_count(weir_queue *queue,
                                                          struct weir_queue_counts *ret_counts);

/** Count of queued items, due waiting ones included; 0 for NULL. */
WEIR_API size_t weir_queue_len(weir_queue *queue);

/** Stops accepting adds (WEIR_ESHUTDOWN) and drops all pending times, which are counted. Queued
 * items are still handed out, then every get is WEIR_ESHUTDOWN. A drain under way returns at once.
 * Does not block; may be called again. A queue that was shut down stays so. Takes NULL. */
WEIR_API void weir_queue_shutdown(weir_queue *queue);

/** As weir_queue_shutdown(), and waits until nothing is queued or processing any more, items that
 * done queued again included. Needs consumers that go on getting. Several threads may drain; all
 * return. With a timeout of 0 it is WEIR_OK at once, whatever is left. Errors: WEIR_ETIMEDOUT (the
 * time has passed, and not all is done: weir_queue_snapshot() in weir/snapshot.h names what is
 * left), WEIR_ECANCELED (weir_queue_shutdown() was called meanwhile, with items left; one that came
 * before does not end a drain), WEIR_EINVAL. The queue stays shut down. */
WEIR_API enum weir_status weir_queue_shutdown_drain(weir_queue *queue, int64_t timeout_ns);

/** True once shutdown or a drain has begun, and for NULL. */
WEIR_API bool weir_queue_shutting_down(weir_queue *queue);

/** The queue's descriptor for event loops (poll, select, epoll; level-triggered). It is readable
 * while something is queued; once the queue is shut down, for ever; and once the earliest pending
 * time has come, until a call on the queue has queued the item. A loop then calls weir_queue_get()
 * with a timeout of 0 until that returns WEIR_ETIMEDOUT. That may be the first answer: another
 * thread was faster, or the item that became due is processing. WEIR_ESHUTDOWN tells the loop to
 * stop watching, and to get after each done that is still to come (weir_queue_get()).
 *
 * The first call makes the descriptor, and every later call returns the same one. The queue owns
 * it: only watch it, and take it out of the loop before weir_queue_free(), which closes it. exec
 * closes it too. From the first call on the queue makes a system call when it becomes empty, when
 * it becomes empty no more, and when the earliest pending time changes while nothing is queued.
 * Threads may get from the queue as well.
 *
 * Errors: WEIR_EINVAL, WEIR_ENOMEM, WEIR_EIO (such as no descriptors left; it takes three); then it
 * may be called again. */
WEIR_API WEIR_NODISCARD enum weir_status weir_queue_fd(weir_queue *queue, int *ret_fd);

WEIR_END_DECLS

#endif

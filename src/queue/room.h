/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_ROOM_H
#define WEIRI_ROOM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "queue/internal.h"

/* What the pool does to its queue when there is no room, and what it takes out again. All items are
 * embedded ones; "room" is what the capacity leaves (weiri_queue_set_capacity).
 *
 * A seeker, who waits for room, is not woken to try again: whoever makes room adds its items on its
 * behalf, in the same hold of the lock, and then wakes it. So nobody gets in between, seekers are
 * served in the order in which they came, and there is never room beside a seeker that it would be
 * enough for. While there are seekers all other adds of free items are refused. */

/* Notes outside of the queue what became of an item in it. With the lock held, so that whoever is
 * handed the item next finds it noted; must be short. */
typedef void weiri_added_fn(struct weir_item *item, int64_t time_ns);
typedef void weiri_taken_fn(struct weir_item *item);

/* Items to be sent, all or none. */
struct weiri_entry {
    const struct weir_key *keys; /* of embedded items; borrowed until the call returns */
    bool *entered;               /* receives of each, on WEIR_OK: it was free, and is held now */
    size_t count;
    int64_t delay_ns; /* for a count of 1 only */
    bool comes_back;  /* it is being processed: a closed queue that keeps takes it too */
    bool *joined; /* NULL, or receives, on WEIR_OK: the last of them comes no earlier for this */
    weiri_added_fn *added; /* NULL, or called for one that is to wait, once it is added */
};

/* weiri_queue_send() of an item at once, by the short way where the queue is quiet. */
WEIR_NODISCARD enum weir_status weiri_queue_send_now(weir_queue *queue, struct weir_item *item,
                                                     bool *ret_entered);

/* WEIR_ESHUTDOWN, WEIR_EFULL, WEIR_ENOMEM, WEIR_EBUSY (another queue holds one): nothing changed.
 */
WEIR_NODISCARD enum weir_status weiri_queue_enter(weir_queue *queue,
                                                  const struct weiri_entry *entry);

/* The same, but waits for room until the queue's clock shows limit_ns: WEIR_ETIMEDOUT in place of
 * WEIR_EFULL, which is left for more items than the capacity, and for anything if limit_ns is
 * INT64_MIN. A shutdown ends the wait (WEIR_ESHUTDOWN). A delay begins with the call. */
WEIR_NODISCARD enum weir_status weiri_queue_enter_until(weir_queue *queue,
                                                        const struct weiri_entry *entry,
                                                        int64_t limit_ns);

/* What was taken out of the queue. */
struct weiri_recalled {
    struct weir_item *item; /* it was held, and is free now; else NULL */
    unsigned pending;       /* runs that were asked for: a queued or dirty place, a pending time */
    uint64_t run;           /* the ticket of the processing under way; 0: none */
};

/* weiri_queue_enter() for one item, but makes room by taking out the item that has been queued
 * longest, with its pending time. WEIR_EFULL: nothing is queued. */
WEIR_NODISCARD enum weir_status weiri_queue_enter_displacing(weir_queue *queue,
                                                             const struct weiri_entry *entry,
                                                             struct weiri_recalled *ret_displaced);

/* What is noted of a cancelled processing: its ticket, and with this bit, which no ticket has, that
 * something was taken away which was to come after it. */
#define WEIRI_RUN_ROBBED (UINT64_C(1) << 63)

static inline bool weiri_run_is_noted(uint64_t note, uint64_t run)
{
    return (note & ~WEIRI_RUN_ROBBED) == run;
}

static inline bool weiri_run_was_robbed(uint64_t note, uint64_t run)
{
    return note == (run | WEIRI_RUN_ROBBED);
}

/* Takes an item's place in the queue, dirty mark and pending time away, and notes in
 * *cancelled_run, where it is processing, that this was cancelled; or neither notes it nor calls
 * taken, where they are NULL. The caller has a hold of its flight. */
void weiri_queue_recall(weir_queue *queue, struct weir_item *item, _Atomic uint64_t *cancelled_run,
                        weiri_taken_fn *taken, struct weiri_recalled *ret_recalled);

/* Returns once the processing of this ticket has ended. The caller has a hold of the item's flight.
 */
WEIR_NODISCARD enum weir_status weiri_queue_await_end(weir_queue *queue,
                                                      const struct weir_item *item, uint64_t run);

/* weiri_queue_send() of an item by whoever is processing it, and has just read the queue's clock:
 * now_ns, from which the delay is counted. *ret_joined: somebody has sent it for as early a time,
 * or an earlier one, and nothing changed. WEIR_ECANCELED: *cancelled_run (NULL: that does not
 * matter) says that this very processing was cancelled, and nothing changed. */
WEIR_NODISCARD enum weir_status weiri_queue_send_again(weir_queue *queue, struct weir_item *item,
                                                       int64_t now_ns, int64_t delay_ns,
                                                       const _Atomic uint64_t *cancelled_run,
                                                       bool *ret_joined);

/* Between room.c and recall.c. Notes whether there are guests, after one came or went. */
void weiri_queue_note_guests_locked(weir_queue *queue) WEIRI_REQUIRES(queue->lock);
/* Lets watchers go on whose processing has ended. */
void weiri_queue_serve_watchers_locked(weir_queue *queue) WEIRI_REQUIRES(queue->lock);
/* Takes an item of this queue out, but for a processing under way. */
void weiri_queue_take_out_locked(weir_queue *queue, struct weir_item *item,
                                 struct weiri_recalled *ret_recalled) WEIRI_REQUIRES(queue->lock);

#endif

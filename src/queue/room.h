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

/* Items to be sent, all or none. */
struct weiri_entry {
    const struct weir_key *keys; /* of embedded items; borrowed until the call returns */
    bool *entered;               /* receives of each, on WEIR_OK: it was free, and is held now */
    size_t count;
    int64_t delay_ns; /* for a count of 1 only */
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

/* The same for one item, but makes room by taking out the item that has been queued longest, with
 * its pending time: *ret_displaced, else NULL. WEIR_EFULL: nothing is queued. */
WEIR_NODISCARD enum weir_status weiri_queue_enter_displacing(weir_queue *queue,
                                                             const struct weiri_entry *entry,
                                                             struct weir_item **ret_displaced);

#endif

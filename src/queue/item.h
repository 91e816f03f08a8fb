/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_ITEM_H
#define WEIRI_ITEM_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/key.h>

#include "base/sync.h"

/* The record of an item, struct weir_item: its whole state in a queue. It is embedded in the
 * caller's object, or in a keyed record (queue/core.c).
 *
 *   weir_word        the core that holds the item, and in the low bits its place; 0: no core does
 *   weir_wait        1 + its index in the heap of waiting items; 0: it does not wait
 *   weir_record      its number in the table of keyed items, from 1; 0: it is embedded
 *   weir_priority    processing: the priority it was started with
 *   weir_asked       dirty: the priority for its next run
 *   weir_position    queued: its position in the ring, or its index in the heap of ready items;
 *                    processing: its ticket
 *   weir_next, weir_previous   processing: its neighbours in the list of processing items
 *   weir_queued_ns   queued: when it was queued; dirty: when it became dirty
 *   weir_running_ns  processing: when it was started
 *
 * Place and wait are independent. Zeroed memory is an idle item that does not wait: a free one.
 * weir_word is changed under the core's lock. An add of an embedded item reads it without the lock,
 * and may write the same value back (weiri_item_coalesces()). All else is guarded by that lock. */

#define WEIRI_PLACE_BITS ((uintptr_t)3)

/* Acquire: a thread that finds the item free sees all that the last queue wrote to it. */
static inline uintptr_t weiri_item_word(const struct weir_item *item)
{
    return __atomic_load_n(&item->weir_word, __ATOMIC_ACQUIRE);
}

static inline enum weir_place weiri_item_place(const struct weir_item *item)
{
    return (enum weir_place)(weiri_item_word(item) & WEIRI_PLACE_BITS);
}

static inline bool weiri_item_is_processing(const struct weir_item *item)
{
    return (weiri_item_word(item) & WEIR_PLACE_PROCESSING) != 0;
}

/* True if no queue holds the item. */
static inline bool weiri_item_is_free(const struct weir_item *item)
{
    return weiri_item_word(item) == 0;
}

/* Whether the word is that of an item which is queued or dirty in the core: an add of it would
 * change nothing. */
static inline bool weiri_word_is_pending(uintptr_t word, const void *core)
{
    return word == ((uintptr_t)core | WEIR_PLACE_QUEUED) ||
           word == ((uintptr_t)core | WEIR_PLACE_DIRTY);
}

/* The lock-free read of an add: whether the embedded item is queued or dirty in the core, so that
 * the add is coalesced.
 *
 * What the caller wrote before must be visible to the run that covers the add. The compare and swap
 * writes the word that it found (release). The next write of the word is weiri_item_exchange()
 * (acquire), or another such compare and swap: while an item is queued or dirty nothing else writes
 * its word. So an exchange after this write reads from it, or from a chain of read-modify-writes
 * that begins with it; and this write fails after an exchange. A plain store of the same value
 * would break that chain. */
static inline bool weiri_item_coalesces(struct weir_item *item, const void *core)
{
    weiri_sync_point();
    uintptr_t word = __atomic_load_n(&item->weir_word, __ATOMIC_RELAXED);
    if (!weiri_word_is_pending(word, core)) {
        return false;
    }
    weiri_sync_point();
    return __atomic_compare_exchange_n(&item->weir_word, &word, word, false, __ATOMIC_RELEASE,
                                       __ATOMIC_RELAXED);
}

/* Changes the place of an item that is idle or processing. The core holds it from then on. */
static inline void weiri_item_set(struct weir_item *item, const void *core, enum weir_place place)
{
    weiri_sync_point();
    __atomic_store_n(&item->weir_word, (uintptr_t)core | (uintptr_t)place, __ATOMIC_RELEASE);
}

/* Changes the place of an item that is queued or dirty: the exchange that pairs with
 * weiri_item_coalesces(). It also releases, for adds that coalesce in the next place. */
static inline void weiri_item_exchange(struct weir_item *item, const void *core,
                                       enum weir_place place)
{
    weiri_sync_point();
    (void)__atomic_exchange_n(&item->weir_word, (uintptr_t)core | (uintptr_t)place,
                              __ATOMIC_ACQ_REL);
}

/* Makes the item free. An embedded one may belong to another queue at once, or be gone: this is the
 * last access. */
static inline void weiri_item_free(struct weir_item *item)
{
    weiri_sync_point();
    __atomic_store_n(&item->weir_word, 0, __ATOMIC_RELEASE);
}

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_ITEM_H
#define WEIRI_ITEM_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/key.h>

#include "base/inline.h"

/* The one record of an item: struct weir_item, embedded in the caller's object or in a keyed record
 * (queue/table.h). Everything the queue knows of an item is read off it:
 *
 * weir_place     where it is (below), and the mark of the queue that holds it; 0: no queue does
 * weir_wait      its slot in the delay structure; 0: not waiting
 * weir_position  queued: its position in the ready ring, or index in the heap that a queue with
 * priorities has instead; processing: the ticket it was handed out
 * under weir_slot      keyed: 1 + its index in the table's records; 0: embedded
 * weir_running   processing: its index in the running array; queued: its stamp, in a queue with
 * metrics (queue/meter.h); else 0
 *
 * Place and wait are independent. Zeroed memory is an idle item that does not wait: a free one. An
 * item that is not free has the mark of its queue, so that a glance tells it from one that another
 * queue holds. weir_place is changed under the queue's lock and may be looked at without it; the
 * rest is the lock's. */
enum weiri_place {
    WEIRI_IDLE = 0,
    WEIRI_QUEUED = 1,
    WEIRI_PROCESSING = 2,
    WEIRI_DIRTY = 3 /* processing, and added again meanwhile */
};

/* The bits of weir_place that hold the place; the others are the mark. */
#define WEIRI_PLACE_BITS 3u
#define WEIRI_MARK_SHIFT 2

/* Place and wait are read one by one: a load of both at once would have to wait for a store to one
 * of them, which is what most calls have just made. */
static inline uint32_t weiri_item_word(const struct weir_item *item)
{
    return __atomic_load_n(&item->weir_place, __ATOMIC_RELAXED);
}

static inline enum weiri_place weiri_item_place(const struct weir_item *item)
{
    return (enum weiri_place)(weiri_item_word(item) & WEIRI_PLACE_BITS);
}

/* A release, for who looks at a keyed item without the lock (queue/view.h). */
static inline void weiri_item_set(struct weir_item *item, uint32_t mark, enum weiri_place place)
{
    __atomic_store_n(&item->weir_place, mark | (uint32_t)place, __ATOMIC_RELEASE);
}

/* Makes the item free. An embedded one may be another queue's at once, and then be gone: this is
 * the last that its queue does to it, and the release goes with the acquire of who finds it free.
 */
static inline void weiri_item_free(struct weir_item *item)
{
    __atomic_store_n(&item->weir_place, 0, __ATOMIC_RELEASE);
}

/* Takes the item's place away; it stays the queue's while it waits, and else is free. */
static inline void weiri_item_rest(struct weir_item *item, uint32_t mark)
{
    if (item->weir_wait != 0) {
        weiri_item_set(item, mark, WEIRI_IDLE);
    } else {
        weiri_item_free(item);
    }
}

static inline bool weiri_item_is_processing(const struct weir_item *item)
{
    return (weiri_item_word(item) & WEIRI_PROCESSING) != 0;
}

/* Known to no queue. */
static inline bool weiri_item_is_free(const struct weir_item *item)
{
    return weiri_item_word(item) == 0;
}

/* The word for who may take the item where it is free: what another queue did to it is done. */
static inline uint32_t weiri_item_word_to_take(const struct weir_item *item)
{
    return __atomic_load_n(&item->weir_place, __ATOMIC_ACQUIRE);
}

/* Held by the queue of another mark, as an embedded item may be by a mistake of its owner. False:
 * the caller may take it. */
static inline bool weiri_item_is_elsewhere(const struct weir_item *item, uint32_t mark)
{
    uint32_t word = weiri_item_word_to_take(item);
    return !WEIRI_LIKELY(word == 0 || (word & ~WEIRI_PLACE_BITS) == mark);
}

/* Whether that is the word of an item that is queued or dirty in the queue of this mark. */
static inline bool weiri_word_joins(uint32_t word, uint32_t mark)
{
    return (word | WEIRI_PROCESSING) == (mark | WEIRI_DIRTY);
}

/* Whether an add would find the item queued or dirty in the queue of this mark, and leave it so. */
static inline bool weiri_item_joins(const struct weir_item *item, uint32_t mark)
{
    return weiri_word_joins(weiri_item_word(item), mark);
}

/* Whether it is processing, dirty or not, in the queue of this mark. */
static inline bool weiri_item_is_held(const struct weir_item *item, uint32_t mark)
{
    return (weiri_item_word(item) | WEIRI_QUEUED) == (mark | WEIRI_DIRTY);
}

/* Whether a key is that of an embedded item, and a valid one. */
static inline bool weiri_key_is_item(struct weir_key key)
{
    return key.size == WEIR_KEY_ITEM && WEIRI_LIKELY(key.data != NULL) &&
           WEIRI_LIKELY((uintptr_t)key.data % _Alignof(struct weir_item) == 0);
}

static inline bool weiri_item_is_keyed(const struct weir_item *item)
{
    return item->weir_slot != 0;
}

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_ITEM_H
#define WEIRI_ITEM_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/key.h>

/* The one record of an item: struct weir_item, embedded in the caller's object or in a keyed record
 * (queue/table.h). Everything the queue knows of an item is read off it:
 *
 * weir_place     where it is (below)
 * weir_wait      its slot in the delay structure; 0: not waiting
 * weir_position  queued: its position in the ready ring, or index in the heap that a queue with
 * priorities has instead; processing: the ticket it was handed out
 * under weir_slot      keyed: 1 + its index in the table's records; 0: embedded
 * weir_running   processing: its index in the running array; queued: its stamp, in a queue with
 * metrics (queue/meter.h); else 0
 *
 * Place and wait are independent. Zeroed memory is an idle item that does not wait. */
enum weiri_place {
    WEIRI_IDLE = 0,
    WEIRI_QUEUED,
    WEIRI_PROCESSING,
    WEIRI_DIRTY /* processing, and added again meanwhile */
};

/* Place and wait are read one by one: a load of both at once would have to wait for a store to one
 * of them, which is what most calls have just made. */
static inline enum weiri_place weiri_item_place(const struct weir_item *item)
{
    return (enum weiri_place)__atomic_load_n(&item->weir_place, __ATOMIC_RELAXED);
}

static inline void weiri_item_set_place(struct weir_item *item, enum weiri_place place)
{
    __atomic_store_n(&item->weir_place, (uint32_t)place, __ATOMIC_RELAXED);
}

static inline bool weiri_item_is_processing(const struct weir_item *item)
{
    enum weiri_place place = weiri_item_place(item);
    return place == WEIRI_PROCESSING || place == WEIRI_DIRTY;
}

/* Known to the queue in no way. */
static inline bool weiri_item_is_free(const struct weir_item *item)
{
    return weiri_item_place(item) == WEIRI_IDLE && item->weir_wait == 0;
}

static inline bool weiri_item_is_keyed(const struct weir_item *item)
{
    return item->weir_slot != 0;
}

#endif

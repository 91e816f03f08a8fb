/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_ASKS_H
#define WEIRI_ASKS_H

#include <stddef.h>
#include <stdint.h>

#include <weir/status.h>

#include "base/alloc.h"
#include "queue/item.h"

/* The priorities asked for items that are not queued yet: of a dirty item, for when it is done, and
 * of a waiting one, for when its time comes. They have no room in struct weir_item, which holds the
 * ticket and the indices then; so they lie beside it, in a hash table by the item's address.
 *
 * Only what was asked for with another priority than 0 is here. Such asks come from an add, which
 * may fail, and reserves their room; nothing here fails afterwards. Zeroed memory is an empty
 * table. */
enum weiri_ask_kind {
    WEIRI_ASK_DIRTY,
    WEIRI_ASK_WAITING
};

struct weiri_ask {
    const struct weir_item *item; /* NULL: empty */
    int32_t priorities[2];        /* by kind; 0: none, or usual, which is the same */
};

struct weiri_asks {
    struct weiri_ask *slots;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
};

/* Makes room for one more item. WEIR_ENOMEM: nothing changed. */
WEIR_NODISCARD enum weir_status weiri_asks_reserve(struct weiri_asks *asks,
                                                   const struct weir_allocator *allocator);
void weiri_asks_fini(struct weiri_asks *asks, const struct weir_allocator *allocator);

/* 0 where nothing was asked. */
int32_t weiri_asks_get(const struct weiri_asks *asks, const struct weir_item *item,
                       enum weiri_ask_kind kind);
/* Where priority is not 0 and the item has no other ask, room must be reserved, or have been left
 * by an ask that was just taken. */
void weiri_asks_set(struct weiri_asks *asks, const struct weir_allocator *allocator,
                    const struct weir_item *item, enum weiri_ask_kind kind, int32_t priority);

/* Reads and forgets what was asked. */
static inline int32_t weiri_asks_take(struct weiri_asks *asks,
                                      const struct weir_allocator *allocator,
                                      const struct weir_item *item, enum weiri_ask_kind kind)
{
    if (asks->count == 0) {
        return 0;
    }
    int32_t priority = weiri_asks_get(asks, item, kind);
    weiri_asks_set(asks, allocator, item, kind, 0);
    return priority;
}

#endif

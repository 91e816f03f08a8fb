/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_RING_H
#define WEIRI_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "queue/item.h"

/* Items in order of arrival: a ring of pointers. Positions count up for ever; the slot of a
 * position is its low bits. An item knows its position, so that a cancel finds it; it leaves an
 * empty slot behind, which the pop that comes to it skips. */
struct weiri_ring {
    struct weir_item **slots;
    size_t capacity; /* a power of two, or 0 */
    uint64_t head;   /* the first position in use; none is in use where tail equals it */
    uint64_t tail;   /* the first position that is free */
    size_t count;    /* items; the other positions between head and tail are empty slots */
};

/* Makes the capacity at least count. WEIR_ENOMEM: nothing changed. */
WEIR_NODISCARD enum weir_status weiri_ring_reserve(struct weiri_ring *ring,
                                                   const struct weir_allocator *allocator,
                                                   size_t count);
/* Shrinks a capacity that is sparse (weiri_is_sparse) with count items. */
void weiri_ring_shrink(struct weiri_ring *ring, const struct weir_allocator *allocator,
                       size_t count);
void weiri_ring_fini(struct weiri_ring *ring, const struct weir_allocator *allocator);

/* Makes a free slot at the tail. All positions are in use, and some of their slots are empty. If
 * few are empty, the ring grows where memory allows, so that alternating cancels and adds do not
 * move all items each time. */
void weiri_ring_make_slot(struct weiri_ring *ring, const struct weir_allocator *allocator);

/* The next five are inline: an add and a get go through them, and calls cost 4 ns of 50. */

static inline struct weir_item **weiri_ring_slot(const struct weiri_ring *ring, uint64_t position)
{
    return &ring->slots[position & (ring->capacity - 1)];
}

/* Puts an item at the tail. The capacity is more than the count. */
static inline void weiri_ring_push(struct weiri_ring *ring, const struct weir_allocator *allocator,
                                   struct weir_item *item)
{
    if (ring->tail - ring->head == ring->capacity) {
        weiri_ring_make_slot(ring, allocator);
    }
    item->weir_position = ring->tail;
    *weiri_ring_slot(ring, ring->tail++) = item;
    ring->count++;
}

static inline void weiri_ring_remove(struct weiri_ring *ring, const struct weir_item *item)
{
    *weiri_ring_slot(ring, item->weir_position) = NULL;
    ring->head += item->weir_position == ring->head;
    ring->count--;
}

/* The item at the head; NULL: there is none. Prefetches an item that follows soon: in a long queue
 * it is no longer in the cache. */
static inline struct weir_item *weiri_ring_first(struct weiri_ring *ring)
{
    if (ring->count == 0) {
        ring->head = ring->tail;
        return NULL;
    }
    while (*weiri_ring_slot(ring, ring->head) == NULL) {
        ring->head++;
    }
    __builtin_prefetch(*weiri_ring_slot(ring, ring->head + 8), 1);
    return *weiri_ring_slot(ring, ring->head);
}

/* The item so many positions behind the head; NULL: none is there. */
static inline struct weir_item *weiri_ring_behind(const struct weiri_ring *ring, uint64_t distance)
{
    return distance < ring->tail - ring->head ? *weiri_ring_slot(ring, ring->head + distance)
                                              : NULL;
}

/* The first item at or after *position, which becomes the position behind it; NULL: there is none.
 * Begins with the position head. */
struct weir_item *weiri_ring_next(const struct weiri_ring *ring, uint64_t *position);

#endif

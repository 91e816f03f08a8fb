/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_RING_H
#define WEIRI_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/status.h>

#include "base/alloc.h"
#include "base/panic.h"
#include "queue/item.h"

/* The ready items in order: an array of pointers used as a ring, because walking a list costs a
 * cache miss an item where an array costs none. Positions count up for ever; an item's place in the
 * array is its position modulo the capacity. An item taken out of the middle leaves a hole that pop
 * skips.
 *
 * Capacity is reserved when an obligation to queue an item arises, so that a push never fails. */
#define WEIRI_RING_CAPACITY_MIN 64

struct weiri_ring {
    struct weir_item **slots; /* NULL: a hole; meaningless outside head to tail */
    size_t capacity;          /* a power of two, or 0 */
    uint64_t head;            /* position of the oldest slot in use */
    uint64_t tail;            /* position the next push takes */
    size_t holes;             /* between head and tail */
};

static inline size_t weiri_ring_count(const struct weiri_ring *ring)
{
    return (size_t)(ring->tail - ring->head) - ring->holes;
}

/* Whether weiri_ring_put() may be called so many times. */
static inline bool weiri_ring_has_room(const struct weiri_ring *ring, size_t count)
{
    return ring->tail - ring->head + count <= ring->capacity;
}

/* Makes room for count items in all. WEIR_ENOMEM: nothing changed. */
WEIR_NODISCARD enum weir_status weiri_ring_reserve(struct weiri_ring *ring,
                                                   const struct weir_allocator *allocator,
                                                   size_t count);
void weiri_ring_trim_slow(struct weiri_ring *ring, const struct weir_allocator *allocator,
                          size_t count);
void weiri_ring_fini(struct weiri_ring *ring, const struct weir_allocator *allocator);
/* Closes the holes. */
void weiri_ring_compact(struct weiri_ring *ring);

/* weiri_ring_push() where holes are not in its way. */
static inline void weiri_ring_put(struct weiri_ring *ring, struct weir_item *item)
{
    item->weir_position = ring->tail;
    ring->slots[ring->tail & (ring->capacity - 1)] = item;
    ring->tail++;
}

static inline void weiri_ring_push(struct weiri_ring *ring, struct weir_item *item)
{
    if (ring->tail - ring->head == ring->capacity) {
        WEIRI_ASSERT(ring->holes > 0);
        weiri_ring_compact(ring);
    }
    weiri_ring_put(ring, item);
}

/* As push, but to be popped next. */
static inline void weiri_ring_push_front(struct weiri_ring *ring, struct weir_item *item)
{
    if (ring->tail - ring->head == ring->capacity) {
        WEIRI_ASSERT(ring->holes > 0);
        weiri_ring_compact(ring);
    }
    ring->head--;
    item->weir_position = ring->head;
    ring->slots[ring->head & (ring->capacity - 1)] = item;
}

/* Gives memory back where count items would leave most of it unused; keeps it where that fails. */
static inline void weiri_ring_trim(struct weiri_ring *ring, const struct weir_allocator *allocator,
                                   size_t count)
{
    if (count < ring->capacity / 8 && ring->capacity > WEIRI_RING_CAPACITY_MIN) {
        weiri_ring_trim_slow(ring, allocator, count);
    }
}

/* The oldest item, or NULL. */
static inline struct weir_item *weiri_ring_pop(struct weiri_ring *ring)
{
    while (ring->head != ring->tail) {
        struct weir_item *item = ring->slots[ring->head++ & (ring->capacity - 1)];
        if (item != NULL) {
            return item;
        }
        ring->holes--;
    }
    return NULL;
}

/* The item that is so many places behind the head, less than from there to the tail; NULL: a hole.
 */
static inline struct weir_item *weiri_ring_at(const struct weiri_ring *ring, size_t places)
{
    return ring->slots[(ring->head + places) & (ring->capacity - 1)];
}

/* The item at a position or after it, which the position passes; NULL when there is none. Starting
 * with head, it walks the items in order. */
static inline struct weir_item *weiri_ring_from(const struct weiri_ring *ring, uint64_t *position)
{
    while (*position != ring->tail) {
        struct weir_item *item = ring->slots[(*position)++ & (ring->capacity - 1)];
        if (item != NULL) {
            return item;
        }
    }
    return NULL;
}

/* Takes out an item that is in the ring. */
static inline void weiri_ring_remove(struct weiri_ring *ring, const struct weir_item *item)
{
    struct weir_item **slot = &ring->slots[item->weir_position & (ring->capacity - 1)];
    WEIRI_ASSERT(*slot == item);
    *slot = NULL;
    ring->holes++;
    /* Holes at the end are no holes: an item that comes and goes leaves nothing to close. */
    while (ring->tail != ring->head &&
           ring->slots[(ring->tail - 1) & (ring->capacity - 1)] == NULL) {
        ring->tail--;
        ring->holes--;
    }
}

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/ring.h"

/* Moves all items to the front of the span in use, over its empty slots. */
static void compact(struct weiri_ring *ring)
{
    uint64_t to = ring->head;
    for (uint64_t from = ring->head; from != ring->tail; from++) {
        struct weir_item *item = *weiri_ring_slot(ring, from);
        if (item != NULL) {
            item->weir_position = to;
            *weiri_ring_slot(ring, to++) = item;
        }
    }
    ring->tail = to;
}

/* The span in use fits into the capacity. Positions stay as they are. */
static enum weir_status resize(struct weiri_ring *ring, const struct weir_allocator *allocator,
                               size_t capacity)
{
    struct weir_item **slots = weiri_alloc_array(allocator, capacity, sizeof(*slots));
    if (slots == NULL) {
        return WEIR_ENOMEM;
    }
    for (uint64_t at = ring->head; at != ring->tail; at++) {
        slots[at & (capacity - 1)] = *weiri_ring_slot(ring, at);
    }
    weiri_release(allocator, ring->slots, ring->capacity * sizeof(*slots));
    ring->slots = slots;
    ring->capacity = capacity;
    return WEIR_OK;
}

enum weir_status weiri_ring_reserve(struct weiri_ring *ring, const struct weir_allocator *allocator,
                                    size_t count)
{
    if (count <= ring->capacity) {
        return WEIR_OK;
    }
    if (count > SIZE_MAX / 4) {
        return WEIR_ENOMEM;
    }
    size_t capacity = ring->capacity == 0 ? WEIRI_CAPACITY_MIN : ring->capacity;
    while (capacity < count) {
        capacity *= 2;
    }
    return resize(ring, allocator, capacity);
}

void weiri_ring_shrink(struct weiri_ring *ring, const struct weir_allocator *allocator,
                       size_t count)
{
    size_t capacity = ring->capacity;
    while (weiri_is_sparse(capacity, count)) {
        capacity /= 2;
    }
    if (ring->tail - ring->head > capacity) {
        compact(ring);
    }
    (void)resize(ring, allocator, capacity); /* without memory it stays as large as it is */
}

void weiri_ring_fini(struct weiri_ring *ring, const struct weir_allocator *allocator)
{
    weiri_release(allocator, ring->slots, ring->capacity * sizeof(struct weir_item *));
    *ring = (struct weiri_ring){.slots = NULL};
}

void weiri_ring_make_slot(struct weiri_ring *ring, const struct weir_allocator *allocator)
{
    size_t empty = ring->capacity - ring->count;
    if (empty >= ring->capacity / 8 || resize(ring, allocator, ring->capacity * 2) != WEIR_OK) {
        compact(ring);
    }
}

struct weir_item *weiri_ring_next(const struct weiri_ring *ring, uint64_t *position)
{
    while (*position != ring->tail) {
        struct weir_item *item = *weiri_ring_slot(ring, (*position)++);
        if (item != NULL) {
            return item;
        }
    }
    return NULL;
}

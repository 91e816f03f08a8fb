/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/ring.h"

#include <stdint.h>

/* Moves the items in order to the front of an array that has room for them. */
static void copy_to(struct weiri_ring *ring, struct weir_item **slots, size_t capacity)
{
    uint64_t at = 0;
    for (uint64_t from = ring->head; from != ring->tail; from++) {
        struct weir_item *item = ring->slots[from & (ring->capacity - 1)];
        if (item != NULL) {
            item->weir_position = at;
            slots[at++] = item;
        }
    }
    WEIRI_ASSERT(at == weiri_ring_count(ring) && at <= capacity);
    ring->head = 0;
    ring->tail = at;
    ring->holes = 0;
}

static enum weir_status change_capacity(struct weiri_ring *ring,
                                        const struct weir_allocator *allocator, size_t capacity)
{
    struct weir_item **slots = weiri_alloc_zero(allocator, capacity, sizeof(struct weir_item *));
    if (slots == NULL) {
        return WEIR_ENOMEM;
    }
    copy_to(ring, slots, capacity);
    weiri_release(allocator, ring->slots, ring->capacity * sizeof(struct weir_item *));
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
    size_t capacity = ring->capacity == 0 ? WEIRI_RING_CAPACITY_MIN : ring->capacity;
    while (capacity < count) {
        if (capacity > SIZE_MAX / 2) {
            return WEIR_ENOMEM;
        }
        capacity *= 2;
    }
    return change_capacity(ring, allocator, capacity);
}

void weiri_ring_trim_slow(struct weiri_ring *ring, const struct weir_allocator *allocator,
                          size_t count)
{
    size_t capacity = ring->capacity;
    while (capacity > WEIRI_RING_CAPACITY_MIN && count < capacity / 4) {
        capacity /= 2;
    }
    (void)change_capacity(ring, allocator, capacity);
}

void weiri_ring_compact(struct weiri_ring *ring)
{
    uint64_t at = ring->head;
    for (uint64_t from = ring->head; from != ring->tail; from++) {
        struct weir_item *item = ring->slots[from & (ring->capacity - 1)];
        ring->slots[from & (ring->capacity - 1)] = NULL;
        if (item != NULL) {
            item->weir_position = at;
            ring->slots[at & (ring->capacity - 1)] = item;
            at++;
        }
    }
    ring->tail = at;
    ring->holes = 0;
}

void weiri_ring_fini(struct weiri_ring *ring, const struct weir_allocator *allocator)
{
    weiri_release(allocator, ring->slots, ring->capacity * sizeof(struct weir_item *));
    *ring = (struct weiri_ring){0};
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/ring.h"

#include <stdint.h>
#include <string.h>

/* Moves what lies at its position modulo one capacity to where another wants it: up to two runs,
 * which end where the position is a multiple of the smaller capacity. No slot that is still to be
 * read is written, for of the positions with the same place modulo the smaller capacity the ring
 * holds one. So what was there before stays where it was, too. */
static void move_slots(struct weir_item **slots, const struct weiri_ring *ring, size_t capacity)
{
    size_t smaller = capacity < ring->capacity ? capacity : ring->capacity;
    uint64_t at = ring->head;
    while (at != ring->tail) {
        size_t run = smaller - (size_t)(at & (smaller - 1));
        run = ring->tail - at < run ? (size_t)(ring->tail - at) : run;
        size_t from = (size_t)(at & (ring->capacity - 1));
        size_t to = (size_t)(at & (capacity - 1));
        if (from != to) {
            memcpy(&slots[to], &slots[from], run * sizeof(struct weir_item *));
        }
        at += run;
    }
}

/* The items keep their positions, and are not touched. */
static enum weir_status grow(struct weiri_ring *ring, const struct weir_allocator *allocator,
                             size_t capacity)
{
    struct weir_item **slots =
        weiri_resize(allocator, ring->slots, ring->capacity, capacity, sizeof(struct weir_item *));
    if (slots == NULL) {
        return WEIR_ENOMEM;
    }
    move_slots(slots, ring, capacity);
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
    return grow(ring, allocator, capacity);
}

void weiri_ring_trim_slow(struct weiri_ring *ring, const struct weir_allocator *allocator,
                          size_t count)
{
    size_t capacity = ring->capacity;
    while (capacity > WEIRI_RING_CAPACITY_MIN && count < capacity / 4) {
        capacity /= 2;
    }
    WEIRI_ASSERT(weiri_ring_count(ring) <= capacity);
    if (ring->tail - ring->head > capacity) {
        weiri_ring_compact(ring);
    }
    move_slots(ring->slots, ring, capacity);
    struct weir_item **slots =
        weiri_resize(allocator, ring->slots, ring->capacity, capacity, sizeof(struct weir_item *));
    if (slots != NULL) {
        ring->slots = slots;
        ring->capacity = capacity;
    }
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

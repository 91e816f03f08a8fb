/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_HEAP_H
#define WEIRI_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "queue/item.h"

/* A heap of items with four children a node. An item knows its index, so that it can be moved or
 * removed without a search. There are two in a core:
 *
 * - the waiting items, by their pending times, then by arrival;
 * - the ready items of a queue with priorities, by priority * step + time, then by arrival. With
 *   aging, step is the time in which an item gains one priority, and time is when it was queued.
 *   All items gain alike, so the order of two items never changes. Without, step is 1 and all times
 *   are 0. */
struct weiri_heap_entry {
    int64_t time_ns;
    uint64_t arrival;
    struct weir_item *item;
    int32_t priority; /* of a waiting item: its priority once it is queued */
};

struct weiri_heap {
    struct weiri_heap_entry *entries;
    size_t count;
    size_t capacity;
    uint64_t arrivals; /* so far */
    int64_t step;      /* 0: the heap of waiting items */
};

/* Makes the capacity at least count. WEIR_ENOMEM: nothing changed. */
WEIR_NODISCARD enum weir_status weiri_heap_reserve(struct weiri_heap *heap,
                                                   const struct weir_allocator *allocator,
                                                   size_t count);
/* Shrinks a capacity that is sparse (weiri_is_sparse) with count items. */
void weiri_heap_shrink(struct weiri_heap *heap, const struct weir_allocator *allocator,
                       size_t count);
void weiri_heap_fini(struct weiri_heap *heap, const struct weir_allocator *allocator);

/* The capacity is more than the count. */
void weiri_heap_push(struct weiri_heap *heap, struct weir_item *item, int64_t time_ns,
                     int32_t priority);

/* The entry of an item that is in the heap; valid until the next change. */
struct weiri_heap_entry *weiri_heap_entry(const struct weiri_heap *heap,
                                          const struct weir_item *item);

/* Changes an item's time, as if the item had been pushed now. */
void weiri_heap_set_time(struct weiri_heap *heap, const struct weir_item *item, int64_t time_ns);
/* Changes an item's priority; its arrival stays. */
void weiri_heap_set_priority(struct weiri_heap *heap, const struct weir_item *item,
                             int32_t priority);
void weiri_heap_remove(struct weiri_heap *heap, struct weir_item *item);

/* Puts the entries in order. */
void weiri_heap_sort(struct weiri_heap *heap);

#endif

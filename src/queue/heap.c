/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/heap.h"

#define CHILDREN 4u

__extension__ typedef __int128 wide; /* priority * step + time takes up to 96 bits */

static wide rank_of(const struct weiri_heap *heap, const struct weiri_heap_entry *entry)
{
    return (wide)entry->priority * heap->step + entry->time_ns;
}

static bool is_before(const struct weiri_heap *heap, const struct weiri_heap_entry *a,
                      const struct weiri_heap_entry *b)
{
    if (heap->step == 0) {
        return a->time_ns < b->time_ns || (a->time_ns == b->time_ns && a->arrival < b->arrival);
    }
    wide rank_a = rank_of(heap, a);
    wide rank_b = rank_of(heap, b);
    return rank_a < rank_b || (rank_a == rank_b && a->arrival < b->arrival);
}

static size_t index_of(const struct weiri_heap *heap, const struct weir_item *item)
{
    return heap->step == 0 ? item->weir_wait - 1 : (size_t)item->weir_position;
}

static void place(struct weiri_heap *heap, size_t index, struct weiri_heap_entry entry)
{
    heap->entries[index] = entry;
    if (heap->step == 0) {
        entry.item->weir_wait = (uint32_t)index + 1;
    } else {
        entry.item->weir_position = index;
    }
}

static void sift_up(struct weiri_heap *heap, size_t index, struct weiri_heap_entry entry)
{
    while (index > 0) {
        size_t parent = (index - 1) / CHILDREN;
        if (!is_before(heap, &entry, &heap->entries[parent])) {
            break;
        }
        place(heap, index, heap->entries[parent]);
        index = parent;
    }
    place(heap, index, entry);
}

static void sift_down(struct weiri_heap *heap, size_t index, struct weiri_heap_entry entry)
{
    for (;;) {
        size_t child = index * CHILDREN + 1;
        if (child >= heap->count) {
            break;
        }
        size_t end = child + CHILDREN < heap->count ? child + CHILDREN : heap->count;
        size_t least = child;
        while (++child < end) {
            if (is_before(heap, &heap->entries[child], &heap->entries[least])) {
                least = child;
            }
        }
        if (!is_before(heap, &heap->entries[least], &entry)) {
            break;
        }
        place(heap, index, heap->entries[least]);
        index = least;
    }
    place(heap, index, entry);
}

/* Puts an entry where it belongs, starting at an index. */
static void sift(struct weiri_heap *heap, size_t index, struct weiri_heap_entry entry)
{
    if (index > 0 && is_before(heap, &entry, &heap->entries[(index - 1) / CHILDREN])) {
        sift_up(heap, index, entry);
    } else {
        sift_down(heap, index, entry);
    }
}

static enum weir_status resize(struct weiri_heap *heap, const struct weir_allocator *allocator,
                               size_t capacity)
{
    struct weiri_heap_entry *entries =
        weiri_resize(allocator, heap->entries, heap->capacity, capacity, sizeof(*entries));
    if (entries == NULL) {
        return WEIR_ENOMEM;
    }
    heap->entries = entries;
    heap->capacity = capacity;
    return WEIR_OK;
}

enum weir_status weiri_heap_reserve(struct weiri_heap *heap, const struct weir_allocator *allocator,
                                    size_t count)
{
    if (count <= heap->capacity) {
        return WEIR_OK;
    }
    if (count > UINT32_MAX / 2) { /* an item keeps 32 bits of its index */
        return WEIR_ENOMEM;
    }
    size_t capacity = heap->capacity == 0 ? WEIRI_CAPACITY_MIN : heap->capacity;
    while (capacity < count) {
        capacity *= 2;
    }
    return resize(heap, allocator, capacity);
}

void weiri_heap_shrink(struct weiri_heap *heap, const struct weir_allocator *allocator,
                       size_t count)
{
    size_t capacity = heap->capacity;
    while (weiri_is_sparse(capacity, count)) {
        capacity /= 2;
    }
    (void)resize(heap, allocator, capacity); /* without memory it stays as large as it is */
}

void weiri_heap_fini(struct weiri_heap *heap, const struct weir_allocator *allocator)
{
    weiri_release(allocator, heap->entries, heap->capacity * sizeof(*heap->entries));
    *heap = (struct weiri_heap){.step = heap->step};
}

void weiri_heap_push(struct weiri_heap *heap, struct weir_item *item, int64_t time_ns,
                     int32_t priority)
{
    struct weiri_heap_entry entry = {time_ns, heap->arrivals++, item, priority};
    sift_up(heap, heap->count++, entry);
}

struct weiri_heap_entry *weiri_heap_entry(const struct weiri_heap *heap,
                                          const struct weir_item *item)
{
    return &heap->entries[index_of(heap, item)];
}

void weiri_heap_set_time(struct weiri_heap *heap, const struct weir_item *item, int64_t time_ns)
{
    struct weiri_heap_entry entry = *weiri_heap_entry(heap, item);
    entry.time_ns = time_ns;
    entry.arrival = heap->arrivals++;
    sift(heap, index_of(heap, item), entry);
}

void weiri_heap_set_priority(struct weiri_heap *heap, const struct weir_item *item,
                             int32_t priority)
{
    struct weiri_heap_entry entry = *weiri_heap_entry(heap, item);
    entry.priority = priority;
    sift(heap, index_of(heap, item), entry);
}

void weiri_heap_remove(struct weiri_heap *heap, struct weir_item *item)
{
    size_t index = index_of(heap, item);
    struct weiri_heap_entry last = heap->entries[--heap->count];
    if (index != heap->count) {
        sift(heap, index, last);
    }
    if (heap->step == 0) {
        item->weir_wait = 0;
    }
}

void weiri_heap_sort(struct weiri_heap *heap)
{
    size_t count = heap->count;
    while (heap->count > 1) { /* the first goes to the end, again and again */
        struct weiri_heap_entry first = heap->entries[0];
        struct weiri_heap_entry last = heap->entries[--heap->count];
        sift_down(heap, 0, last);
        heap->entries[heap->count] = first;
    }
    heap->count = count;
    for (size_t low = 0, high = count; low < high; low++) { /* now the last comes first */
        struct weiri_heap_entry entry = heap->entries[low];
        place(heap, low, heap->entries[--high]);
        place(heap, high, entry);
    }
}

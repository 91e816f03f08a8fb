/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/delay.h"

#include <stdbool.h>

#include "base/panic.h"

#define CHILDREN 4
#define CAPACITY_MIN 16

static bool is_before(const struct weiri_delay_entry *a, const struct weiri_delay_entry *b)
{
    return a->time_ns < b->time_ns || (a->time_ns == b->time_ns && a->arrival < b->arrival);
}

static void place(struct weiri_delay *delay, size_t index, struct weiri_delay_entry entry)
{
    delay->entries[index] = entry;
    entry.item->weir_wait = (uint32_t)(index + 1);
}

/* Puts an entry at index, or as far towards the root as it belongs. */
static void sift_up(struct weiri_delay *delay, size_t index, struct weiri_delay_entry entry)
{
    while (index > 0) {
        size_t parent = (index - 1) / CHILDREN;
        if (!is_before(&entry, &delay->entries[parent])) {
            break;
        }
        place(delay, index, delay->entries[parent]);
        index = parent;
    }
    place(delay, index, entry);
}

/* Puts an entry at index, or as far towards the leaves as it belongs. */
static void sift_down(struct weiri_delay *delay, size_t index, struct weiri_delay_entry entry)
{
    for (;;) {
        size_t first = index * CHILDREN + 1;
        if (first >= delay->count) {
            break;
        }
        size_t end = first + CHILDREN < delay->count ? first + CHILDREN : delay->count;
        size_t least = first;
        for (size_t child = first + 1; child < end; child++) {
            if (is_before(&delay->entries[child], &delay->entries[least])) {
                least = child;
            }
        }
        if (!is_before(&delay->entries[least], &entry)) {
            break;
        }
        place(delay, index, delay->entries[least]);
        index = least;
    }
    place(delay, index, entry);
}

/* Puts an entry at index or wherever its order takes it from there. */
static void sift(struct weiri_delay *delay, size_t index, struct weiri_delay_entry entry)
{
    if (index > 0 && is_before(&entry, &delay->entries[(index - 1) / CHILDREN])) {
        sift_up(delay, index, entry);
    } else {
        sift_down(delay, index, entry);
    }
}

static enum weir_status change_capacity(struct weiri_delay *delay,
                                        const struct weir_allocator *allocator, size_t capacity)
{
    struct weiri_delay_entry *entries =
        weiri_resize(allocator, delay->entries, delay->capacity, capacity, sizeof(*entries));
    if (entries == NULL) {
        return WEIR_ENOMEM;
    }
    delay->entries = entries;
    delay->capacity = capacity;
    return WEIR_OK;
}

enum weir_status weiri_delay_reserve(struct weiri_delay *delay,
                                     const struct weir_allocator *allocator, size_t count)
{
    if (count <= delay->capacity) {
        return WEIR_OK;
    }
    if (count > UINT32_MAX - 1) {
        return WEIR_ENOMEM; /* weir_wait could not hold the index */
    }
    size_t capacity = delay->capacity == 0 ? CAPACITY_MIN : delay->capacity;
    while (capacity < count) {
        capacity *= 2;
    }
    return change_capacity(delay, allocator, capacity);
}

void weiri_delay_trim(struct weiri_delay *delay, const struct weir_allocator *allocator)
{
    if (delay->capacity > CAPACITY_MIN && delay->count < delay->capacity / 8) {
        size_t capacity = delay->capacity;
        while (capacity > CAPACITY_MIN && delay->count < capacity / 4) {
            capacity /= 2;
        }
        (void)change_capacity(delay, allocator, capacity);
    }
}

void weiri_delay_fini(struct weiri_delay *delay, const struct weir_allocator *allocator)
{
    weiri_release(allocator, delay->entries, delay->capacity * sizeof(*delay->entries));
    *delay = (struct weiri_delay){0};
}

void weiri_delay_insert(struct weiri_delay *delay, struct weir_item *item, int64_t time_ns)
{
    WEIRI_ASSERT(item->weir_wait == 0 && delay->count < delay->capacity);
    struct weiri_delay_entry entry = {time_ns, delay->arrivals++, item};
    sift_up(delay, delay->count++, entry);
}

void weiri_delay_move(struct weiri_delay *delay, struct weir_item *item, int64_t time_ns)
{
    size_t index = item->weir_wait - 1;
    WEIRI_ASSERT(index < delay->count && delay->entries[index].item == item);
    struct weiri_delay_entry entry = {time_ns, delay->arrivals++, item};
    sift(delay, index, entry);
}

void weiri_delay_remove(struct weiri_delay *delay, struct weir_item *item)
{
    size_t index = item->weir_wait - 1;
    WEIRI_ASSERT(index < delay->count && delay->entries[index].item == item);
    item->weir_wait = 0;
    struct weiri_delay_entry last = delay->entries[--delay->count];
    if (index != delay->count) {
        sift(delay, index, last);
    }
}

struct weir_item *weiri_delay_pop_due(struct weiri_delay *delay, int64_t now_ns)
{
    if (delay->count == 0 || delay->entries[0].time_ns > now_ns) {
        return NULL;
    }
    struct weir_item *item = delay->entries[0].item;
    weiri_delay_remove(delay, item);
    return item;
}

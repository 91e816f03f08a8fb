/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/ranks.h"

#include <stdbool.h>

/* Compares priority * aging_ns + since_ns, and then the arrival, exactly: of the two sums only
 * their difference is looked at. Times of a clock are not negative, so the difference of two fits;
 * where the product does not, it is larger than any such difference, and the priorities decide.
 *
 * Of equal priorities the earlier arrival has the earlier time, for the clock does not go back. */
static bool is_before(const struct weiri_ranks *ranks, const struct weiri_rank *a,
                      const struct weiri_rank *b)
{
    if (a->priority == b->priority) {
        return a->arrival < b->arrival;
    }
    int64_t levels = (int64_t)a->priority - b->priority;
    int64_t lead_ns;
    if (ranks->aging_ns == 0 || __builtin_mul_overflow(levels, ranks->aging_ns, &lead_ns)) {
        return levels < 0;
    }
    int64_t later_ns = b->since_ns - a->since_ns;
    return lead_ns < later_ns || (lead_ns == later_ns && a->arrival < b->arrival);
}

static void place(struct weiri_ranks *ranks, size_t index, struct weiri_rank entry)
{
    ranks->entries[index] = entry;
    entry.item->weir_position = index;
}

/* Puts an entry at index, or as far towards the root as it belongs. */
static void sift_up(struct weiri_ranks *ranks, size_t index, struct weiri_rank entry)
{
    while (index > 0) {
        size_t parent = (index - 1) / WEIRI_RANKS_CHILDREN;
        if (!is_before(ranks, &entry, &ranks->entries[parent])) {
            break;
        }
        place(ranks, index, ranks->entries[parent]);
        index = parent;
    }
    place(ranks, index, entry);
}

/* Puts an entry at index, or as far towards the leaves of the first count entries as it belongs. */
static void sift_down(struct weiri_ranks *ranks, size_t count, size_t index,
                      struct weiri_rank entry)
{
    for (;;) {
        size_t first = index * WEIRI_RANKS_CHILDREN + 1;
        if (first >= count) {
            break;
        }
        size_t end = first + WEIRI_RANKS_CHILDREN < count ? first + WEIRI_RANKS_CHILDREN : count;
        size_t least = first;
        for (size_t child = first + 1; child < end; child++) {
            if (is_before(ranks, &ranks->entries[child], &ranks->entries[least])) {
                least = child;
            }
        }
        if (!is_before(ranks, &ranks->entries[least], &entry)) {
            break;
        }
        place(ranks, index, ranks->entries[least]);
        index = least;
    }
    place(ranks, index, entry);
}

static enum weir_status change_capacity(struct weiri_ranks *ranks,
                                        const struct weir_allocator *allocator, size_t capacity)
{
    struct weiri_rank *entries =
        weiri_resize(allocator, ranks->entries, ranks->capacity, capacity, sizeof(*entries));
    if (entries == NULL) {
        return WEIR_ENOMEM;
    }
    ranks->entries = entries;
    ranks->capacity = capacity;
    return WEIR_OK;
}

enum weir_status weiri_ranks_reserve(struct weiri_ranks *ranks,
                                     const struct weir_allocator *allocator, size_t count)
{
    if (count <= ranks->capacity) {
        return WEIR_OK;
    }
    size_t capacity = ranks->capacity == 0 ? WEIRI_RANKS_CAPACITY_MIN : ranks->capacity;
    while (capacity < count) {
        if (capacity > SIZE_MAX / 2) {
            return WEIR_ENOMEM;
        }
        capacity *= 2;
    }
    return change_capacity(ranks, allocator, capacity);
}

void weiri_ranks_trim(struct weiri_ranks *ranks, const struct weir_allocator *allocator,
                      size_t count)
{
    if (count < ranks->capacity / 8 && ranks->capacity > WEIRI_RANKS_CAPACITY_MIN) {
        size_t capacity = ranks->capacity;
        while (capacity > WEIRI_RANKS_CAPACITY_MIN && count < capacity / 4) {
            capacity /= 2;
        }
        (void)change_capacity(ranks, allocator, capacity);
    }
}

void weiri_ranks_fini(struct weiri_ranks *ranks, const struct weir_allocator *allocator)
{
    weiri_release(allocator, ranks->entries, ranks->capacity * sizeof(*ranks->entries));
    *ranks = (struct weiri_ranks){0};
}

void weiri_ranks_push(struct weiri_ranks *ranks, struct weir_item *item, int32_t priority)
{
    WEIRI_ASSERT(ranks->count < ranks->capacity);
    struct weiri_rank entry = {item, ranks->arrivals++, ranks->now_ns, priority};
    sift_up(ranks, ranks->count++, entry);
}

void weiri_ranks_raise(struct weiri_ranks *ranks, const struct weir_item *item, int32_t priority)
{
    size_t index = (size_t)item->weir_position;
    WEIRI_ASSERT(index < ranks->count && ranks->entries[index].item == item);
    struct weiri_rank entry = ranks->entries[index];
    if (priority < entry.priority) {
        entry.priority = priority;
        sift_up(ranks, index, entry);
    }
}

/* Takes out the entry at an index. */
static void remove_at(struct weiri_ranks *ranks, size_t index)
{
    struct weiri_rank last = ranks->entries[--ranks->count];
    if (index == ranks->count) {
        return;
    }
    if (index > 0 && is_before(ranks, &last, &ranks->entries[(index - 1) / WEIRI_RANKS_CHILDREN])) {
        sift_up(ranks, index, last);
    } else {
        sift_down(ranks, ranks->count, index, last);
    }
}

void weiri_ranks_close_first(struct weiri_ranks *ranks)
{
    sift_down(ranks, ranks->count, 0, ranks->entries[ranks->count]);
}

void weiri_ranks_remove(struct weiri_ranks *ranks, const struct weir_item *item)
{
    size_t index = (size_t)item->weir_position;
    WEIRI_ASSERT(index < ranks->count && ranks->entries[index].item == item);
    remove_at(ranks, index);
}

void weiri_ranks_sort(struct weiri_ranks *ranks)
{
    /* Each turn moves the first of those that are left behind them, which makes them come out in
     * reverse order. */
    for (size_t left = ranks->count; left > 1; left--) {
        struct weiri_rank first = ranks->entries[0];
        sift_down(ranks, left - 1, 0, ranks->entries[left - 1]);
        ranks->entries[left - 1] = first;
    }
    for (size_t i = 0, j = ranks->count; i < j; i++) {
        struct weiri_rank last = ranks->entries[--j];
        place(ranks, j, ranks->entries[i]);
        place(ranks, i, last);
    }
}

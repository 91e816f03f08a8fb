/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/ranks.h"

#include <stdbool.h>

#include "base/inline.h"

__extension__ typedef unsigned __int128 wide;

/* Without aging: priority and arrival as one number. To compare two takes no branch, which would be
 * a guess at each level of the heap. */
static inline wide rank_of(const struct weiri_rank *entry)
{
    return (wide)((uint32_t)entry->priority ^ UINT32_C(0x80000000)) << 64 | entry->arrival;
}

/* With aging: compares priority * aging_ns + since_ns, and then the arrival, exactly: of the two
 * sums only their difference is looked at. Times of a clock are not negative, so the difference of
 * two fits; where the product does not, it is larger than any such difference, and the priorities
 * decide.
 *
 * Of equal priorities the earlier arrival has the earlier time, for the clock does not go back. */
static bool is_before_aged(const struct weiri_rank *a, const struct weiri_rank *b, int64_t aging_ns)
{
    if (a->priority == b->priority) {
        return a->arrival < b->arrival;
    }
    int64_t levels = (int64_t)a->priority - b->priority;
    int64_t lead_ns;
    if (__builtin_mul_overflow(levels, aging_ns, &lead_ns)) {
        return levels < 0;
    }
    int64_t later_ns = b->since_ns - a->since_ns;
    return lead_ns < later_ns || (lead_ns == later_ns && a->arrival < b->arrival);
}

WEIRI_INLINE bool is_before(const struct weiri_rank *a, const struct weiri_rank *b,
                            const int64_t aging_ns)
{
    return aging_ns == 0 ? rank_of(a) < rank_of(b) : is_before_aged(a, b, aging_ns);
}

/* Puts an entry at index, or as far towards the root as it belongs. */
static void sift_up(struct weiri_ranks *ranks, size_t index, struct weiri_rank entry)
{
    while (index > 0) {
        size_t parent = (index - 1) / WEIRI_RANKS_CHILDREN;
        if (!is_before(&entry, weiri_ranks_at(ranks, parent), ranks->aging_ns)) {
            break;
        }
        weiri_ranks_place(ranks, index, *weiri_ranks_at(ranks, parent));
        index = parent;
    }
    weiri_ranks_place(ranks, index, entry);
}

/* Of the children from an index on, of which there is one at least, the most urgent one. */
WEIRI_INLINE size_t least_from(const struct weiri_ranks *ranks, size_t child, size_t count,
                               const int64_t aging_ns)
{
    const struct weiri_rank *four = weiri_ranks_at(ranks, child);
    bool is_whole = child + WEIRI_RANKS_CHILDREN <= count &&
                    four + WEIRI_RANKS_CHILDREN <= ranks->entries + ranks->capacity;
    if (WEIRI_LIKELY(is_whole)) {
        size_t left = is_before(&four[1], &four[0], aging_ns);
        size_t right = 2 + (size_t)is_before(&four[3], &four[2], aging_ns);
        return child + (is_before(&four[right], &four[left], aging_ns) ? right : left);
    }
    size_t least = child;
    for (size_t end = child + WEIRI_RANKS_CHILDREN; ++child < end && child < count;) {
        if (is_before(weiri_ranks_at(ranks, child), weiri_ranks_at(ranks, least), aging_ns)) {
            least = child;
        }
    }
    return least;
}

/* Puts an entry at index, or as far towards the leaves of the first count entries as it belongs. */
WEIRI_INLINE void sift_down_by(struct weiri_ranks *ranks, size_t count, size_t index,
                               struct weiri_rank entry, const int64_t aging_ns)
{
    for (;;) {
        size_t child = index * WEIRI_RANKS_CHILDREN + 1;
        if (child >= count) {
            break;
        }
        size_t least = least_from(ranks, child, count, aging_ns);
        if (is_before(&entry, weiri_ranks_at(ranks, least), aging_ns)) {
            break;
        }
        weiri_ranks_place(ranks, index, *weiri_ranks_at(ranks, least));
        index = least;
    }
    weiri_ranks_place(ranks, index, entry);
}

/* Compiled twice: who has no aging does not pay for it. */
static void sift_down(struct weiri_ranks *ranks, size_t count, size_t index,
                      struct weiri_rank entry)
{
    if (ranks->aging_ns == 0) {
        sift_down_by(ranks, count, index, entry, 0);
    } else {
        sift_down_by(ranks, count, index, entry, ranks->aging_ns);
    }
}

static enum weir_status change_capacity(struct weiri_ranks *ranks,
                                        const struct weir_allocator *allocator, size_t capacity)
{
    struct weiri_rank *entries = weiri_alloc_zero(allocator, capacity, sizeof(*entries));
    if (entries == NULL) {
        return WEIR_ENOMEM;
    }
    for (size_t i = 0; i < ranks->count; i++) {
        entries[(ranks->first + i) & (capacity - 1)] = *weiri_ranks_at(ranks, i);
    }
    weiri_release(allocator, ranks->entries, ranks->capacity * sizeof(*entries));
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
    size_t index = ranks->count++;
    bool is_last = index == 0 || (!ranks->is_mixed && is_before(weiri_ranks_at(ranks, index - 1),
                                                                &entry, ranks->aging_ns));
    if (is_last) {
        weiri_ranks_place(ranks, index, entry);
    } else {
        ranks->is_mixed = true;
        sift_up(ranks, index, entry);
    }
}

void weiri_ranks_raise(struct weiri_ranks *ranks, const struct weir_item *item, int32_t priority)
{
    struct weiri_rank entry = *weiri_ranks_of(ranks, item);
    if (priority < entry.priority) {
        entry.priority = priority;
        size_t index = (size_t)(item->weir_position - ranks->first);
        ranks->is_mixed |= index > 0;
        sift_up(ranks, index, entry);
    }
}

/* Fills the place at an index, which was taken, with the last entry, which is behind the others
 * now. */
static void close_at(struct weiri_ranks *ranks, size_t index)
{
    struct weiri_rank last = *weiri_ranks_at(ranks, ranks->count);
    ranks->is_mixed = ranks->count > 1;
    if (index > 0 && is_before(&last, weiri_ranks_at(ranks, (index - 1) / WEIRI_RANKS_CHILDREN),
                               ranks->aging_ns)) {
        sift_up(ranks, index, last);
    } else {
        sift_down(ranks, ranks->count, index, last);
    }
}

void weiri_ranks_close_first(struct weiri_ranks *ranks)
{
    close_at(ranks, 0);
}

void weiri_ranks_remove(struct weiri_ranks *ranks, const struct weir_item *item)
{
    size_t index = (size_t)(weiri_ranks_of(ranks, item)->item->weir_position - ranks->first);
    ranks->count--;
    if (index == ranks->count) {
        ranks->is_mixed &= ranks->count > 1;
    } else if (index == 0 && !ranks->is_mixed) {
        ranks->first++;
    } else {
        close_at(ranks, index);
    }
}

void weiri_ranks_sort(struct weiri_ranks *ranks)
{
    if (!ranks->is_mixed) {
        return;
    }
    /* Each turn moves the first of those that are left behind them, which makes them come out in
     * reverse order. */
    for (size_t left = ranks->count; left > 1; left--) {
        struct weiri_rank first = *weiri_ranks_at(ranks, 0);
        sift_down(ranks, left - 1, 0, *weiri_ranks_at(ranks, left - 1));
        weiri_ranks_place(ranks, left - 1, first);
    }
    for (size_t i = 0, j = ranks->count; i < j; i++) {
        struct weiri_rank last = *weiri_ranks_at(ranks, --j);
        weiri_ranks_place(ranks, j, *weiri_ranks_at(ranks, i));
        weiri_ranks_place(ranks, i, last);
    }
    ranks->is_mixed = false;
}

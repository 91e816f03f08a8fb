/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_RANKS_H
#define WEIRI_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/status.h>

#include "base/alloc.h"
#include "base/panic.h"
#include "queue/item.h"

/* The ready items of a queue with priorities, the most urgent first and equal ones in order of
 * arrival: a heap with four children a node. Each queued item knows its position here
 * (weir_position), so that it can be raised and taken out without a search.
 *
 * An array in order is a heap, too, and stays in order where items come in order: as long as that
 * is so the heap is used as a ring, whose first entry leaves without one of the others having to
 * move. Positions count up for ever; an entry's place in the array is its position modulo the
 * capacity, and its index in the heap is its position less the first one's.
 *
 * With aging an item gains a level for each aging_ns that it has been queued. All gain alike, so
 * whoever is ahead stays ahead: the order of two items is that of priority * aging_ns + since_ns,
 * which never changes while they are queued, and the heap need not be sorted again as time passes.
 * The sum is never formed, because it may not fit into 64 bits (is_before_aged()).
 *
 * Plain data: no lock, no clock. Room is reserved before a push, which then cannot fail. */
#define WEIRI_RANKS_CAPACITY_MIN 16
#define WEIRI_RANKS_CHILDREN 4

struct weiri_rank {
    struct weir_item *item;
    uint64_t arrival;
    int64_t since_ns; /* meaningful with aging only */
    int32_t priority; /* smaller is more urgent */
};

struct weiri_ranks {
    struct weiri_rank *entries;
    size_t count;
    size_t capacity; /* a power of two, or 0 */
    uint64_t first;  /* position of the root */
    uint64_t arrivals;
    int64_t aging_ns; /* 0: none */
    int64_t now_ns;   /* since when what is pushed next is queued; set by who has a clock */
    bool is_mixed;    /* not known to be in order; of two or more */
};

/* Makes room for count items in all. WEIR_ENOMEM: nothing changed. */
WEIR_NODISCARD enum weir_status weiri_ranks_reserve(struct weiri_ranks *ranks,
                                                    const struct weir_allocator *allocator,
                                                    size_t count);
/* Gives memory back where count items would leave most of it unused; keeps it where that fails. */
void weiri_ranks_trim(struct weiri_ranks *ranks, const struct weir_allocator *allocator,
                      size_t count);
void weiri_ranks_fini(struct weiri_ranks *ranks, const struct weir_allocator *allocator);

void weiri_ranks_push(struct weiri_ranks *ranks, struct weir_item *item, int32_t priority);
/* Makes an item that is here as urgent as priority, where it is less urgent; it keeps its arrival
 * and its age, and so stands where it would had it come with this priority. */
void weiri_ranks_raise(struct weiri_ranks *ranks, const struct weir_item *item, int32_t priority);
/* Takes out an item that is here. */
void weiri_ranks_remove(struct weiri_ranks *ranks, const struct weir_item *item);
/* Puts the entries in order, for whoever walks them: a sorted array is a heap too. */
void weiri_ranks_sort(struct weiri_ranks *ranks);

/* Fills the place of the root, which was taken. */
void weiri_ranks_close_first(struct weiri_ranks *ranks);

/* The entry of an index in the heap. */
static inline struct weiri_rank *weiri_ranks_at(const struct weiri_ranks *ranks, size_t index)
{
    return &ranks->entries[(ranks->first + index) & (ranks->capacity - 1)];
}

static inline void weiri_ranks_place(struct weiri_ranks *ranks, size_t index,
                                     struct weiri_rank entry)
{
    *weiri_ranks_at(ranks, index) = entry;
    entry.item->weir_position = ranks->first + index;
}

/* weiri_ranks_push() without aging: of all items the one that arrives last passes on its way to the
 * root exactly those that are less urgent. */
static inline void weiri_ranks_put(struct weiri_ranks *ranks, struct weir_item *item,
                                   int32_t priority)
{
    size_t index = ranks->count++;
    if (index > 0 && (ranks->is_mixed || priority < weiri_ranks_at(ranks, index - 1)->priority)) {
        ranks->is_mixed = true;
        while (index > 0) {
            const struct weiri_rank *parent =
                weiri_ranks_at(ranks, (index - 1) / WEIRI_RANKS_CHILDREN);
            if (parent->priority <= priority) {
                break;
            }
            weiri_ranks_place(ranks, index, *parent);
            index = (index - 1) / WEIRI_RANKS_CHILDREN;
        }
    }
    weiri_ranks_place(ranks, index, (struct weiri_rank){item, ranks->arrivals++, 0, priority});
}

/* Takes out the most urgent item; NULL where there is none. */
static inline struct weir_item *weiri_ranks_pop(struct weiri_ranks *ranks)
{
    if (ranks->count == 0) {
        return NULL;
    }
    struct weir_item *item = weiri_ranks_at(ranks, 0)->item;
    ranks->count--;
    if (ranks->is_mixed) {
        weiri_ranks_close_first(ranks);
    } else {
        ranks->first++;
    }
    return item;
}

/* The entry of an item that is here. */
static inline struct weiri_rank *weiri_ranks_of(const struct weiri_ranks *ranks,
                                                const struct weir_item *item)
{
    struct weiri_rank *entry = &ranks->entries[item->weir_position & (ranks->capacity - 1)];
    WEIRI_ASSERT(item->weir_position - ranks->first < ranks->count && entry->item == item);
    return entry;
}

/* Whether an item that is here is at least as urgent as priority. */
static inline bool weiri_ranks_is_as_urgent(const struct weiri_ranks *ranks,
                                            const struct weir_item *item, int32_t priority)
{
    return weiri_ranks_of(ranks, item)->priority <= priority;
}

#endif

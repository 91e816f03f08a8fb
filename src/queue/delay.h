/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_DELAY_H
#define WEIRI_DELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/status.h>

#include "base/alloc.h"
#include "queue/item.h"

/* The waiting items, the earliest first: a heap with four children a node, which is half as deep as
 * a binary one and finds a node's children in one or two cache lines. Equal times keep the order of
 * arrival. Each item knows its index here (weir_wait), so that it can be moved and taken out
 * without a search.
 *
 * Plain data: no lock, no clock. Room is reserved before an insert, which then cannot fail. */
struct weiri_delay_entry {
    int64_t time_ns;
    uint64_t arrival;
    struct weir_item *item;
};

struct weiri_delay {
    struct weiri_delay_entry *entries;
    size_t count;
    size_t capacity;
    uint64_t arrivals;
};

/* Makes room for count entries in all. WEIR_ENOMEM: nothing changed. ETOOBIG: more than can be
 * indexed. */
WEIR_NODISCARD enum weir_status weiri_delay_reserve(struct weiri_delay *delay,
                                                    const struct weir_allocator *allocator,
                                                    size_t count);
void weiri_delay_trim(struct weiri_delay *delay, const struct weir_allocator *allocator);
void weiri_delay_fini(struct weiri_delay *delay, const struct weir_allocator *allocator);

/* The item must not be waiting, and room be reserved. */
void weiri_delay_insert(struct weiri_delay *delay, struct weir_item *item, int64_t time_ns);
/* Gives a waiting item another time, as if it had arrived now. */
void weiri_delay_move(struct weiri_delay *delay, struct weir_item *item, int64_t time_ns);
/* Takes out a waiting item. */
void weiri_delay_remove(struct weiri_delay *delay, struct weir_item *item);
/* Takes out and returns the earliest item whose time is at most now_ns; NULL where there is none.
 */
struct weir_item *weiri_delay_pop_due(struct weiri_delay *delay, int64_t now_ns);

/* The earliest time; INT64_MAX where nothing waits. */
static inline int64_t weiri_delay_next(const struct weiri_delay *delay)
{
    return delay->count == 0 ? INT64_MAX : delay->entries[0].time_ns;
}

/* Whether a waiting item waits here. */
static inline bool weiri_delay_has(const struct weiri_delay *delay, const struct weir_item *item)
{
    size_t index = (size_t)item->weir_wait - 1;
    return index < delay->count && delay->entries[index].item == item;
}

/* The time of a waiting item. */
static inline int64_t weiri_delay_time(const struct weiri_delay *delay,
                                       const struct weir_item *item)
{
    return delay->entries[item->weir_wait - 1].time_ns;
}

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_DELAY_H
#define WEIRI_DELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/status.h>

#include "base/alloc.h"
#include "base/slabs.h"
#include "queue/item.h"

/* The waiting items, to be taken in order of (time, arrival). One array of slots, in three parts:
 *
 *     [ heap | inbox | due ]
 *
 * What is inserted goes to the inbox, unsorted: a time that is cancelled or moved before anybody
 * must know its place costs no sorting. Once the earliest of the inbox may be due, the inbox joins
 * the heap, which has four children a node. Where most of what waits has to be looked at anyway,
 * everything that is due is gathered behind the rest instead, and sorted at once. Each item knows
 * its slot (weir_wait), so that it is moved and taken out without a search.
 *
 * Plain data: no lock, no clock. Room is reserved before an insert; nothing else can fail. See
 * docs/internals/delay.md. */
struct weiri_delay_entry {
    int64_t time_ns;
    uint64_t arrival;
    struct weir_item *item;
};

/* Slots are numbered from here on, so that 0 is none, and the four children of a node of the heap
 * lie in one slab. */
#define WEIRI_DELAY_FIRST ((size_t)3)
#define WEIRI_DELAY_SLAB_BITS 6
#define WEIRI_DELAY_SLAB ((size_t)1 << WEIRI_DELAY_SLAB_BITS)
/* The most gaps, and one more that is about to be closed; a power of two. */
#define WEIRI_DELAY_GAPS 8u

struct weiri_delay {
    struct weiri_slabs slabs;
    size_t count;    /* of the items; its slots are more by the gaps */
    size_t heap_end; /* the slot behind the heap's last one */
    size_t due;      /* entries at the end that are due, the earliest last; 0 but in between two
                        calls of weiri_delay_pop_due() */
    size_t taken;    /* entries taken off the heap at the time below */
    int64_t taken_ns;
    int64_t next_ns;    /* nothing is earlier; INT64_MAX where nothing waits */
    int64_t inbox_ns;   /* nothing in the inbox is earlier; INT64_MAX where it is empty */
    size_t inbox_first; /* the slot of the entry in the inbox that has just that time; 0: it has
                           left, or the inbox is empty */
    uint64_t arrivals;
    /* Slots of the inbox whose items have left, the first one first: a ring. Nobody looks at what
     * is there any more. */
    size_t gaps;
    uint32_t gap_first;
    uint32_t gap_slots[WEIRI_DELAY_GAPS];
};

void weiri_delay_init(struct weiri_delay *delay);
/* Lets go of all items: they do not wait any more. */
void weiri_delay_fini(struct weiri_delay *delay, const struct weir_allocator *allocator);

/* WEIR_ENOMEM: no item has changed. */
WEIR_NODISCARD enum weir_status weiri_delay_reserve_slow(struct weiri_delay *delay,
                                                         const struct weir_allocator *allocator,
                                                         size_t count);
/* Gives memory back that is not needed any more. */
void weiri_delay_trim(struct weiri_delay *delay, const struct weir_allocator *allocator);

/* The item must not be waiting, and room be reserved. */
void weiri_delay_insert(struct weiri_delay *delay, struct weir_item *item, int64_t time_ns);
/* Gives a waiting item another time, as if it had arrived now. */
void weiri_delay_move(struct weiri_delay *delay, struct weir_item *item, int64_t time_ns);
/* Takes out a waiting item. */
void weiri_delay_remove(struct weiri_delay *delay, struct weir_item *item);

/* To be called before a walk over the slots: what lies in a gap is not there any more. In
 * queue/delay_gaps.c. */
void weiri_delay_close_gaps(struct weiri_delay *delay);

/* As weiri_delay_pop_due(), where next_ns is at most now_ns. */
struct weir_item *weiri_delay_pop_due_slow(struct weiri_delay *delay, int64_t now_ns,
                                           int64_t *ret_time_ns);

/* The earliest time, exactly; INT64_MAX where nothing waits. May sort. */
int64_t weiri_delay_next(struct weiri_delay *delay);

/* Takes out and returns the earliest item whose time, *ret_time_ns, is at most now_ns; NULL where
 * there is none. To be called with the same now_ns until it returns NULL, with no change in
 * between. */
static inline struct weir_item *weiri_delay_pop_due(struct weiri_delay *delay, int64_t now_ns,
                                                    int64_t *ret_time_ns)
{
    return delay->next_ns > now_ns ? NULL : weiri_delay_pop_due_slow(delay, now_ns, ret_time_ns);
}

static inline struct weiri_delay_entry *weiri_delay_at(const struct weiri_delay *delay, size_t slot)
{
    struct weiri_delay_entry *slab = delay->slabs.slabs[slot >> WEIRI_DELAY_SLAB_BITS];
    return &slab[slot & (WEIRI_DELAY_SLAB - 1)];
}

static inline void weiri_delay_place(struct weiri_delay *delay, size_t slot,
                                     struct weiri_delay_entry entry)
{
    *weiri_delay_at(delay, slot) = entry;
    entry.item->weir_wait = (uint32_t)slot;
}

/* The slot behind the last one: entries, and gaps (weiri_delay_close_gaps), lie from
 * WEIRI_DELAY_FIRST up to here. */
static inline size_t weiri_delay_end(const struct weiri_delay *delay)
{
    return WEIRI_DELAY_FIRST + delay->count + delay->gaps;
}

/* Makes room for count entries in all. WEIR_ENOMEM: nothing changed. */
WEIR_NODISCARD static inline enum weir_status weiri_delay_reserve(
    struct weiri_delay *delay, const struct weir_allocator *allocator, size_t count)
{
    return WEIRI_DELAY_FIRST + count <= delay->slabs.count << WEIRI_DELAY_SLAB_BITS
               ? WEIR_OK
               : weiri_delay_reserve_slow(delay, allocator, count);
}

/* Whether a waiting item waits here. */
static inline bool weiri_delay_has(const struct weiri_delay *delay, const struct weir_item *item)
{
    size_t slot = item->weir_wait;
    return slot < weiri_delay_end(delay) && weiri_delay_at(delay, slot)->item == item;
}

/* The time of a waiting item. */
static inline int64_t weiri_delay_time(const struct weiri_delay *delay,
                                       const struct weir_item *item)
{
    return weiri_delay_at(delay, item->weir_wait)->time_ns;
}

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_VIEW_H
#define WEIRI_VIEW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slots.h"
#include "base/visits.h"
#include "queue/records.h"

/* What adds see of a table without the queue's lock: whether a short key's item is queued or dirty,
 * so that the add joins what will come anyway (docs/internals/queue.md, "Joining", has the proof).
 * The table goes on under the lock as if nobody looked, but for this:
 *
 * - all that is looked at changes by stores that are each a release, so that a visit sees one thing
 *   after the other, none older than what it has seen before;
 * - the end of a record's use for a key is counted, before it is used for another one;
 * - memory is given back by base/visits.h.
 *
 * A visit may miss what is there, and then the add takes the lock. */

/* Uses that end are counted by the record's index, modulo this, so that few of them disturb a
 * visit. */
#define WEIRI_VIEW_ENDS 64u

struct weiri_view {
    struct weiri_visits visits;
    uint64_t seed;
    /* Where the table lies. Changed while the door is closed. */
    _Atomic(struct weiri_slot *) slots; /* NULL: it has none */
    _Atomic size_t slots_capacity;
    _Atomic(struct weiri_chunk **) chunks;
    _Atomic uint32_t chunk_capacity;
    _Atomic uint64_t ends[WEIRI_VIEW_ENDS];
    struct weiri_stripe stripes[];
};

/* What the adds of a queue may see of its table from now on; NULL for lack of memory. The number of
 * stripes is a power of two. */
struct weiri_view *weiri_view_new(const struct weir_allocator *allocator, uint32_t stripe_count,
                                  uint64_t seed);
/* Takes NULL. */
void weiri_view_free(struct weiri_view *view, const struct weir_allocator *allocator);

/* Whether the key's item was queued or dirty, at a moment in this call. The key is a valid one of
 * at most WEIRI_RECORD_INLINE bytes. False: or it was not to be seen. */
bool weiri_view_joins(struct weiri_view *view, struct weir_key key, uint32_t mark);

/* The rest is for who holds the lock; where there is no view, all of it is for nothing. */

/* weiri_visits_close(), _open(), _retire(); the latter gives back at once where the holder is
 * alone. */
static inline bool weiri_view_close(struct weiri_view *view, const struct weir_allocator *allocator)
{
    return view == NULL || weiri_visits_close(&view->visits, allocator);
}

static inline void weiri_view_open(struct weiri_view *view)
{
    if (view != NULL) {
        weiri_visits_open(&view->visits);
    }
}

void weiri_view_retire(struct weiri_view *view, const struct weir_allocator *allocator,
                       bool is_alone, void *block, size_t size);

/* Tells where the table lies now. The door is closed. */
void weiri_view_show_slots(struct weiri_view *view, const struct weiri_slots *slots);
void weiri_view_show_chunks(struct weiri_view *view, struct weiri_chunk **chunks,
                            uint32_t chunk_capacity);

/* A record's use for a key ends. */
static inline void weiri_view_end(struct weiri_view *view, uint32_t index)
{
    if (view != NULL) {
        _Atomic uint64_t *ends = &view->ends[index % WEIRI_VIEW_ENDS];
        weiri_sync_point();
        atomic_store_explicit(ends, atomic_load_explicit(ends, memory_order_relaxed) + 1,
                              memory_order_release);
    }
}

/* Gives back what was retired, where nobody is inside. */
static inline void weiri_view_sweep(struct weiri_view *view, const struct weir_allocator *allocator)
{
    if (view->visits.retired_count > 0) {
        (void)weiri_visits_close(&view->visits, allocator);
        weiri_visits_open(&view->visits);
    }
}

#endif

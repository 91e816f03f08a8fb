/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CORE_H
#define WEIRI_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/queue.h>

#include "base/alloc.h"
#include "base/list.h"
#include "base/time.h"
#include "metrics/sample.h"
#include "queue/heap.h"
#include "queue/item.h"
#include "queue/ring.h"
#include "queue/table.h"

/* The record of a keyed item. */
struct weiri_keyed_item {
    struct weiri_record record;
    struct weir_item item;
};

/* The queue's decisions: plain functions of (state, event, now), without lock, clock or thread. A
 * shell adds these: the queue's calls (queue/queue.h), and a pool.
 *
 * Invariants between calls:
 * - Every item that is not free is held: queued, processing, or idle and waiting. held counts them.
 * - The ring (with priorities the heap ready) has capacity for every held item. It grows when an
 *   item becomes held, so done and the passing of time need no memory.
 * - The ring or ready holds the queued items, less those aside; waiting holds the waiting ones; the
 *   list holds the processing ones, by start; the table holds the keyed items that are not free. */
struct weiri_core {
    /* The members that every call changes come first, so that they share few cache lines. Those
     * lines move between processors when different threads call. */
    struct weiri_ring ring; /* without priorities */
    size_t held;
    size_t queued;     /* those aside included */
    size_t processing; /* dirty ones included */
    size_t dirty;
    uint64_t last_ticket;
    struct weir_item *first_processing; /* started first */
    struct weir_item *last_processing;
    struct weiri_heap waiting; /* by time */
    struct weiri_table table;
    struct weiri_heap ready; /* with priorities */
    uint64_t dropped;        /* pending times that were dropped by a shutdown */
    weiri_wide started_ns;   /* with a meter: the sum of the processing items' weir_running_ns */

    /* Immutable after new. */
    struct weir_allocator allocator;
    struct weiri_queue_sample *meter; /* borrowed; NULL: there are no metrics */
    bool has_priorities;
    bool has_aging;    /* only then the order depends on the time */
    bool supersedes;   /* an add at once removes the pending time */
    bool times_items;  /* keeps weir_queued_ns and weir_running_ns */
    bool can_wait_all; /* the heap waiting also has capacity for every held item */
};

/* seed is the secret seed of the hash. The first ticket is a random number, so that another queue's
 * work is recognised. It must not be derived from the seed, since consumers see tickets. */
void weiri_core_init(struct weiri_core *core, const struct weir_allocator *allocator, uint64_t seed,
                     uint64_t first_ticket);
/* Called before the first item. Items then start in order of (priority, arrival). aging_ns as in
 * the queue's options. */
void weiri_core_set_priorities(struct weiri_core *core, int64_t aging_ns);
/* Drops all items; embedded ones become free. No item may be aside: none of the core's lists would
 * lead to it. */
void weiri_core_fini(struct weiri_core *core);

/* Makes capacity for more items that become held. WEIR_ENOMEM. After it, adds of so many embedded
 * items cannot fail for lack of memory; nor, with can_wait_all, those for later. */
WEIR_NODISCARD enum weir_status weiri_core_reserve(struct weiri_core *core, size_t more);

/* How an item is to be added. */
struct weiri_order {
    int64_t time_ns; /* when; WEIRI_AT_ONCE */
    int32_t priority;
    bool replaces;       /* removes a pending time, or replaces it by a later one */
    bool keeps_priority; /* at least as urgent as the run that is processing the item */
};

/* The result of an add. */
struct weiri_added {
    struct weir_item *item;
    bool is_new;       /* the item was free before */
    bool is_coalesced; /* at once: it was queued or dirty; for a time: it waited and keeps its time
                        */
    bool was_queued;   /* an add at once: the item was queued before */
    bool has_new_time; /* its pending time is another than before */
};

/* Adds a valid key. WEIR_ENOMEM, WEIR_EBUSY (another queue holds the item): nothing changed. */
WEIR_NODISCARD enum weir_status weiri_core_add(struct weiri_core *core, struct weir_key key,
                                               const struct weiri_order *order, int64_t now_ns,
                                               struct weiri_added *ret_added);

/* The same for count keys: all or none. ret_added has count elements. */
WEIR_NODISCARD enum weir_status weiri_core_add_batch(struct weiri_core *core,
                                                     const struct weir_key *keys, size_t count,
                                                     const struct weiri_order *order,
                                                     int64_t now_ns, struct weiri_added *ret_added);

/* The next three are for a pool, whose core has can_wait_all; they cannot fail. Sets the pending
 * time of an item that the core holds, earlier or later than it was. */
void weiri_core_set_time(struct weiri_core *core, struct weir_item *item, int64_t time_ns);
/* Removes the pending time of an item that is queued or processing; it may have none. */
void weiri_core_clear_time(struct weiri_core *core, struct weir_item *item);
/* Removes the queued place of an item that also waits, or is given a time next. */
void weiri_core_unqueue(struct weiri_core *core, struct weir_item *item);

/* Queues every waiting item whose time is at most now_ns, in order of time, as of that time. */
void weiri_core_pass_time(struct weiri_core *core, int64_t now_ns);

/* The earliest pending time; INT64_MAX: there is none. */
static inline int64_t weiri_core_next_time(const struct weiri_core *core)
{
    return core->waiting.count == 0 ? INT64_MAX : core->waiting.entries[0].time_ns;
}

/* The item to be started next; NULL: none. */
struct weir_item *weiri_core_first(struct weiri_core *core);
/* Starts a queued item, which may be aside: it becomes processing, with a ticket. */
void weiri_core_start(struct weiri_core *core, struct weir_item *item, int64_t now_ns);
/* Takes a queued item out of the order (for a queue without priorities). It stays queued; only
 * start and cancel reach it. */
void weiri_core_set_aside(struct weiri_core *core, struct weir_item *item);

/* The item of a valid key; NULL: the queue does not know it. An embedded one may be another
 * queue's. */
struct weir_item *weiri_core_find(const struct weiri_core *core, struct weir_key key);
/* Whether the core holds the item, which may be free or another queue's. */
static inline bool weiri_core_holds(const struct weiri_core *core, const struct weir_item *item)
{
    return (weiri_item_word(item) & ~WEIRI_PLACE_BITS) == (uintptr_t)core;
}
/* The item that is processing under that ticket; NULL: there is none. */
struct weir_item *weiri_core_find_work(const struct weiri_core *core, const struct weir_work *work);
/* Fills in a consumer's work from a processing item. */
void weiri_core_fill_work(const struct weir_item *item, struct weir_work *ret_work);
/* Fills in a snapshot's entry of an item. The key of a keyed item points into its record. */
struct weir_snapshot_item;
void weiri_core_describe(const struct weiri_core *core, const struct weir_item *item,
                         int64_t now_ns, struct weir_snapshot_item *ret_item);

/* The metrics at this moment, of a core that has a meter; in constant time. */
void weiri_core_sample(const struct weiri_core *core, int64_t now_ns,
                       struct weiri_queue_sample *ret_sample);

/* Ends the processing of an item: queued again where it is dirty, else idle. True: it is free, and
 * an embedded one may be gone. */
bool weiri_core_done(struct weiri_core *core, struct weir_item *item, int64_t now_ns);

/* Removes the queued place, dirty mark and pending time of an item that the core holds. Returns
 * whether it had any. The item may be free then. */
bool weiri_core_cancel(struct weiri_core *core, struct weir_item *item);
/* Removes every pending time, and counts them as dropped. */
void weiri_core_drop_waiting(struct weiri_core *core);

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CORE_H
#define WEIRI_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/queue.h>

#include "queue/asks.h"
#include "queue/delay.h"
#include "queue/meter.h"
#include "queue/ready.h"
#include "queue/running.h"
#include "queue/table.h"

/* What decides: the queue's state and its transitions as plain functions of (state, event, now). No
 * lock, no clock, no thread; the shell (queue.c, consume.c, shutdown.c) adds those.
 *
 * Invariants, between calls:
 * - ready holds exactly the queued items, but for those aside, the delay structure exactly the
 * waiting ones, the table exactly the keyed items that are not free;
 * - ready has capacity for every item that is queued, is dirty or waits: what is promised a
 * place in the queue gets it without an allocation, so that done and the passing of time cannot
 * fail;
 * - asks holds exactly the priorities other than 0 that dirty and waiting items are to come with.
 */
struct weiri_core {
    /* What each move of an item changes lies together: threads that take turns pass it on. */
    struct weiri_running running; /* the processing items, dirty ones included */
    uint64_t last_ticket;
    size_t dirty;
    struct weiri_ready ready;

    size_t only_waiting; /* waiting items whose place is idle */
    size_t aside;        /* queued items that are not in ready (queue/groups.h) */
    struct weiri_delay delay;
    uint32_t mark; /* of the items it holds (queue/item.h): no other queue's, the low bits clear */
    size_t capacity;           /* most items that may be held at once; 0: no limit */
    bool is_room_kept;         /* what room there is is kept for who waits for it (queue/room.h) */
    struct weiri_meter *meter; /* NULL: the queue has no metrics */
    struct weiri_table table;
    struct weiri_asks asks;
    uint64_t dropped; /* pending times dropped by shutdown */
    bool supersedes;  /* every add at once takes the item's pending time away */
    struct weir_allocator allocator;
};

/* seed is the hash's, and a secret. Tickets start at a random number, so that another queue's work
 * is told apart too; it must not be made of the seed, for consumers see tickets. */
void weiri_core_init(struct weiri_core *core, const struct weir_allocator *allocator, uint64_t seed,
                     uint64_t first_ticket, uint32_t mark);
/* Embedded items become free. */
void weiri_core_fini(struct weiri_core *core);

/* What an add came to. */
struct weiri_added {
    bool has_entered;  /* it was free before */
    bool has_joined;   /* it was queued, dirty or waiting before, and comes when it would have */
    bool was_queued;   /* an immediate add: it was queued before */
    bool has_new_time; /* its pending time is another than before */
};

/* What the end of a processing came to. */
struct weiri_ended {
    bool is_queued; /* it was dirty, and is queued again */
    bool has_left;  /* it is free now */
};

/* The moves of every add, get and done are inline, in queue/moves.h:
 * weiri_core_add, weiri_core_next, weiri_core_done. The others are here. */

/* Makes room for so many more items that are to be queued. WEIR_ENOMEM: nothing changed. */
WEIR_NODISCARD enum weir_status weiri_core_reserve(struct weiri_core *core, size_t more);

/* An item that may be added, or why not: WEIR_EFULL, WEIR_ENOMEM, WEIR_EBUSY (another queue holds
 * it). Two registers, where a pointer to a local variable would cost each add a stack guard. */
struct weiri_admitted {
    struct weir_item *item;
    enum weir_status status;
};

/* Finds the item of a key that is to be added, makes room for what that may come to, and keeps to
 * the capacity. On an error nothing changed. */
WEIR_NODISCARD struct weiri_admitted weiri_core_admit_slow(struct weiri_core *core,
                                                           struct weir_key key);

/* Whether those of count keys that are free now, each counted once, fit below the capacity. */
bool weiri_core_has_capacity(struct weiri_core *core, const struct weir_key *keys, size_t count);

/* Whether count items that are embedded, each counted once, could be held at once at all. */
bool weiri_core_could_hold(const struct weiri_core *core, const struct weir_key *keys,
                           size_t count);

/* Adds count valid keys, all or none; ret_were_queued (may be NULL) receives of each whether it was
 * queued before. Errors as weiri_core_add(). */
WEIR_NODISCARD enum weir_status weiri_core_add_batch(struct weiri_core *core,
                                                     const struct weir_key *keys, size_t count,
                                                     bool *ret_were_queued);

/* Makes a valid key wait until time_ns; of two times the earlier stays, unless move is set; of two
 * priorities the more urgent. Errors as weiri_core_add(). */
WEIR_NODISCARD enum weir_status weiri_core_wait(struct weiri_core *core, struct weir_key key,
                                                int64_t time_ns, bool move, int32_t priority,
                                                struct weiri_added *ret_added);

/* Queues every waiting item whose time is at most now_ns, in order of time. */
void weiri_core_pass_time(struct weiri_core *core, int64_t now_ns);

/* Takes a valid key's queued place, dirty mark and pending time away; *ret_taken: it had some.
 * WEIR_EBUSY: it is an item that another queue holds; nothing changed. */
WEIR_NODISCARD enum weir_status weiri_core_cancel(struct weiri_core *core, struct weir_key key,
                                                  bool *ret_taken);

/* Takes every pending time away, counting them as dropped. */
void weiri_core_drop_waiting(struct weiri_core *core);

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_ENVELOPE_H
#define WEIRI_ENVELOPE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/ended.h>
#include <weir/envelope.h>

#include "base/list.h"
#include "cron/plan.h"
#include "queue/item.h"

struct weiri_group;
struct weiri_worker;

/* The part of a periodic envelope. Guarded by its pool's mutex.
 *
 * Two things may bring a run about: the schedule and sends. Each has times of its own here, and the
 * item's pending time is the earliest of them (WEIR_FOREVER: none). While the envelope runs, the
 * schedule has no pending time: the end of the run makes the next one.
 *
 * The schedule of a cron expression also has times, at most a minute away, at which the wall clock
 * is only checked. They queue nothing. */
struct weiri_recurrence {
    struct weiri_plan plan; /* immutable */
    struct weiri_plan_state state;
    bool is_begun;     /* the state is that of a schedule under way */
    bool is_sent;      /* a send is to be run at once */
    bool is_firing;    /* the run under way is for a firing, if also for sends */
    bool is_scheduled; /* counted in the pool's scheduled */
    int64_t wake_ns;
    int64_t later_ns; /* wake_ns before a run for a send; before other runs WEIR_FOREVER */
    int64_t sent_ns;  /* the earliest send for later since the last run began */
    /* The earliest one before that, or before a firing came that was not run yet: a run for that
     * firing covers it, and WEIR_ESTOP drops it. */
    int64_t sent_before_ns;
};

/* The part of an envelope of a group. Guarded by its pool's mutex. */
struct weiri_member {
    weir_envelope *envelope;   /* immutable */
    struct weiri_group *group; /* while it is in flight in a pool that limits groups; else NULL */
    /* While it is queued and not in the ring: in the group, or in the pool's list admitted, */
    struct weiri_list group_link;
    struct weiri_list aside_link; /* and in the pool's list aside */
    bool has_slot;                /* it occupies one of the group's slots */
};

/* An envelope. The parts that only some envelopes have lie behind it, in the same block of memory.
 *
 * The item says where it is: queued, waiting, running (processing), to run again (dirty). It is in
 * flight while the pool's core holds the item. For each flight the pool has one reference, which it
 * gives back after the user was told of the flight's end. */
struct weir_envelope {
    struct weir_item item;

    /* The pool that may use the envelope. Each try of a send sets it by compare and swap. A
     * refused try clears it; else it is cleared, with that pool's mutex held, once the user was
     * told of the end. */
    _Atomic(weir_pool *) owner;

    /* Guarded by the owner's mutex. The run's worker reads failures, and reads and writes
     * is_limited, without it: no other thread accesses them during a run. */
    struct weiri_worker *worker; /* that runs it; NULL: it does not run */
    uint32_t runs;               /* of this flight */
    uint32_t failures;           /* in a row */
    int last_status;             /* of the last run of this flight */
    bool is_limited;             /* the pool's limiter knows the envelope */
    bool is_entering;            /* among the envelopes of a send under way */

    /* The ends of flights that the user has to be told of (pool/ended.h). */
    bool must_forget; /* the limiter has to forget it */
    uint32_t untold;  /* how many; above 0 it is in a list of ends */
    uint32_t tellers; /* threads that tell the user of others now */
    uint32_t dropped; /* runs that were taken away by the last one */
    uint32_t ended_runs;
    int ended_status;
    enum weir_ended_reason reason;
    atomic_uint references;
    struct weiri_list end_link; /* in the list of ends */

    /* Immutable. The options point at copies, in the same block. */
    size_t size; /* of the block */
    struct weir_envelope_options options;
    struct weiri_recurrence *recurrence; /* NULL: it is one-off */
    struct weiri_member *member;         /* NULL: it is of no group */
};

static inline bool weiri_envelope_is_periodic(const weir_envelope *envelope)
{
    return envelope->recurrence != NULL;
}

/* The number of the next run, or of the one under way, among those that failed in a row. */
static inline uint32_t weiri_envelope_attempt(const weir_envelope *envelope)
{
    return envelope->failures + (envelope->failures < UINT32_MAX);
}

static inline weir_envelope *weiri_envelope_of(struct weir_item *item)
{
    return WEIRI_CONTAINER(item, struct weir_envelope, item);
}

/* Checks stamps of options (stamps.c). WEIR_EINVAL, WEIR_ERANGE. */
WEIR_NODISCARD enum weir_status weiri_stamps_check(const struct weir_stamp *stamps, size_t count,
                                                   struct weir_error *ret_error);

/* A schedule that is not under way, without sends. */
void weiri_recur_reset(struct weiri_recurrence *recurrence);

/* Gives one reference back unless it is the last one. True: it was given back. */
bool weiri_envelope_unref_unless_last(weir_envelope *envelope);

#endif

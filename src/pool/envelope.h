/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_ENVELOPE_H
#define WEIRI_ENVELOPE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/envelope.h>
#include <weir/key.h>

#include "base/list.h"
#include "base/sync.h"
#include "pool/recur.h"

struct weiri_member; /* queue/groups.h */

/* What only some envelopes have. Each is a part of the envelope's block, behind the record, in this
 * order; stamps are there by their count, the type is last. Most envelopes have hardly any of it,
 * and there may be a million of them. */
enum weiri_part {
    WEIRI_PART_RECURRENCE = 1, /* struct weiri_recurrence: it is periodic */
    WEIRI_PART_HOOKS = 2,      /* struct weiri_hooks */
    WEIRI_PART_STAMPS = 4,     /* struct weir_stamp, stamp_count of them */
    WEIRI_PART_GROUP = 8,      /* struct weiri_member *, owned: it is of a group */
    WEIRI_PART_ISOLATION = 16, /* struct weir_isolation */
    WEIRI_PART_ALLOCATOR = 32, /* struct weir_allocator: the user's own, else it is libc's */
    WEIRI_PART_TYPE = 64       /* its bytes and NUL, at type_at; else it is "" */
};

/* Immutable; each may be NULL. */
struct weiri_hooks {
    weir_before_fn *before;
    weir_after_fn *after;
    weir_success_fn *success;
    weir_failure_fn *failure;
    weir_outcome_fn *outcome;
};

/* An envelope's record, at the start of its block.
 *
 * What is known of its place and time is known by the item, which belongs to the queue of the pool
 * that holds it. The flight says which pool that is (pool/flight.h). */
struct weir_envelope {
    struct weir_item item;
    atomic_uint references;
    /* Failed in a row. Of whoever runs the envelope, or has its flight to give back, as is_limited
     * is. A run of another flight may begin while the last one's end is still noted here: a retry
     * then comes sooner than it might, and that is all. */
    _Atomic uint32_t attempts;
    _Atomic uint64_t flight;
    /* The ticket of the run that was cancelled last; written under the queue's lock. No ticket is
     * ever used again, so nothing needs to take it back. */
    _Atomic uint64_t cancelled_run;

    /* Immutable. */
    weir_invoke_fn *invoke;
    void *payload;
    weir_release_fn *release;
    uint64_t id;
    int64_t deadline_ns;   /* 0: none */
    uint32_t attempts_max; /* 0: no limit */
    uint16_t stamp_count;
    uint16_t type_at; /* in the block, where it has one */
    uint8_t parts;    /* of enum weiri_part */
    uint8_t flags;    /* of enum weir_envelope_flags */

    atomic_bool is_limited; /* the pool's limiter knows it */
    /* Of a periodic one (pool/recur.h); here, and not in its recurrence, so that a send need not
     * look there. Begun: as attempts; false: its next run is its first. Asks: below, how many sends
     * have left a mark that was not taken, WEIRI_ASKS_MOST: so many or more; above, how often marks
     * were taken. Written by who sends, taken by who runs. */
    atomic_bool is_begun;
    _Atomic uint32_t asks;
};

#define WEIRI_ASKS_BITS 8
#define WEIRI_ASKS_MOST ((UINT32_C(1) << WEIRI_ASKS_BITS) - 1)

static inline bool weiri_envelope_has(const weir_envelope *envelope, enum weiri_part part)
{
    return (envelope->parts & (unsigned)part) != 0;
}

static inline bool weiri_envelope_is_periodic(const weir_envelope *envelope)
{
    return weiri_envelope_has(envelope, WEIRI_PART_RECURRENCE);
}

/* How far from the start of the block a part lies that an envelope with such parts and so many
 * stamps has: behind those that come before it. */
static inline size_t weiri_part_at(unsigned parts, size_t stamp_count, enum weiri_part part)
{
    unsigned before = parts & ((unsigned)part - 1);
    return sizeof(struct weir_envelope) +
           ((before & WEIRI_PART_RECURRENCE) != 0 ? sizeof(struct weiri_recurrence) : 0) +
           ((before & WEIRI_PART_HOOKS) != 0 ? sizeof(struct weiri_hooks) : 0) +
           ((before & WEIRI_PART_STAMPS) != 0 ? stamp_count * sizeof(struct weir_stamp) : 0) +
           ((before & WEIRI_PART_GROUP) != 0 ? sizeof(struct weiri_member *) : 0) +
           ((before & WEIRI_PART_ISOLATION) != 0 ? sizeof(struct weir_isolation) : 0) +
           ((before & WEIRI_PART_ALLOCATOR) != 0 ? sizeof(struct weir_allocator) : 0);
}

/* The part, which the envelope has. */
static inline void *weiri_envelope_part(weir_envelope *envelope, enum weiri_part part)
{
    return (char *)envelope + weiri_part_at(envelope->parts, envelope->stamp_count, part);
}

/* Of a periodic one. */
static inline struct weiri_recurrence *weiri_envelope_recurrence(weir_envelope *envelope)
{
    return (struct weiri_recurrence *)weiri_envelope_part(envelope, WEIRI_PART_RECURRENCE);
}

/* What an envelope without hooks has. */
extern const struct weiri_hooks weiri_no_hooks;

static inline const struct weiri_hooks *weiri_envelope_hooks(weir_envelope *envelope)
{
    return weiri_envelope_has(envelope, WEIRI_PART_HOOKS)
               ? (const struct weiri_hooks *)weiri_envelope_part(envelope, WEIRI_PART_HOOKS)
               : &weiri_no_hooks;
}

/* Not to be read past stamp_count. */
static inline const struct weir_stamp *weiri_envelope_stamps(weir_envelope *envelope)
{
    return (const struct weir_stamp *)weiri_envelope_part(envelope, WEIRI_PART_STAMPS);
}

static inline const char *weiri_envelope_type(const weir_envelope *envelope)
{
    return weiri_envelope_has(envelope, WEIRI_PART_TYPE)
               ? (const char *)envelope + envelope->type_at
               : "";
}

/* NULL: it is of no group. */
static inline struct weiri_member *weiri_envelope_member(weir_envelope *envelope)
{
    return weiri_envelope_has(envelope, WEIRI_PART_GROUP)
               ? *(struct weiri_member **)weiri_envelope_part(envelope, WEIRI_PART_GROUP)
               : NULL;
}

/* Of one that has it. */
static inline const struct weir_isolation *weiri_envelope_isolation(weir_envelope *envelope)
{
    return (const struct weir_isolation *)weiri_envelope_part(envelope, WEIRI_PART_ISOLATION);
}

/* Leaves a mark: to be called before a periodic envelope is added on behalf of a sender. Whoever
 * then finds it queued already can rely on being seen: of this and the taking of the mark one comes
 * first, and with the later one comes what was written before the earlier. Returns what
 * weiri_envelope_unask() wants. */
static inline uint32_t weiri_envelope_ask(weir_envelope *envelope)
{
    weiri_sync_point();
    uint32_t asks = atomic_load_explicit(&envelope->asks, memory_order_relaxed);
    uint32_t more;
    do { /* written also where it stays what it is: who takes it is to see what came before */
        more = (asks & WEIRI_ASKS_MOST) < WEIRI_ASKS_MOST ? asks + 1 : asks;
    } while (!atomic_compare_exchange_weak_explicit(&envelope->asks, &asks, more,
                                                    memory_order_acq_rel, memory_order_relaxed));
    return asks >> WEIRI_ASKS_BITS;
}

/* Takes back the mark of a send that was refused, and is to have changed nothing; takes is what
 * weiri_envelope_ask() returned. Where a worker has taken the mark meanwhile there is none left of
 * it, and what is there is of others. */
void weiri_envelope_unask(weir_envelope *envelope, uint32_t takes);

/* The envelope of an item that a pool's queue handed out. */
static inline weir_envelope *weiri_envelope_of(struct weir_item *item)
{
    return WEIRI_CONTAINER(item, struct weir_envelope, item);
}

#endif

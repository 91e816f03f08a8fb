/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_ENVELOPE_H
#define WEIRI_ENVELOPE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <weir/envelope.h>
#include <weir/key.h>

#include "base/list.h"
#include "base/sync.h"
#include "pool/recur.h"

struct weiri_member; /* queue/groups.h */

/* An envelope's record: one block, with its stamps, its schedule, its isolation and its type behind
 * it.
 *
 * What is known of its place and time is known by the item, which belongs to the queue of the pool
 * that holds it. The flight says which pool that is (pool/flight.h). */
struct weir_envelope {
    struct weir_item item;
    atomic_size_t references;
    _Atomic uint64_t flight;
    /* The ticket of the run that was cancelled last; written under the queue's lock. No ticket is
     * ever used again, so nothing needs to take it back. */
    _Atomic uint64_t cancelled_run;
    struct weiri_member *member; /* of its group; NULL: it is of none */

    /* Immutable. */
    struct weir_allocator allocator;
    uint64_t id;
    void *payload;
    weir_invoke_fn *invoke;
    weir_outcome_fn *outcome;
    weir_release_fn *release;
    weir_before_fn *before;
    weir_after_fn *after;
    weir_success_fn *success;
    weir_failure_fn *failure;
    int64_t deadline_ns; /* 0: none */
    const char *type;
    struct weiri_recurrence *recurrence;    /* NULL: one-off */
    const struct weir_isolation *isolation; /* NULL: none */
    uint32_t attempts_max;                  /* 0: no limit */
    uint32_t flags;
    uint32_t stamp_count;

    /* Of whoever runs the envelope, or has its flight to give back. A run of another flight may
     * begin while the last one's end is still noted here: a retry then comes sooner than it might,
     * and that is all. */
    _Atomic uint32_t attempts; /* failed in a row */
    atomic_bool is_limited;    /* the pool's limiter knows it */

    struct weir_stamp stamps[];
};

static inline bool weiri_envelope_is_periodic(const weir_envelope *envelope)
{
    return envelope->recurrence != NULL;
}

/* The envelope of an item that a pool's queue handed out. */
static inline weir_envelope *weiri_envelope_of(struct weir_item *item)
{
    return WEIRI_CONTAINER(item, struct weir_envelope, item);
}

#endif

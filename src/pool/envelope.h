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

/* An envelope's record: one block, its type included.
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

    /* Immutable. */
    struct weir_allocator allocator;
    uint64_t id;
    void *payload;
    weir_invoke_fn *invoke;
    weir_outcome_fn *outcome;
    weir_release_fn *release;
    int64_t deadline_ns; /* 0: none */
    char type[];
};

/* The envelope of an item that a pool's queue handed out. */
static inline weir_envelope *weiri_envelope_of(struct weir_item *item)
{
    return WEIRI_CONTAINER(item, struct weir_envelope, item);
}

#endif

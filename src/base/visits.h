/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_VISITS_H
#define WEIRI_VISITS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/lock.h"

/* Visits: threads that read what a lock guards without taking it, while the holder changes it.
 * Reading it so must make sense of its own, by atomics; here it is only seen to that no memory is
 * given back that a visitor may still read.
 *
 * A visitor marks a stripe, a word on a cache line of its own, and then looks at the door. Who
 * holds the lock closes the door before it gives memory back, and then looks at the stripes. A full
 * fence lies between the two on either side: so either the visitor finds the door closed and
 * leaves, or the holder finds the stripe marked. Nobody waits: a visitor that finds the door closed
 * takes the lock as if there were no visits; a holder that is not alone leaves the memory for
 * another time, or retires it where it must have other memory now.
 *
 * The lock must be one whose unlocks fence (weiri_lock_is_open). */

struct weiri_stripe {
    _Atomic uint32_t inside;
    char apart[64 - sizeof(uint32_t)];
};

/* Memory that is in use no more, but may be read by visitors. Retired is what is replaced by twice
 * as much: slots of a table of up to 2^31 numbers and an array of up to 2^24 chunks, each beginning
 * at 8 or more, so fifty times at most. What gives memory back instead is done by one who is alone,
 * and then nothing is retired. */
#define WEIRI_RETIRED_MAX 56
struct weiri_retired {
    void *block;
    size_t size;
};

struct weiri_visits {
    _Atomic uint64_t door; /* counts up each time it is closed, and opened; odd: it is closed */
    struct weiri_stripe *stripes;
    uint32_t stripe_count; /* a power of two */
    /* Guarded by the lock. */
    uint32_t retired_count;
    struct weiri_retired retired[WEIRI_RETIRED_MAX];
};

/* The door is open. The stripes are the caller's memory. */
void weiri_visits_init(struct weiri_visits *visits, struct weiri_stripe *stripes,
                       uint32_t stripe_count);
/* Nobody is inside. */
void weiri_visits_fini(struct weiri_visits *visits, const struct weir_allocator *allocator);

/* Closes the door. True: nobody is inside, and nobody will be before it is opened; what was retired
 * is given back. To be called with the lock held, and weiri_visits_open() before it is let go. */
bool weiri_visits_close(struct weiri_visits *visits, const struct weir_allocator *allocator);
void weiri_visits_open(struct weiri_visits *visits);
/* Has memory given back when nobody is inside. */
void weiri_visits_retire(struct weiri_visits *visits, void *block, size_t size);

/* NULL: no visit, for another thread has marked the stripe. All that the caller did before is seen
 * by whoever changes afterwards what the caller then reads. */
static inline struct weiri_stripe *weiri_visits_enter(struct weiri_visits *visits)
{
    uint64_t thread = weiri_lock_thread();
    struct weiri_stripe *stripe = &visits->stripes[thread & (visits->stripe_count - 1)];
    weiri_sync_point();
    if (atomic_exchange_explicit(&stripe->inside, 1, memory_order_seq_cst) != 0) {
        return NULL;
    }
#ifndef __x86_64__ /* there the exchange is a fence */
    weiri_lock_fence();
#endif
    return stripe;
}

static inline void weiri_visits_leave(struct weiri_stripe *stripe)
{
    weiri_sync_point();
    atomic_store_explicit(&stripe->inside, 0, memory_order_release);
}

/* What the door shows. A visitor that finds it odd must leave. */
static inline uint64_t weiri_visits_door(const struct weiri_visits *visits)
{
    weiri_sync_point();
    return atomic_load_explicit(&visits->door, memory_order_acquire);
}

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_FAILURES_H
#define WEIRI_FAILURES_H

#include <stddef.h>
#include <stdint.h>

#include <weir/key.h>
#include <weir/status.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/slabs.h"
#include "base/slots.h"

/* How often each item failed: the memory of limiters that are per item. Plain functions of (state,
 * key, now), without a lock or clock; the limiter around it has the lock.
 *
 * It is bounded twice, so that items which are never forgotten cost neither memory nor time without
 * end: past a count of records the one that failed longest ago is forgotten, and so is each that
 * has not failed for an age. Both to within a second (or a 64th of the age, where that is less),
 * and none before its age: an item that fails again and again so is moved in the order of last
 * failure once in that time only. Records lie densely in slabs (the last one moves into a gap), so
 * that memory goes back when they do; 64 bytes each, one cache line, with keys of up to 32 bytes in
 * them. */

struct weiri_failure;

struct weiri_failures {
    /* Immutable. */
    struct weir_allocator allocator;
    uint64_t seed;
    int64_t age_ns;
    int64_t slack_ns; /* how inexact the order of last failure may be */
    uint32_t limit;

    struct weiri_slots slots; /* from a key's hash to a record's number */
    struct weiri_slabs slabs;
    uint32_t count;  /* records are numbered 1 ... count */
    uint32_t oldest; /* numbers of the ends of the order of last failure; 0: no record */
    uint32_t newest;
    int64_t now_ns;  /* the latest time seen; callers' times may arrive out of order */
    int64_t next_ns; /* before this time no record is too old */
};

/* The largest limit. */
#define WEIRI_FAILURES_LIMIT_MAX ((size_t)1 << 30)

/* Does not allocate. 0 < limit <= WEIRI_FAILURES_LIMIT_MAX; age_ns > 0, INT64_MAX: no age is too
 * great. */
void weiri_failures_init(struct weiri_failures *failures, const struct weir_allocator *allocator,
                         size_t limit, int64_t age_ns, uint64_t seed);
void weiri_failures_fini(struct weiri_failures *failures);

/* Of a valid key, for the functions below; may be computed outside of the lock. */
static inline uint32_t weiri_failures_hash(const struct weiri_failures *failures,
                                           struct weir_key key)
{
    return (uint32_t)weiri_hash_key(key, failures->seed);
}

/* Counts one more failure; *ret_before is how many there were. WEIR_ENOMEM: nothing was counted. */
WEIR_NODISCARD enum weir_status weiri_failures_add(struct weiri_failures *failures,
                                                   struct weir_key key, uint32_t hash,
                                                   int64_t now_ns, uint64_t *ret_before);
/* Takes one failure back, where there is one. */
void weiri_failures_undo(struct weiri_failures *failures, struct weir_key key, uint32_t hash);
void weiri_failures_forget(struct weiri_failures *failures, struct weir_key key, uint32_t hash);
/* How many there were by the latest time seen. */
uint64_t weiri_failures_read(const struct weiri_failures *failures, struct weir_key key,
                             uint32_t hash);

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_FAILURES_H
#define WEIRI_FAILURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/key.h>
#include <weir/status.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/inline.h"
#include "base/slabs.h"
#include "base/slots.h"
#include "base/time.h"

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

#define WEIRI_FAILURE_INLINE 32
/* The key_size of an embedded item, whose key here is its address's bytes. */
#define WEIRI_FAILURE_ITEM UINT32_MAX

struct weiri_failure {
    uint64_t count;
    int64_t touched_ns; /* the time of the last failure, at most slack_ns after this */
    uint32_t older;     /* numbers of the neighbours in order of touched_ns; 0: none */
    uint32_t newer;
    uint32_t hash;
    uint32_t key_size;
    union {
        char bytes[WEIRI_FAILURE_INLINE];
        char *block; /* of a longer key */
    } key;
};

_Static_assert(sizeof(struct weiri_failure) == 64, "a record is a cache line");

#define WEIRI_FAILURES_SLAB_BITS 6
#define WEIRI_FAILURES_SLAB (1u << WEIRI_FAILURES_SLAB_BITS)

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

/* Takes one failure back, where there is one. */
void weiri_failures_undo(struct weiri_failures *failures, struct weir_key key, uint32_t hash);
/* How many there were by the latest time seen. */
uint64_t weiri_failures_read(const struct weiri_failures *failures, struct weir_key key,
                             uint32_t hash);

/* The parts of the two functions below that are not in the way of every call. */
void weiri_failures_remove_expired(struct weiri_failures *failures);
void weiri_failures_renew(struct weiri_failures *failures, uint32_t number);
/* Where the search for the key ended at that slot; without meaning while there is no slot. */
WEIR_NODISCARD enum weir_status weiri_failures_insert(struct weiri_failures *failures,
                                                      struct weir_key key, uint32_t hash,
                                                      size_t at);
void weiri_failures_remove(struct weiri_failures *failures, struct weiri_slot *slot);

static inline struct weiri_failure *weiri_failures_at(const struct weiri_failures *failures,
                                                      uint32_t number)
{
    uint32_t index = number - 1;
    struct weiri_failure *slab = failures->slabs.slabs[index >> WEIRI_FAILURES_SLAB_BITS];
    return &slab[index & (WEIRI_FAILURES_SLAB - 1)];
}

/* Whether a key of this key_size lies in a block of its own. */
static inline bool weiri_failure_has_block(uint32_t key_size)
{
    return key_size > WEIRI_FAILURE_INLINE && key_size != WEIRI_FAILURE_ITEM;
}

/* The slot of the key's record; NULL: it has none, and *ret_at is the empty slot where the search
 * ended, if there are slots at all. */
WEIRI_INLINE struct weiri_slot *weiri_failures_search(const struct weiri_failures *failures,
                                                      struct weir_key key, uint32_t hash,
                                                      size_t *ret_at)
{
    const struct weiri_slots *slots = &failures->slots;
    if (slots->capacity == 0) {
        return NULL;
    }
    bool is_item = key.size == WEIR_KEY_ITEM;
    uint32_t key_size = is_item ? WEIRI_FAILURE_ITEM : (uint32_t)key.size;
    const void *bytes = is_item ? (const void *)&key.data : key.data;
    size_t count = is_item ? sizeof(key.data) : key.size;
    size_t at = weiri_slots_home(slots, hash);
    for (; slots->slots[at].number != 0; at = weiri_slots_next(slots, at)) {
        struct weiri_slot *slot = &slots->slots[at];
        if (slot->hash != hash) {
            continue;
        }
        const struct weiri_failure *record = weiri_failures_at(failures, slot->number);
        if (record->key_size == key_size &&
            weiri_same_bytes(weiri_failure_has_block(key_size) ? record->key.block
                                                               : record->key.bytes,
                             bytes, count)) {
            return slot;
        }
    }
    *ret_at = at;
    return NULL;
}

static inline struct weiri_slot *weiri_failures_find(const struct weiri_failures *failures,
                                                     struct weir_key key, uint32_t hash)
{
    size_t at;
    return weiri_failures_search(failures, key, hash, &at);
}

/* Counts one more failure; *ret_before is how many there were. WEIR_ENOMEM: nothing was counted. */
WEIR_NODISCARD static inline enum weir_status weiri_failures_add(struct weiri_failures *failures,
                                                                 struct weir_key key, uint32_t hash,
                                                                 int64_t now_ns,
                                                                 uint64_t *ret_before)
{
    if (now_ns > failures->now_ns) {
        failures->now_ns = now_ns;
    }
    if (failures->now_ns >= failures->next_ns) {
        weiri_failures_remove_expired(failures);
    }
    size_t at = 0;
    const struct weiri_slot *slot = weiri_failures_search(failures, key, hash, &at);
    if (slot == NULL) {
        enum weir_status status = weiri_failures_insert(failures, key, hash, at);
        if (status == WEIR_OK) {
            *ret_before = 0;
        }
        return status;
    }
    struct weiri_failure *record = weiri_failures_at(failures, slot->number);
    if (weiri_time_sub(failures->now_ns, record->touched_ns) > failures->slack_ns) {
        weiri_failures_renew(failures, slot->number);
    }
    *ret_before = record->count;
    record->count += record->count < UINT64_MAX;
    return WEIR_OK;
}

static inline void weiri_failures_forget(struct weiri_failures *failures, struct weir_key key,
                                         uint32_t hash)
{
    struct weiri_slot *slot = weiri_failures_find(failures, key, hash);
    if (slot != NULL) {
        weiri_failures_remove(failures, slot);
    }
}

#endif

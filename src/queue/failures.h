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
 * name, now), without a lock or clock; the limiter around it has the lock.
 *
 * It is bounded twice, so that items which are never forgotten cost neither memory nor time without
 * end: past a count of records the one that failed longest ago is forgotten, and so is each that
 * has not failed for an age. Both to within a second (or a 64th of the age, where that is less),
 * and none before its age: an item that fails again and again so is moved in the order of last
 * failure once in that time only. Records lie densely in slabs (the last one moves into a gap), so
 * that memory goes back when they do; 64 bytes each, one cache line, with keys of up to 32 bytes in
 * them. */

#define WEIRI_FAILURE_INLINE 32
/* The key_size of an embedded item, whose key here is its address. */
#define WEIRI_FAILURE_ITEM UINT32_MAX

struct weiri_failure {
    uint64_t count;
    int64_t touched_ns; /* the time of the last failure, at most slack_ns after this */
    uint32_t older;     /* numbers of the neighbours in order of touched_ns; 0: none */
    uint32_t newer;
    uint32_t hash;
    uint32_t key_size;
    union {
        struct weiri_words words; /* of up to sixteen bytes, or an address */
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

/* A valid key as the table knows it. What can be found out before the lock is taken is in it. */
struct weiri_name {
    struct weiri_words words; /* where it is short */
    const void *bytes;        /* where it is not */
    uint32_t hash;
    uint32_t size; /* WEIRI_FAILURE_ITEM: an embedded item's */
};

/* Whether a key of this size is compared by its words. */
static inline bool weiri_failure_is_short(uint32_t size)
{
    return size <= 16 || size == WEIRI_FAILURE_ITEM;
}

/* The name of a key that is an embedded item or has at most sixteen bytes. */
WEIRI_INLINE struct weiri_name weiri_failures_name_short(const struct weiri_failures *failures,
                                                         struct weir_key key)
{
    struct weiri_words words = {(uint64_t)(uintptr_t)key.data, 0};
    if (key.size != WEIR_KEY_ITEM) {
        words = weiri_words(key.data, key.size);
    }
    uint64_t hash = weiri_hash_words(words, key.size, failures->seed);
    return (struct weiri_name){.words = words, .hash = (uint32_t)hash, .size = (uint32_t)key.size};
}

static inline bool weiri_failures_is_key_short(struct weir_key key)
{
    return key.size <= 16 || key.size == WEIR_KEY_ITEM;
}

/* The name of any key, whose bytes it borrows. */
static inline struct weiri_name weiri_failures_name(const struct weiri_failures *failures,
                                                    struct weir_key key)
{
    if (weiri_failures_is_key_short(key)) {
        return weiri_failures_name_short(failures, key);
    }
    return (struct weiri_name){.bytes = key.data,
                               .hash =
                                   (uint32_t)weiri_hash_long(key.data, key.size, failures->seed),
                               .size = (uint32_t)key.size};
}

/* Takes one failure back, where there is one. */
void weiri_failures_undo(struct weiri_failures *failures, struct weiri_name name);
/* How many there were by the latest time seen. */
uint64_t weiri_failures_read(const struct weiri_failures *failures, struct weiri_name name);

/* The parts of the functions below that are not in the way of every call. */
void weiri_failures_remove_expired(struct weiri_failures *failures);
void weiri_failures_renew(struct weiri_failures *failures, uint32_t number);
/* Where the search for the name ended at that slot; without meaning while there is no slot. */
WEIR_NODISCARD enum weir_status weiri_failures_insert(struct weiri_failures *failures,
                                                      struct weiri_name name, size_t at);
void weiri_failures_remove(struct weiri_failures *failures, struct weiri_slot *slot);
bool weiri_failures_is_long(const struct weiri_failure *record, const void *bytes);

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

/* Whether the record is that of the name, whose hash it has. */
WEIRI_INLINE bool weiri_failure_is(const struct weiri_failure *record, struct weiri_name name)
{
    if (record->key_size != name.size) {
        return false;
    }
    if (!weiri_failure_is_short(name.size)) {
        return weiri_failures_is_long(record, name.bytes);
    }
    return ((record->key.words.first ^ name.words.first) |
            (record->key.words.second ^ name.words.second)) == 0;
}

/* The slot of the name's record; NULL: it has none, and *ret_at is the empty slot where the search
 * ended, if there are slots at all. */
WEIRI_INLINE struct weiri_slot *weiri_failures_search(const struct weiri_failures *failures,
                                                      struct weiri_name name, size_t *ret_at)
{
    const struct weiri_slots *slots = &failures->slots;
    if (!WEIRI_LIKELY(slots->capacity != 0)) {
        return NULL;
    }
    size_t at = weiri_slots_home(slots, name.hash);
    for (; slots->slots[at].number != 0; at = weiri_slots_next(slots, at)) {
        struct weiri_slot *slot = &slots->slots[at];
        if (slot->hash == name.hash &&
            WEIRI_LIKELY(weiri_failure_is(weiri_failures_at(failures, slot->number), name))) {
            return slot;
        }
    }
    *ret_at = at;
    return NULL;
}

static inline struct weiri_slot *weiri_failures_find(const struct weiri_failures *failures,
                                                     struct weiri_name name)
{
    size_t at;
    return weiri_failures_search(failures, name, &at);
}

static inline void weiri_failures_set_newer(struct weiri_failures *failures, uint32_t number,
                                            uint32_t newer)
{
    if (number == 0) {
        failures->oldest = newer;
    } else {
        weiri_failures_at(failures, number)->newer = newer;
    }
}

/* Puts a record last in the order of last failure. */
static inline void weiri_failures_link_newest(struct weiri_failures *failures, uint32_t number,
                                              struct weiri_failure *record)
{
    record->older = failures->newest;
    record->newer = 0;
    weiri_failures_set_newer(failures, record->older, number);
    failures->newest = number;
}

/* Makes the record of a name's first failure, for which there is memory, but for a long key; which
 * slot leads to it is the caller's. */
static inline struct weiri_failure *weiri_failures_put(struct weiri_failures *failures,
                                                       struct weiri_name name)
{
    uint32_t number = ++failures->count;
    struct weiri_failure *record = weiri_failures_at(failures, number);
    record->count = 1;
    record->touched_ns = failures->now_ns;
    record->hash = name.hash;
    record->key_size = name.size;
    /* One by one: copied at once they would have to be in memory before. */
    record->key.words.first = name.words.first;
    record->key.words.second = name.words.second;
    weiri_failures_link_newest(failures, number, record);
    return record;
}

static inline bool weiri_failures_have_record(const struct weiri_failures *failures)
{
    return failures->count < failures->slabs.count << WEIRI_FAILURES_SLAB_BITS;
}

/* weiri_failures_add() of a short name where nothing is in the way: nothing too old, no memory to
 * get, no place in the order to renew. False: nothing changed. */
WEIRI_INLINE bool weiri_failures_add_quick(struct weiri_failures *failures, struct weiri_name name,
                                           int64_t now_ns, uint64_t *ret_before)
{
    if (now_ns < failures->now_ns) {
        now_ns = failures->now_ns;
    }
    if (!WEIRI_LIKELY(now_ns < failures->next_ns)) {
        return false;
    }
    size_t at = 0;
    const struct weiri_slot *slot = weiri_failures_search(failures, name, &at);
    if (slot == NULL) {
        if (!WEIRI_LIKELY(failures->count < failures->limit &&
                          weiri_slots_have_room(&failures->slots) &&
                          weiri_failures_have_record(failures))) {
            return false;
        }
        failures->now_ns = now_ns;
        (void)weiri_failures_put(failures, name);
        weiri_slots_put(&failures->slots, at, name.hash, failures->count);
        *ret_before = 0;
        return true;
    }
    struct weiri_failure *record = weiri_failures_at(failures, slot->number);
    if (!WEIRI_LIKELY(weiri_time_sub(now_ns, record->touched_ns) <= failures->slack_ns)) {
        return false;
    }
    failures->now_ns = now_ns;
    *ret_before = record->count;
    record->count += record->count < UINT64_MAX;
    return true;
}

/* Counts one more failure; *ret_before is how many there were. WEIR_ENOMEM: nothing was counted. */
WEIR_NODISCARD static inline enum weir_status weiri_failures_add(struct weiri_failures *failures,
                                                                 struct weiri_name name,
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
    const struct weiri_slot *slot = weiri_failures_search(failures, name, &at);
    if (slot == NULL) {
        enum weir_status status = weiri_failures_insert(failures, name, at);
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

static inline void weiri_failures_forget(struct weiri_failures *failures, struct weiri_name name)
{
    struct weiri_slot *slot = weiri_failures_find(failures, name);
    if (slot != NULL) {
        weiri_failures_remove(failures, slot);
    }
}

#endif

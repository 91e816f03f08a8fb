/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/failures.h"

#include <stdbool.h>
#include <string.h>

#include "base/hash.h"
#include "base/panic.h"
#include "base/time.h"

#define INLINE_SIZE 32
#define SLAB_BITS 6
#define SLAB_RECORDS (1u << SLAB_BITS)
#define SLAB_SIZE (SLAB_RECORDS * sizeof(struct weiri_failure))
#define SLACK_MAX INT64_C(1000000000)
#define ITEM_SIZE                                                                                  \
    UINT32_MAX /* key_size of an embedded item, whose key here is its address's bytes */

struct weiri_failure {
    uint64_t count;
    int64_t touched_ns; /* the time of the last failure, at most slack_ns after this */
    uint32_t older;     /* numbers of the neighbours in order of touched_ns; 0: none */
    uint32_t newer;
    uint32_t hash;
    uint32_t key_size;
    union {
        char bytes[INLINE_SIZE];
        char *block; /* of a longer key */
    } key;
};

_Static_assert(sizeof(struct weiri_failure) == 64, "a record is a cache line");

static struct weiri_failure *record_at(const struct weiri_failures *failures, uint32_t number)
{
    uint32_t index = number - 1;
    struct weiri_failure *slab = failures->slabs.slabs[index >> SLAB_BITS];
    return &slab[index & (SLAB_RECORDS - 1)];
}

/* Whether a key of this key_size lies in a block of its own. */
static inline bool has_block(uint32_t key_size)
{
    return key_size > INLINE_SIZE && key_size != ITEM_SIZE;
}

/* The slot of the key's record; NULL: it has none. */
static inline struct weiri_slot *find(const struct weiri_failures *failures, struct weir_key key,
                                      uint32_t hash)
{
    const struct weiri_slots *slots = &failures->slots;
    if (slots->used == 0) {
        return NULL;
    }
    bool is_item = key.size == WEIR_KEY_ITEM;
    uint32_t key_size = is_item ? ITEM_SIZE : (uint32_t)key.size;
    const void *bytes = is_item ? (const void *)&key.data : key.data;
    size_t count = is_item ? sizeof(key.data) : key.size;
    for (size_t at = weiri_slots_home(slots, hash); slots->slots[at].number != 0;
         at = weiri_slots_next(slots, at)) {
        struct weiri_slot *slot = &slots->slots[at];
        if (slot->hash != hash) {
            continue;
        }
        const struct weiri_failure *record = record_at(failures, slot->number);
        if (record->key_size == key_size &&
            weiri_same_bytes(has_block(key_size) ? record->key.block : record->key.bytes, bytes,
                             count)) {
            return slot;
        }
    }
    return NULL;
}

static inline bool is_expired(const struct weiri_failures *failures,
                              const struct weiri_failure *record)
{
    return weiri_time_sub(failures->now_ns, record->touched_ns) >= failures->age_ns;
}

static void set_newer(struct weiri_failures *failures, uint32_t number, uint32_t newer)
{
    if (number == 0) {
        failures->oldest = newer;
    } else {
        record_at(failures, number)->newer = newer;
    }
}

static void set_older(struct weiri_failures *failures, uint32_t number, uint32_t older)
{
    if (number == 0) {
        failures->newest = older;
    } else {
        record_at(failures, number)->older = older;
    }
}

static void unlink_record(struct weiri_failures *failures, const struct weiri_failure *record)
{
    set_newer(failures, record->older, record->newer);
    set_older(failures, record->newer, record->older);
}

static void link_newest(struct weiri_failures *failures, uint32_t number)
{
    struct weiri_failure *record = record_at(failures, number);
    record->older = failures->newest;
    record->newer = 0;
    set_newer(failures, record->older, number);
    failures->newest = number;
}

static void remove_record(struct weiri_failures *failures, struct weiri_slot *slot)
{
    uint32_t number = slot->number;
    struct weiri_failure *record = record_at(failures, number);
    weiri_slots_delete(&failures->slots, slot);
    unlink_record(failures, record);
    if (has_block(record->key_size)) {
        weiri_release(&failures->allocator, record->key.block, record->key_size);
    }
    uint32_t last = failures->count;
    if (number != last) {
        *record = *record_at(failures, last);
        weiri_slots_of(&failures->slots, record->hash, last)->number = number;
        set_newer(failures, record->older, number);
        set_older(failures, record->newer, number);
    }
    failures->count--;
    size_t keep = weiri_slabs_to_keep(failures->count, SLAB_RECORDS);
    if (failures->slabs.count > keep) {
        weiri_slabs_trim(&failures->slabs, &failures->allocator, SLAB_SIZE, keep);
    }
    weiri_slots_trim(&failures->slots, &failures->allocator);
}

static void remove_oldest(struct weiri_failures *failures)
{
    uint32_t number = failures->oldest;
    remove_record(failures,
                  weiri_slots_of(&failures->slots, record_at(failures, number)->hash, number));
}

/* Two at most for each failure: more than can arrive, so that all go in the end, and never a long
 * stop for one caller. */
static void remove_expired(struct weiri_failures *failures)
{
    for (int i = 0; i < 2 && failures->count > 0; i++) {
        if (!is_expired(failures, record_at(failures, failures->oldest))) {
            break;
        }
        remove_oldest(failures);
    }
    /* Whoever fails from now on is too old no sooner than an age from now. */
    int64_t start_ns =
        failures->count > 0 ? record_at(failures, failures->oldest)->touched_ns : failures->now_ns;
    failures->next_ns = weiri_time_add(start_ns, failures->age_ns);
}

/* Everything that may fail comes before anything that changes what is remembered. */
static enum weir_status add_record(struct weiri_failures *failures, struct weir_key key,
                                   uint32_t hash)
{
    bool is_full = failures->count == failures->limit;
    if (!is_full) {
        if (weiri_slots_reserve(&failures->slots, &failures->allocator) != WEIR_OK ||
            (failures->count == failures->slabs.count << SLAB_BITS &&
             weiri_slabs_grow(&failures->slabs, &failures->allocator, SLAB_SIZE) != WEIR_OK)) {
            return WEIR_ENOMEM;
        }
    }
    char *block = NULL;
    if (key.size != WEIR_KEY_ITEM && key.size > INLINE_SIZE) {
        block = weiri_alloc(&failures->allocator, key.size);
        if (block == NULL) {
            return WEIR_ENOMEM;
        }
        memcpy(block, key.data, key.size);
    }
    if (is_full) {
        remove_oldest(failures);
    }

    uint32_t number = ++failures->count;
    struct weiri_failure *record = record_at(failures, number);
    record->count = 1;
    record->touched_ns = failures->now_ns;
    record->hash = hash;
    if (key.size == WEIR_KEY_ITEM) {
        record->key_size = ITEM_SIZE;
        memcpy(record->key.bytes, &key.data, sizeof(key.data));
    } else {
        record->key_size = (uint32_t)key.size;
        if (block != NULL) {
            record->key.block = block;
        } else if (key.size > 0) {
            memcpy(record->key.bytes, key.data, key.size);
        }
    }
    link_newest(failures, number);
    weiri_slots_insert(&failures->slots, hash, number);
    return WEIR_OK;
}

void weiri_failures_init(struct weiri_failures *failures, const struct weir_allocator *allocator,
                         size_t limit, int64_t age_ns, uint64_t seed)
{
    WEIRI_ASSERT(limit > 0 && limit <= WEIRI_FAILURES_LIMIT_MAX && age_ns > 0);
    int64_t slack_ns = age_ns / 64 < SLACK_MAX ? age_ns / 64 : SLACK_MAX;
    *failures = (struct weiri_failures){
        .allocator = *allocator,
        .seed = seed,
        .limit = (uint32_t)limit,
        .age_ns = weiri_time_add(age_ns, slack_ns),
        .slack_ns = slack_ns,
        .now_ns = INT64_MIN,
        .next_ns = INT64_MIN,
    };
}

void weiri_failures_fini(struct weiri_failures *failures)
{
    const struct weir_allocator *allocator = &failures->allocator;
    for (uint32_t number = 1; number <= failures->count; number++) {
        struct weiri_failure *record = record_at(failures, number);
        if (has_block(record->key_size)) {
            weiri_release(allocator, record->key.block, record->key_size);
        }
    }
    weiri_slabs_fini(&failures->slabs, allocator, SLAB_SIZE);
    weiri_slots_fini(&failures->slots, allocator);
}

enum weir_status weiri_failures_add(struct weiri_failures *failures, struct weir_key key,
                                    uint32_t hash, int64_t now_ns, uint64_t *ret_before)
{
    if (now_ns > failures->now_ns) {
        failures->now_ns = now_ns;
    }
    if (failures->now_ns >= failures->next_ns) {
        remove_expired(failures);
    }
    const struct weiri_slot *slot = find(failures, key, hash);
    if (slot == NULL) {
        enum weir_status status = add_record(failures, key, hash);
        if (status == WEIR_OK) {
            *ret_before = 0;
        }
        return status;
    }
    struct weiri_failure *record = record_at(failures, slot->number);
    uint64_t before = record->count;
    int64_t since_ns = weiri_time_sub(failures->now_ns, record->touched_ns);
    if (since_ns > failures->slack_ns) {
        before = since_ns >= failures->age_ns ? 0 : before;
        record->touched_ns = failures->now_ns;
        unlink_record(failures, record);
        link_newest(failures, slot->number);
    }
    record->count = before == UINT64_MAX ? before : before + 1;
    *ret_before = before;
    return WEIR_OK;
}

void weiri_failures_undo(struct weiri_failures *failures, struct weir_key key, uint32_t hash)
{
    struct weiri_slot *slot = find(failures, key, hash);
    if (slot == NULL) {
        return;
    }
    struct weiri_failure *record = record_at(failures, slot->number);
    if (record->count > 1) {
        record->count--;
    } else {
        remove_record(failures, slot);
    }
}

void weiri_failures_forget(struct weiri_failures *failures, struct weir_key key, uint32_t hash)
{
    struct weiri_slot *slot = find(failures, key, hash);
    if (slot != NULL) {
        remove_record(failures, slot);
    }
}

uint64_t weiri_failures_read(const struct weiri_failures *failures, struct weir_key key,
                             uint32_t hash)
{
    const struct weiri_slot *slot = find(failures, key, hash);
    if (slot == NULL) {
        return 0;
    }
    const struct weiri_failure *record = record_at(failures, slot->number);
    return is_expired(failures, record) ? 0 : record->count;
}

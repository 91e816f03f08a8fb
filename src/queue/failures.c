/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/failures.h"

#include <stdbool.h>
#include <string.h>

#include "base/hash.h"
#include "base/panic.h"
#include "base/time.h"

#define SLAB_SIZE (WEIRI_FAILURES_SLAB * sizeof(struct weiri_failure))
#define SLACK_MAX INT64_C(1000000000)

static inline bool is_expired(const struct weiri_failures *failures,
                              const struct weiri_failure *record)
{
    /* No age is the end of the range, where a difference is held too. */
    return failures->age_ns != INT64_MAX &&
           weiri_time_sub(failures->now_ns, record->touched_ns) >= failures->age_ns;
}

static void set_newer(struct weiri_failures *failures, uint32_t number, uint32_t newer)
{
    if (number == 0) {
        failures->oldest = newer;
    } else {
        weiri_failures_at(failures, number)->newer = newer;
    }
}

static void set_older(struct weiri_failures *failures, uint32_t number, uint32_t older)
{
    if (number == 0) {
        failures->newest = older;
    } else {
        weiri_failures_at(failures, number)->older = older;
    }
}

static void unlink_record(struct weiri_failures *failures, const struct weiri_failure *record)
{
    set_newer(failures, record->older, record->newer);
    set_older(failures, record->newer, record->older);
}

static void link_newest(struct weiri_failures *failures, uint32_t number)
{
    struct weiri_failure *record = weiri_failures_at(failures, number);
    record->older = failures->newest;
    record->newer = 0;
    set_newer(failures, record->older, number);
    failures->newest = number;
}

void weiri_failures_remove(struct weiri_failures *failures, struct weiri_slot *slot)
{
    uint32_t number = slot->number;
    struct weiri_failure *record = weiri_failures_at(failures, number);
    weiri_slots_delete(&failures->slots, slot);
    unlink_record(failures, record);
    if (weiri_failure_has_block(record->key_size)) {
        weiri_release(&failures->allocator, record->key.block, record->key_size);
    }
    uint32_t last = failures->count;
    if (number != last) {
        *record = *weiri_failures_at(failures, last);
        weiri_slots_of(&failures->slots, record->hash, last)->number = number;
        set_newer(failures, record->older, number);
        set_older(failures, record->newer, number);
    }
    failures->count--;
    size_t keep = weiri_slabs_to_keep(failures->count, WEIRI_FAILURES_SLAB);
    if (failures->slabs.count > keep) {
        weiri_slabs_trim(&failures->slabs, &failures->allocator, SLAB_SIZE, keep);
    }
    weiri_slots_trim(&failures->slots, &failures->allocator);
}

static void remove_oldest(struct weiri_failures *failures)
{
    uint32_t number = failures->oldest;
    weiri_failures_remove(
        failures,
        weiri_slots_of(&failures->slots, weiri_failures_at(failures, number)->hash, number));
}

/* Two at most for each failure: more than can arrive, so that all go in the end, and never a long
 * stop for one caller. */
void weiri_failures_remove_expired(struct weiri_failures *failures)
{
    for (int i = 0; i < 2 && failures->count > 0; i++) {
        if (!is_expired(failures, weiri_failures_at(failures, failures->oldest))) {
            break;
        }
        remove_oldest(failures);
    }
    /* Whoever fails from now on is too old no sooner than an age from now. */
    int64_t start_ns = failures->count > 0
                           ? weiri_failures_at(failures, failures->oldest)->touched_ns
                           : failures->now_ns;
    failures->next_ns = weiri_time_add(start_ns, failures->age_ns);
}

/* Copies a key that does not fit into a record. NULL for lack of memory. */
static char *copy_key(const struct weiri_failures *failures, struct weir_key key)
{
    char *block = weiri_alloc(&failures->allocator, key.size);
    if (block != NULL) {
        memcpy(block, key.data, key.size);
    }
    return block;
}

static void set_key(struct weiri_failure *record, struct weir_key key, char *block)
{
    record->key_size = key.size == WEIR_KEY_ITEM ? WEIRI_FAILURE_ITEM : (uint32_t)key.size;
    if (key.size <= 16) {
        weiri_copy_short(record->key.bytes, key.data, key.size);
    } else if (key.size == WEIR_KEY_ITEM) {
        memcpy(record->key.bytes, &key.data, sizeof(key.data));
    } else if (block == NULL) {
        memcpy(record->key.bytes, key.data, key.size);
    } else {
        record->key.block = block;
    }
}

/* Everything that may fail comes before anything that changes what is remembered. */
enum weir_status weiri_failures_insert(struct weiri_failures *failures, struct weir_key key,
                                       uint32_t hash, size_t at)
{
    bool is_full = failures->count == failures->limit;
    bool has_slot = !is_full && weiri_slots_have_room(&failures->slots);
    if (!is_full && !has_slot &&
        weiri_slots_reserve(&failures->slots, &failures->allocator) != WEIR_OK) {
        return WEIR_ENOMEM;
    }
    if (!is_full && failures->count == failures->slabs.count << WEIRI_FAILURES_SLAB_BITS &&
        weiri_slabs_grow(&failures->slabs, &failures->allocator, SLAB_SIZE) != WEIR_OK) {
        return WEIR_ENOMEM;
    }
    char *block = NULL;
    if (key.size != WEIR_KEY_ITEM && key.size > WEIRI_FAILURE_INLINE) {
        block = copy_key(failures, key);
        if (block == NULL) {
            return WEIR_ENOMEM;
        }
    }
    if (is_full) {
        remove_oldest(failures);
    }
    uint32_t number = ++failures->count;
    struct weiri_failure *record = weiri_failures_at(failures, number);
    record->count = 1;
    record->touched_ns = failures->now_ns;
    record->hash = hash;
    set_key(record, key, block);
    link_newest(failures, number);
    if (has_slot) {
        weiri_slots_put(&failures->slots, at, hash, number);
    } else {
        weiri_slots_insert(&failures->slots, hash, number);
    }
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
        struct weiri_failure *record = weiri_failures_at(failures, number);
        if (weiri_failure_has_block(record->key_size)) {
            weiri_release(allocator, record->key.block, record->key_size);
        }
    }
    weiri_slabs_fini(&failures->slabs, allocator, SLAB_SIZE);
    weiri_slots_fini(&failures->slots, allocator);
}

/* An item failed that had not done so for longer than the slack: puts it last again. */
void weiri_failures_renew(struct weiri_failures *failures, uint32_t number)
{
    struct weiri_failure *record = weiri_failures_at(failures, number);
    if (is_expired(failures, record)) {
        record->count = 0;
    }
    record->touched_ns = failures->now_ns;
    unlink_record(failures, record);
    link_newest(failures, number);
}

void weiri_failures_undo(struct weiri_failures *failures, struct weir_key key, uint32_t hash)
{
    struct weiri_slot *slot = weiri_failures_find(failures, key, hash);
    if (slot == NULL) {
        return;
    }
    struct weiri_failure *record = weiri_failures_at(failures, slot->number);
    if (record->count > 1) {
        record->count--;
    } else {
        weiri_failures_remove(failures, slot);
    }
}

uint64_t weiri_failures_read(const struct weiri_failures *failures, struct weir_key key,
                             uint32_t hash)
{
    const struct weiri_slot *slot = weiri_failures_find(failures, key, hash);
    if (slot == NULL) {
        return 0;
    }
    const struct weiri_failure *record = weiri_failures_at(failures, slot->number);
    return is_expired(failures, record) ? 0 : record->count;
}

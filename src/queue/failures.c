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
    weiri_failures_set_newer(failures, record->older, record->newer);
    set_older(failures, record->newer, record->older);
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
        weiri_failures_set_newer(failures, record->older, number);
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

bool weiri_failures_is_long(const struct weiri_failure *record, const void *bytes)
{
    size_t size = record->key_size;
    return memcmp(size > WEIRI_FAILURE_INLINE ? record->key.block : record->key.bytes, bytes,
                  size) == 0;
}

/* Everything that may fail comes before anything that changes what is remembered. */
enum weir_status weiri_failures_insert(struct weiri_failures *failures, struct weiri_name name,
                                       size_t at)
{
    bool is_full = failures->count == failures->limit;
    bool has_slot = !is_full && weiri_slots_have_room(&failures->slots);
    if (!is_full && !has_slot &&
        weiri_slots_reserve(&failures->slots, &failures->allocator) != WEIR_OK) {
        return WEIR_ENOMEM;
    }
    if (!is_full && !weiri_failures_have_record(failures) &&
        weiri_slabs_grow(&failures->slabs, &failures->allocator, SLAB_SIZE) != WEIR_OK) {
        return WEIR_ENOMEM;
    }
    char *block = NULL;
    if (weiri_failure_has_block(name.size)) {
        block = weiri_alloc(&failures->allocator, name.size);
        if (block == NULL) {
            return WEIR_ENOMEM;
        }
        memcpy(block, name.bytes, name.size);
    }
    if (is_full) {
        remove_oldest(failures);
    }
    struct weiri_failure *record = weiri_failures_put(failures, name);
    if (block != NULL) {
        record->key.block = block;
    } else if (!weiri_failure_is_short(name.size)) {
        memcpy(record->key.bytes, name.bytes, name.size);
    }
    if (has_slot) {
        weiri_slots_put(&failures->slots, at, name.hash, failures->count);
    } else {
        weiri_slots_insert(&failures->slots, name.hash, failures->count);
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
    weiri_failures_link_newest(failures, number, record);
}

void weiri_failures_undo(struct weiri_failures *failures, struct weiri_name name)
{
    struct weiri_slot *slot = weiri_failures_find(failures, name);
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

uint64_t weiri_failures_read(const struct weiri_failures *failures, struct weiri_name name)
{
    const struct weiri_slot *slot = weiri_failures_find(failures, name);
    if (slot == NULL) {
        return 0;
    }
    const struct weiri_failure *record = weiri_failures_at(failures, slot->number);
    return is_expired(failures, record) ? 0 : record->count;
}

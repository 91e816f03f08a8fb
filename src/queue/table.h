/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_TABLE_H
#define WEIRI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/status.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/inline.h"
#include "base/list.h"
#include "base/panic.h"
#include "base/slots.h"
#include "queue/records.h"
#include "queue/view.h"

/* From a key to its record. */
struct weiri_table {
    struct weiri_slots slots;
    struct weiri_records records;
    uint64_t seed;
};

void weiri_table_init(struct weiri_table *table, uint64_t seed);
void weiri_table_fini(struct weiri_table *table, const struct weir_allocator *allocator);

/* The key's item, or NULL. */
struct weir_item *weiri_table_find(const struct weiri_table *table, struct weir_key key);

/* Has adds look at the table without the lock from now on; NULL for lack of memory. */
struct weiri_view *weiri_table_show(struct weiri_table *table,
                                    const struct weir_allocator *allocator, uint32_t stripe_count);

/* weiri_table_intern() and weiri_table_remove() of any key, with memory and without. */
struct weir_item *weiri_table_intern_slow(struct weiri_table *table,
                                          const struct weir_allocator *allocator,
                                          struct weir_key key);
void weiri_table_remove_slow(struct weiri_table *table, const struct weir_allocator *allocator,
                             struct weir_item *item);

/* Whether the record is the key's. */
static inline bool weiri_record_is(const struct weiri_record *record, struct weir_key key,
                                   const struct weiri_sought *sought)
{
    if (record->key_size != key.size) {
        return false;
    }
    return key.size > WEIRI_RECORD_INLINE
               ? weiri_same_bytes(record->key.block, key.data, key.size)
               : ((record->key.words.first ^ sought->words.first) |
                  (record->key.words.second ^ sought->words.second)) == 0;
}

/* The key's record; NULL where there is none: then, unless the table is empty, *ret_at is the empty
 * slot where the search ended. */
WEIRI_INLINE struct weiri_record *weiri_table_search(const struct weiri_table *table,
                                                     struct weir_key key,
                                                     const struct weiri_sought *sought,
                                                     size_t *ret_at)
{
    const struct weiri_slots *slots = &table->slots;
    if (slots->capacity == 0) {
        return NULL;
    }
    size_t at = weiri_slots_home(slots, sought->hash);
    for (; slots->slots[at].number != 0; at = weiri_slots_next(slots, at)) {
        if (slots->slots[at].hash != sought->hash) {
            continue;
        }
        struct weiri_record *record =
            weiri_records_at(&table->records, slots->slots[at].number - 1);
        if (weiri_record_is(record, key, sought)) {
            return record;
        }
    }
    *ret_at = at;
    return NULL;
}

/* weiri_table_intern() of a short key where that takes no memory and no call; NULL elsewhere. */
WEIRI_INLINE struct weir_item *weiri_table_intern_quick(struct weiri_table *table,
                                                        struct weir_key key)
{
    if (key.size > WEIRI_RECORD_INLINE) {
        return NULL;
    }
    const struct weiri_sought sought = weiri_sought(table->seed, key);
    size_t at = 0;
    struct weiri_record *record = weiri_table_search(table, key, &sought, &at);
    if (record == NULL) {
        if (!weiri_slots_have_room(&table->slots)) {
            return NULL;
        }
        record = weiri_records_new_quick(&table->records, key.size, &sought);
        if (record == NULL) {
            return NULL;
        }
        weiri_slots_put(&table->slots, at, sought.hash, record->item.weir_slot);
    }
    return &record->item;
}

/* Whether the table is one of few keys, most of them alone where their hashes lead, which has room
 * for more and no more memory than any has. */
static inline bool weiri_table_is_sparse(const struct weiri_table *table)
{
    return table->slots.capacity == WEIRI_SLOTS_CAPACITY_MIN &&
           table->slots.used < WEIRI_SLOTS_CAPACITY_MIN / 4;
}

/* The same in a sparse table for a key that is known where its hash leads, or that nothing keeps
 * from being put there, into the record at hand. */
WEIRI_INLINE struct weir_item *weiri_table_intern_alone(struct weiri_table *table,
                                                        struct weir_key key)
{
    if (key.size > WEIRI_RECORD_INLINE) {
        return NULL;
    }
    const struct weiri_sought sought = weiri_sought(table->seed, key);
    const size_t at = sought.hash & (WEIRI_SLOTS_CAPACITY_MIN - 1);
    const struct weiri_slot slot = table->slots.slots[at];
    if (slot.number != 0) {
        struct weiri_record *record = weiri_records_at(&table->records, slot.number - 1);
        return slot.hash == sought.hash && weiri_record_is(record, key, &sought) ? &record->item
                                                                                 : NULL;
    }
    if (table->records.spare == NULL) {
        return NULL;
    }
    struct weiri_record *record = weiri_records_new_spare(&table->records, key.size, &sought);
    weiri_slots_put(&table->slots, at, sought.hash, record->item.weir_slot);
    return &record->item;
}

/* weiri_table_remove() where that gives no memory back and takes no call; false, and nothing
 * changed, elsewhere. The item may be about to become free. */
WEIRI_INLINE bool weiri_table_remove_quick(struct weiri_table *table, struct weir_item *item)
{
    struct weiri_record *record = WEIRI_CONTAINER(item, struct weiri_record, item);
    if (weiri_slots_may_trim(&table->slots, table->slots.used - 1) ||
        !weiri_records_free_quick(&table->records, record)) {
        return false;
    }
    weiri_view_end(table->records.view, item->weir_slot - 1);
    struct weiri_slots *slots = &table->slots;
    weiri_slots_close_gap(slots, weiri_slots_of(slots, record->hash, item->weir_slot));
    return true;
}

/* The same in a sparse table for a key that is alone where its hash leads, and so short that its
 * record can be kept at hand. Nobody looks at the table: it is for a thread that the lock is biased
 * to, and those look who find it open. */
WEIRI_INLINE bool weiri_table_remove_alone(struct weiri_table *table, struct weir_item *item)
{
    struct weiri_record *record = WEIRI_CONTAINER(item, struct weiri_record, item);
    WEIRI_DEBUG_ASSERT(table->records.view == NULL);
    struct weiri_slots *slots = &table->slots;
    const size_t at = record->hash & (WEIRI_SLOTS_CAPACITY_MIN - 1);
    const size_t behind = (at + 1) & (WEIRI_SLOTS_CAPACITY_MIN - 1);
    if (table->records.spare != NULL || record->key_size > WEIRI_RECORD_INLINE ||
        slots->slots[at].number != item->weir_slot || slots->slots[behind].number != 0) {
        return false;
    }
    weiri_records_keep(&table->records, record);
    weiri_slot_set(&slots->slots[at], (struct weiri_slot){.word = 0});
    slots->used--;
    return true;
}

/* The key's item, made free where there was none; NULL for lack of memory: nothing changed. */
static inline struct weir_item *weiri_table_intern(struct weiri_table *table,
                                                   const struct weir_allocator *allocator,
                                                   struct weir_key key)
{
    struct weir_item *item = weiri_table_intern_quick(table, key);
    return item != NULL ? item : weiri_table_intern_slow(table, allocator, key);
}

/* Takes out a keyed item that is free, and gives memory back after a burst. */
static inline void weiri_table_remove(struct weiri_table *table,
                                      const struct weir_allocator *allocator,
                                      struct weir_item *item)
{
    WEIRI_ASSERT(weiri_item_is_keyed(item) && weiri_item_is_free(item));
    if (!weiri_table_remove_quick(table, item)) {
        weiri_table_remove_slow(table, allocator, item);
    }
}

#endif

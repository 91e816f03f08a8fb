/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/table.h"

#include <stdbool.h>

#include "base/hash.h"
#include "base/list.h"
#include "base/panic.h"

static uint32_t hash_of(const struct weiri_table *table, struct weir_key key)
{
    uint64_t hash = weiri_hash(key.data, key.size, table->seed);
    return (uint32_t)(hash >> 32);
}

static bool is_key_of(const struct weiri_record *record, struct weir_key key)
{
    return record->key_size == key.size &&
           weiri_same_bytes(weiri_record_key(record), key.data, key.size);
}

/* The key's record, or NULL. */
static struct weiri_record *find(const struct weiri_table *table, struct weir_key key,
                                 uint32_t hash)
{
    const struct weiri_slots *slots = &table->slots;
    if (slots->used == 0) {
        return NULL;
    }
    for (size_t at = weiri_slots_home(slots, hash); slots->slots[at].number != 0;
         at = weiri_slots_next(slots, at)) {
        if (slots->slots[at].hash == hash) {
            struct weiri_record *record =
                weiri_records_at(&table->records, slots->slots[at].number - 1);
            if (is_key_of(record, key)) {
                return record;
            }
        }
    }
    return NULL;
}

void weiri_table_init(struct weiri_table *table, uint64_t seed)
{
    *table = (struct weiri_table){.seed = seed};
}

void weiri_table_fini(struct weiri_table *table, const struct weir_allocator *allocator)
{
    weiri_slots_fini(&table->slots, allocator);
    weiri_records_fini(&table->records, allocator);
}

struct weir_item *weiri_table_find(const struct weiri_table *table, struct weir_key key)
{
    struct weiri_record *record = find(table, key, hash_of(table, key));
    return record == NULL ? NULL : &record->item;
}

struct weir_item *weiri_table_intern(struct weiri_table *table,
                                     const struct weir_allocator *allocator, struct weir_key key)
{
    uint32_t hash = hash_of(table, key);
    struct weiri_record *record = find(table, key, hash);
    if (record != NULL) {
        return &record->item;
    }
    if (weiri_slots_reserve(&table->slots, allocator) != WEIR_OK) {
        return NULL;
    }
    record = weiri_records_new(&table->records, allocator, key, hash);
    if (record == NULL) {
        return NULL;
    }
    weiri_slots_insert(&table->slots, hash, record->item.weir_slot);
    return &record->item;
}

void weiri_table_remove(struct weiri_table *table, const struct weir_allocator *allocator,
                        struct weir_item *item)
{
    WEIRI_ASSERT(weiri_item_is_keyed(item) && weiri_item_is_free(item));
    struct weiri_record *record = WEIRI_CONTAINER(item, struct weiri_record, item);
    weiri_slots_delete(&table->slots, weiri_slots_of(&table->slots, record->hash, item->weir_slot));
    weiri_records_free(&table->records, allocator, record);
    weiri_slots_trim(&table->slots, allocator);
}

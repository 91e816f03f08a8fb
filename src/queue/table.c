/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/table.h"

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
    size_t at;
    const struct weiri_sought sought = weiri_table_sought(table->seed, key);
    struct weiri_record *record = weiri_table_search(table, key, &sought, &at);
    return record == NULL ? NULL : &record->item;
}

struct weir_item *weiri_table_intern_slow(struct weiri_table *table,
                                          const struct weir_allocator *allocator,
                                          struct weir_key key)
{
    const struct weiri_sought sought = weiri_table_sought(table->seed, key);
    size_t at = 0;
    struct weiri_record *record = weiri_table_search(table, key, &sought, &at);
    if (record != NULL) {
        return &record->item;
    }
    if (weiri_slots_reserve(&table->slots, allocator) != WEIR_OK) {
        return NULL;
    }
    record = weiri_records_new(&table->records, allocator, key, &sought);
    if (record == NULL) {
        return NULL;
    }
    weiri_slots_insert(&table->slots, sought.hash, record->item.weir_slot);
    return &record->item;
}

void weiri_table_remove_slow(struct weiri_table *table, const struct weir_allocator *allocator,
                             struct weir_item *item)
{
    struct weiri_record *record = WEIRI_CONTAINER(item, struct weiri_record, item);
    weiri_slots_delete(&table->slots, weiri_slots_of(&table->slots, record->hash, item->weir_slot));
    weiri_records_free(&table->records, allocator, record);
    weiri_slots_trim(&table->slots, allocator);
}

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

struct weir_item *weiri_table_insert_slow(struct weiri_table *table,
                                          const struct weir_allocator *allocator,
                                          struct weir_key key, uint32_t hash)
{
    if (weiri_slots_reserve(&table->slots, allocator) != WEIR_OK) {
        return NULL;
    }
    struct weiri_record *record = weiri_records_new(&table->records, allocator, key, hash);
    if (record == NULL) {
        return NULL;
    }
    weiri_slots_insert(&table->slots, hash, record->item.weir_slot);
    return &record->item;
}

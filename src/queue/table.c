/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/table.h"

void weiri_table_init(struct weiri_table *table, uint64_t seed)
{
    *table = (struct weiri_table){.seed = seed};
}

void weiri_table_fini(struct weiri_table *table, const struct weir_allocator *allocator)
{
    weiri_view_free(table->records.view, allocator);
    weiri_slots_fini(&table->slots, allocator);
    weiri_records_fini(&table->records, allocator);
}

struct weiri_view *weiri_table_show(struct weiri_table *table,
                                    const struct weir_allocator *allocator, uint32_t stripe_count)
{
    struct weiri_view *view = weiri_view_new(allocator, stripe_count, table->seed);
    weiri_view_show_slots(view, &table->slots);
    weiri_view_show_chunks(view, table->records.chunks, table->records.chunk_capacity);
    table->records.view = view;
    return view;
}

static enum weir_status reserve_slots(struct weiri_table *table,
                                      const struct weir_allocator *allocator)
{
    if (weiri_slots_have_room(&table->slots)) {
        return WEIR_OK;
    }
    struct weiri_view *view = table->records.view;
    struct weiri_slots old = table->slots;
    if (weiri_slots_grow(&table->slots, allocator) != WEIR_OK) {
        return WEIR_ENOMEM;
    }
    bool is_alone = weiri_view_close(view, allocator);
    weiri_view_show_slots(view, &table->slots);
    weiri_view_open(view);
    weiri_view_retire(view, allocator, is_alone, old.slots, old.capacity * sizeof(*old.slots));
    return WEIR_OK;
}

/* Where somebody looks, the next removal is the occasion. */
static void trim_slots(struct weiri_table *table, const struct weir_allocator *allocator)
{
    if (!weiri_slots_may_trim(&table->slots, table->slots.used)) {
        return;
    }
    struct weiri_view *view = table->records.view;
    if (weiri_view_close(view, allocator)) {
        weiri_slots_trim_slow(&table->slots, allocator);
        weiri_view_show_slots(view, &table->slots);
    }
    weiri_view_open(view);
}

struct weir_item *weiri_table_find(const struct weiri_table *table, struct weir_key key)
{
    size_t at;
    const struct weiri_sought sought = weiri_sought(table->seed, key);
    struct weiri_record *record = weiri_table_search(table, key, &sought, &at);
    return record == NULL ? NULL : &record->item;
}

struct weir_item *weiri_table_intern_slow(struct weiri_table *table,
                                          const struct weir_allocator *allocator,
                                          struct weir_key key)
{
    const struct weiri_sought sought = weiri_sought(table->seed, key);
    size_t at = 0;
    struct weiri_record *record = weiri_table_search(table, key, &sought, &at);
    if (record != NULL) {
        return &record->item;
    }
    if (reserve_slots(table, allocator) != WEIR_OK) {
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
    weiri_view_end(table->records.view, item->weir_slot - 1);
    weiri_slots_delete(&table->slots, weiri_slots_of(&table->slots, record->hash, item->weir_slot));
    weiri_records_free(&table->records, allocator, record);
    trim_slots(table, allocator);
}

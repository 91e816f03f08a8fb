/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/remembered.h"

#include <stdbool.h>

#include "base/panic.h"
#include "base/time.h"

void weiri_remembered_init(struct weiri_remembered *remembered,
                           const struct weir_allocator *allocator, size_t items_max,
                           int64_t forget_after_ns, uint64_t seed)
{
    WEIRI_ASSERT(items_max > 0 && items_max <= WEIRI_REMEMBERED_ITEMS_MAX && forget_after_ns > 0);
    *remembered = (struct weiri_remembered){
        .allocator = *allocator,
        .items_max = items_max,
        .forget_after_ns = forget_after_ns,
        .now_ns = INT64_MIN + 1, /* INT64_MIN is when what is new was used before */
    };
    weiri_table_init(&remembered->table, sizeof(struct weiri_memory), seed);
    weiri_list_init(&remembered->by_age);
}

void weiri_remembered_fini(struct weiri_remembered *remembered)
{
    weiri_table_fini(&remembered->table, &remembered->allocator);
}

static bool is_expired(const struct weiri_remembered *remembered, const struct weiri_memory *memory)
{
    return remembered->forget_after_ns != INT64_MAX &&
           weiri_time_sub(remembered->now_ns, memory->last_ns) >= remembered->forget_after_ns;
}

static void forget_number(struct weiri_remembered *remembered, uint32_t number)
{
    struct weiri_memory *memory = weiri_table_record(&remembered->table, number);
    weiri_list_remove(&memory->by_age);
    weiri_table_remove(&remembered->table, &remembered->allocator, number);
}

/* There is at least one. */
static struct weiri_memory *oldest(const struct weiri_remembered *remembered)
{
    return WEIRI_CONTAINER(remembered->by_age.next, struct weiri_memory, by_age);
}

static void forget_oldest(struct weiri_remembered *remembered)
{
    const struct weiri_record *record = &oldest(remembered)->record;
    forget_number(remembered,
                  weiri_table_find(&remembered->table, weiri_record_key(record), record->hash));
}

struct weiri_memory *weiri_remembered_use(struct weiri_remembered *remembered, struct weir_key key,
                                          int64_t now_ns, int64_t *ret_last_ns)
{
    struct weiri_table *table = &remembered->table;
    if (now_ns > remembered->now_ns) {
        remembered->now_ns = now_ns;
    }
    /* Each use adds at most one item and removes up to two expired ones. So all expired ones are
     * removed in the end, and no call takes long. */
    for (int i = 0; i < 2 && table->count > 0 && is_expired(remembered, oldest(remembered)); i++) {
        forget_oldest(remembered);
    }
    uint32_t hash = weiri_table_hash(table, key);
    uint32_t number = weiri_table_find(table, key, hash);
    bool is_new = number == 0;
    if (is_new) {
        number = weiri_table_insert(table, &remembered->allocator, key, hash);
        if (number == 0) {
            return NULL;
        }
    }
    struct weiri_memory *memory = weiri_table_record(table, number);
    if (is_new) {
        weiri_list_init(&memory->by_age);
    } else if (is_expired(remembered, memory)) {
        is_new = true;
        memory->failures = 0;
    }
    *ret_last_ns = is_new ? INT64_MIN : memory->last_ns;
    memory->last_ns = remembered->now_ns;
    weiri_list_remove(&memory->by_age);
    weiri_list_insert_before(&remembered->by_age, &memory->by_age);
    if (table->count > remembered->items_max) {
        forget_oldest(remembered);
    }
    return memory;
}

struct weiri_memory *weiri_remembered_find(const struct weiri_remembered *remembered,
                                           struct weir_key key)
{
    const struct weiri_table *table = &remembered->table;
    uint32_t number = weiri_table_find(table, key, weiri_table_hash(table, key));
    struct weiri_memory *memory = number != 0 ? weiri_table_record(table, number) : NULL;
    return memory != NULL && !is_expired(remembered, memory) ? memory : NULL;
}

void weiri_remembered_forget(struct weiri_remembered *remembered, struct weir_key key)
{
    const struct weiri_table *table = &remembered->table;
    uint32_t number = weiri_table_find(table, key, weiri_table_hash(table, key));
    if (number != 0) {
        forget_number(remembered, number);
    }
}

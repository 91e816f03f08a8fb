/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/failures.h"

#include <stdbool.h>

#include "base/panic.h"
#include "base/time.h"

void weiri_failures_init(struct weiri_failures *failures, const struct weir_allocator *allocator,
                         size_t items_max, int64_t forget_after_ns, uint64_t seed)
{
    WEIRI_ASSERT(items_max > 0 && items_max <= WEIRI_FAILURES_ITEMS_MAX && forget_after_ns > 0);
    *failures = (struct weiri_failures){
        .allocator = *allocator,
        .items_max = items_max,
        .forget_after_ns = forget_after_ns,
        .now_ns = INT64_MIN,
    };
    weiri_table_init(&failures->table, sizeof(struct weiri_failure), seed);
    weiri_list_init(&failures->by_age);
}

void weiri_failures_fini(struct weiri_failures *failures)
{
    weiri_table_fini(&failures->table, &failures->allocator);
}

static uint32_t find(const struct weiri_failures *failures, struct weir_key key)
{
    const struct weiri_table *table = &failures->table;
    return weiri_table_find(table, key, weiri_table_hash(table, key));
}

static bool is_expired(const struct weiri_failures *failures, const struct weiri_failure *failure)
{
    return failures->forget_after_ns != INT64_MAX &&
           weiri_time_sub(failures->now_ns, failure->last_ns) >= failures->forget_after_ns;
}

static void remove_failure(struct weiri_failures *failures, uint32_t number)
{
    struct weiri_failure *failure = weiri_table_record(&failures->table, number);
    weiri_list_remove(&failure->by_age);
    weiri_table_remove(&failures->table, &failures->allocator, number);
}

/* There is at least one. */
static struct weiri_failure *oldest(const struct weiri_failures *failures)
{
    return WEIRI_CONTAINER(failures->by_age.next, struct weiri_failure, by_age);
}

static void remove_oldest(struct weiri_failures *failures)
{
    const struct weiri_record *record = &oldest(failures)->record;
    uint32_t number = weiri_table_find(&failures->table, weiri_record_key(record), record->hash);
    remove_failure(failures, number);
}

enum weir_status weiri_failures_add(struct weiri_failures *failures, struct weir_key key,
                                    int64_t now_ns, uint64_t *ret_before)
{
    struct weiri_table *table = &failures->table;
    if (now_ns > failures->now_ns) {
        failures->now_ns = now_ns;
    }
    /* Each failure adds at most one entry and removes up to two expired ones. So all expired
     * entries are removed in the end, and no call takes long. */
    for (int i = 0; i < 2 && table->count > 0 && is_expired(failures, oldest(failures)); i++) {
        remove_oldest(failures);
    }
    uint32_t hash = weiri_table_hash(table, key);
    uint32_t number = weiri_table_find(table, key, hash);
    bool is_new = number == 0;
    if (is_new) {
        number = weiri_table_insert(table, &failures->allocator, key, hash);
        if (number == 0) {
            return WEIR_ENOMEM;
        }
    }
    struct weiri_failure *failure = weiri_table_record(table, number);
    if (is_new) {
        weiri_list_init(&failure->by_age);
    } else if (is_expired(failures, failure)) {
        failure->count = 0;
    }
    *ret_before = failure->count;
    failure->count += failure->count < UINT64_MAX;
    failure->last_ns = failures->now_ns;
    weiri_list_remove(&failure->by_age);
    weiri_list_insert_before(&failures->by_age, &failure->by_age);
    if (table->count > failures->items_max) {
        remove_oldest(failures);
    }
    return WEIR_OK;
}

void weiri_failures_undo(struct weiri_failures *failures, struct weir_key key)
{
    uint32_t number = find(failures, key);
    if (number == 0) {
        return;
    }
    struct weiri_failure *failure = weiri_table_record(&failures->table, number);
    if (failure->count > 1) {
        failure->count--;
    } else {
        remove_failure(failures, number);
    }
}

void weiri_failures_forget(struct weiri_failures *failures, struct weir_key key)
{
    uint32_t number = find(failures, key);
    if (number != 0) {
        remove_failure(failures, number);
    }
}

uint64_t weiri_failures_count(const struct weiri_failures *failures, struct weir_key key)
{
    uint32_t number = find(failures, key);
    if (number == 0) {
        return 0;
    }
    const struct weiri_failure *failure = weiri_table_record(&failures->table, number);
    return is_expired(failures, failure) ? 0 : failure->count;
}

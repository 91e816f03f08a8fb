/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_FAILURES_H
#define WEIRI_FAILURES_H

#include <stddef.h>
#include <stdint.h>

#include <weir/key.h>
#include <weir/status.h>

#include "base/alloc.h"
#include "base/list.h"
#include "queue/table.h"

/* Counts of failures per item, for the limiters that are per item. Plain functions of (state, key,
 * now) without lock or clock; the limiter adds a mutex. Keys are valid.
 *
 * Two bounds limit the memory of items that are never forgotten. Beyond a number of items, the item
 * that failed longest ago is forgotten. Some time after its last failure, any item is forgotten. */

struct weiri_failure {
    struct weiri_record record;
    uint64_t count; /* at least 1 */
    int64_t last_ns;
    struct weiri_list by_age;
};

struct weiri_failures {
    struct weir_allocator allocator;
    struct weiri_table table;
    struct weiri_list by_age; /* all of them, by last_ns, the oldest first */
    size_t items_max;
    int64_t forget_after_ns; /* INT64_MAX: never */
    int64_t now_ns; /* the latest time seen; the times of several threads may be out of order */
};

#define WEIRI_FAILURES_ITEMS_MAX ((size_t)1 << 30)

/* 0 < items_max <= WEIRI_FAILURES_ITEMS_MAX, forget_after_ns > 0. Does not allocate. seed is the
 * table's (queue/table.h). The struct must not move until fini. */
void weiri_failures_init(struct weiri_failures *failures, const struct weir_allocator *allocator,
                         size_t items_max, int64_t forget_after_ns, uint64_t seed);
void weiri_failures_fini(struct weiri_failures *failures);

/* Counts one more failure; *ret_before is how many there were. WEIR_ENOMEM: nothing was counted. */
WEIR_NODISCARD enum weir_status weiri_failures_add(struct weiri_failures *failures,
                                                   struct weir_key key, int64_t now_ns,
                                                   uint64_t *ret_before);
/* Removes one failure, if there is one. The time of the last one stays. */
void weiri_failures_undo(struct weiri_failures *failures, struct weir_key key);
void weiri_failures_forget(struct weiri_failures *failures, struct weir_key key);
/* The number of failures as of the latest time seen. */
uint64_t weiri_failures_count(const struct weiri_failures *failures, struct weir_key key);

#endif

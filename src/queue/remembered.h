/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_REMEMBERED_H
#define WEIRI_REMEMBERED_H

#include <stddef.h>
#include <stdint.h>

#include <weir/key.h>

#include "base/alloc.h"
#include "base/list.h"
#include "queue/table.h"

/* What the limiters that are per item remember of each: so many items for so long. Plain functions
 * of (state, key, now) without lock or clock; the limiter adds a mutex. Keys are valid.
 *
 * Two bounds limit the memory of items that are never forgotten. Beyond a number of items, the item
 * that was used longest ago is forgotten. Some time after its last use, any item is forgotten. */

struct weiri_memory {
    struct weiri_record record;
    struct weiri_list by_age;
    int64_t last_ns; /* of its last use */
    union {          /* of a new one: zero bits */
        uint64_t failures;
        double tokens;
    };
};

struct weiri_remembered {
    struct weir_allocator allocator;
    struct weiri_table table;
    struct weiri_list by_age; /* all of them, by last_ns, the oldest first */
    size_t items_max;
    int64_t forget_after_ns; /* INT64_MAX: never */
    int64_t now_ns; /* the latest time seen; the times of several threads may be out of order */
};

#define WEIRI_REMEMBERED_ITEMS_MAX ((size_t)1 << 30)

/* 0 < items_max <= WEIRI_REMEMBERED_ITEMS_MAX, forget_after_ns > 0. Does not allocate. seed is the
 * table's (queue/table.h). The struct must not move until fini. */
void weiri_remembered_init(struct weiri_remembered *remembered,
                           const struct weir_allocator *allocator, size_t items_max,
                           int64_t forget_after_ns, uint64_t seed);
void weiri_remembered_fini(struct weiri_remembered *remembered);

/* Uses the item's memory, which is made if there is none. *ret_last_ns is when it was used before;
 * INT64_MIN: it is new. NULL: no memory, and the item is not remembered. */
struct weiri_memory *weiri_remembered_use(struct weiri_remembered *remembered, struct weir_key key,
                                          int64_t now_ns, int64_t *ret_last_ns);
/* The item's memory as of the latest time seen; NULL: there is none. */
struct weiri_memory *weiri_remembered_find(const struct weiri_remembered *remembered,
                                           struct weir_key key);
void weiri_remembered_forget(struct weiri_remembered *remembered, struct weir_key key);

#endif

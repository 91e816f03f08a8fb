/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_TABLE_H
#define WEIRI_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include <weir/status.h>

#include "base/alloc.h"
#include "base/slots.h"
#include "queue/records.h"

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
/* The key's item, made free where there was none; NULL for lack of memory: nothing changed. */
struct weir_item *weiri_table_intern(struct weiri_table *table,
                                     const struct weir_allocator *allocator, struct weir_key key);
/* Takes out a keyed item that is free, and gives memory back after a burst. */
void weiri_table_remove(struct weiri_table *table, const struct weir_allocator *allocator,
                        struct weir_item *item);

#endif

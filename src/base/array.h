/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_ARRAY_H
#define WEIRI_ARRAY_H

#include <stddef.h>

#include <weir/allocator.h>

/* An array that grows. Items move when it does. */
struct weiri_array {
    void *items; /* NULL: none was added yet */
    size_t item_size;
    size_t count;
    size_t capacity;
};

/* The place of one more item, of any content; NULL for lack of memory: it is as before. */
void *weiri_array_add(struct weiri_array *array, const struct weir_allocator *allocator);
void weiri_array_free(struct weiri_array *array, const struct weir_allocator *allocator);

#endif

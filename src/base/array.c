/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/array.h"

#include "base/alloc.h"

void *weiri_array_add(struct weiri_array *array, const struct weir_allocator *allocator)
{
    if (array->count == array->capacity) {
        size_t capacity = array->capacity == 0 ? WEIRI_CAPACITY_MIN : 2 * array->capacity;
        void *items =
            weiri_resize(allocator, array->items, array->capacity, capacity, array->item_size);
        if (items == NULL) {
            return NULL;
        }
        array->items = items;
        array->capacity = capacity;
    }
    return (char *)array->items + array->count++ * array->item_size;
}

void weiri_array_free(struct weiri_array *array, const struct weir_allocator *allocator)
{
    weiri_release(allocator, array->items, array->capacity * array->item_size);
}

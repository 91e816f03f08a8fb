/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "context/values.h"

#include "base/alloc.h"

static struct weiri_value *value_at(struct weiri_values *values, size_t index)
{
    return index < WEIRI_VALUES_INLINE ? &values->first[index]
                                       : &values->more[index - WEIRI_VALUES_INLINE];
}

/* The count: there is none. */
static size_t find(struct weiri_values *values, const void *key)
{
    size_t index = 0;
    while (index < values->count && value_at(values, index)->key != key) {
        index++;
    }
    return index;
}

void *weiri_values_get(struct weiri_values *values, const void *key)
{
    size_t index = find(values, key);
    return index < values->count ? value_at(values, index)->value : NULL;
}

enum weir_status weiri_values_set(struct weiri_values *values, const struct weir_allocator *memory,
                                  const void *key, void *value)
{
    size_t index = find(values, key);
    if (value == NULL) {
        if (index < values->count) {
            *value_at(values, index) = *value_at(values, --values->count);
        }
        return WEIR_OK;
    }
    if (index == WEIRI_VALUES_INLINE + values->capacity) {
        size_t capacity = 2 * values->capacity + WEIRI_VALUES_INLINE;
        void *more = weiri_resize(memory, values->more, values->capacity, capacity,
                                  sizeof(struct weiri_value));
        if (more == NULL) {
            return WEIR_ENOMEM;
        }
        values->more = more;
        values->capacity = capacity;
    }
    values->count += index == values->count;
    *value_at(values, index) = (struct weiri_value){key, value};
    return WEIR_OK;
}

void weiri_values_clear(struct weiri_values *values, const struct weir_allocator *memory)
{
    weiri_release(memory, values->more, values->capacity * sizeof(struct weiri_value));
    values->count = 0;
    values->capacity = 0;
    values->more = NULL;
}

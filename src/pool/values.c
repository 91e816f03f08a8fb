/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/values.h"

#include "base/alloc.h"

static const struct weiri_value *at(const struct weiri_values *values, size_t index)
{
    return index < WEIRI_VALUES_INLINE ? &values->first[index]
                                       : &values->more[index - WEIRI_VALUES_INLINE];
}

static struct weiri_value *slot(struct weiri_values *values, size_t index)
{
    return index < WEIRI_VALUES_INLINE ? &values->first[index]
                                       : &values->more[index - WEIRI_VALUES_INLINE];
}

/* The count: there is none. */
static size_t find(const struct weiri_values *values, const void *key)
{
    size_t index = 0;
    while (index < values->count && at(values, index)->key != key) {
        index++;
    }
    return index;
}

void *weiri_values_get(const struct weiri_values *values, const void *key)
{
    size_t index = find(values, key);
    return index < values->count ? at(values, index)->value : NULL;
}

static enum weir_status make_room(struct weiri_values *values, const struct weir_allocator *memory)
{
    if (values->count < WEIRI_VALUES_INLINE + values->more_size) {
        return WEIR_OK;
    }
    size_t size = values->more_size == 0 ? WEIRI_VALUES_INLINE : 2 * values->more_size;
    struct weiri_value *more =
        weiri_resize(memory, values->more, values->more_size, size, sizeof(*more));
    if (more == NULL) {
        return WEIR_ENOMEM;
    }
    values->more = more;
    values->more_size = size;
    return WEIR_OK;
}

enum weir_status weiri_values_set(struct weiri_values *values, const struct weir_allocator *memory,
                                  const void *key, void *value)
{
    size_t index = find(values, key);
    if (value == NULL) {
        if (index < values->count) {
            values->count--;
            *slot(values, index) = *at(values, values->count);
        }
        return WEIR_OK;
    }
    if (index == values->count) {
        if (make_room(values, memory) != WEIR_OK) {
            return WEIR_ENOMEM;
        }
        values->count++;
    }
    *slot(values, index) = (struct weiri_value){key, value};
    return WEIR_OK;
}

void weiri_values_clear(struct weiri_values *values, const struct weir_allocator *memory)
{
    weiri_release(memory, values->more, values->more_size * sizeof(struct weiri_value));
    weiri_values_init(values);
}

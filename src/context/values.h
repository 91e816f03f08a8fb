/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_VALUES_H
#define WEIRI_VALUES_H

#include <stddef.h>

#include <weir/allocator.h>
#include <weir/status.h>

/* The values that stamps and hooks leave in a context for what runs later. They are a few pairs, so
 * a look-up goes through them one by one. Zeroed memory is an empty set. */

#define WEIRI_VALUES_INLINE 8

struct weiri_value {
    const void *key;
    void *value;
};

struct weiri_values {
    size_t count;
    size_t capacity;          /* of more */
    struct weiri_value *more; /* those after the first eight; NULL: there were none so far */
    struct weiri_value first[WEIRI_VALUES_INLINE];
};

/* NULL: there is none. */
void *weiri_values_get(struct weiri_values *values, const void *key);
/* value NULL takes the pair out. WEIR_ENOMEM: nothing changed. */
WEIR_NODISCARD enum weir_status weiri_values_set(struct weiri_values *values,
                                                 const struct weir_allocator *memory,
                                                 const void *key, void *value);
/* Takes all out and releases the memory. */
void weiri_values_clear(struct weiri_values *values, const struct weir_allocator *memory);

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_VALUES_H
#define WEIRI_VALUES_H

#include <stdbool.h>
#include <stddef.h>

#include <weir/allocator.h>
#include <weir/status.h>

/* What stamps and hooks leave in a context for what runs after them: a few pairs, so they are
 * looked through one by one. */

#define WEIRI_VALUES_INLINE 8

struct weiri_value {
    const void *key;
    void *value;
};

struct weiri_values {
    size_t count;
    size_t more_size;
    struct weiri_value *more; /* those behind the first eight; NULL: none up to now */
    struct weiri_value first[WEIRI_VALUES_INLINE];
};

static inline void weiri_values_init(struct weiri_values *values)
{
    values->count = 0;
    values->more_size = 0;
    values->more = NULL;
}

/* There are some, or there is memory left of such as were taken out. */
static inline bool weiri_values_are_in_use(const struct weiri_values *values)
{
    return values->count > 0 || values->more != NULL;
}

/* NULL: there is none. */
void *weiri_values_get(const struct weiri_values *values, const void *key);
/* value NULL takes the pair out. WEIR_ENOMEM: nothing changed. */
WEIR_NODISCARD enum weir_status weiri_values_set(struct weiri_values *values,
                                                 const struct weir_allocator *memory,
                                                 const void *key, void *value);
/* Takes all out and gives the memory back. */
void weiri_values_clear(struct weiri_values *values, const struct weir_allocator *memory);

#endif

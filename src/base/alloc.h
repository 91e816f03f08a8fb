/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_ALLOC_H
#define WEIRI_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

#include <weir/allocator.h>

#include "base/error.h"

/* Fills dst from the allocator of an options struct. If src or all its functions are NULL, dst is
 * libc's. WEIR_EINVAL, and a text in ret_error (may be NULL), if only some are NULL. */
WEIR_NODISCARD enum weir_status weiri_allocator_init(struct weir_allocator *dst,
                                                     const struct weir_allocator *src,
                                                     struct weir_error *ret_error);

/* NULL for lack of memory; never called with size 0. */
void *weiri_alloc(const struct weir_allocator *allocator, size_t size);
/* Zeroed memory for count members of a size; NULL also where their product overflows. */
void *weiri_alloc_zero(const struct weir_allocator *allocator, size_t count, size_t size);
/* The same, with any content. */
void *weiri_alloc_array(const struct weir_allocator *allocator, size_t count, size_t size);
/* A larger or smaller block with count members; NULL leaves the old one as it is. */
void *weiri_resize(const struct weir_allocator *allocator, void *block, size_t old_count,
                   size_t new_count, size_t size);
/* The smallest capacity of an array whose capacity doubles. */
#define WEIRI_CAPACITY_MIN ((size_t)16)
/* Whether such an array should shrink now that it holds count members. The limit is far below the
 * capacity, so that the array does not grow again at once. */
static inline bool weiri_is_sparse(size_t capacity, size_t count)
{
    return capacity > WEIRI_CAPACITY_MIN && count < capacity / 8;
}
/* Takes NULL. */
void weiri_release(const struct weir_allocator *allocator, void *block, size_t size);
/* A copy of a string, its NUL included in the size to release; NULL for lack of memory. */
char *weiri_copy_string(const struct weir_allocator *allocator, const char *text);
void weiri_release_string(const struct weir_allocator *allocator, char *text);

#endif

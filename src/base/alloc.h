/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_ALLOC_H
#define WEIRI_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

#include <weir/allocator.h>
#include <weir/status.h>

/* Fills dst from the allocator of an options struct: where all its functions are NULL, libc's, with
 * large blocks in pages of their own (base/pages.h). WEIR_EINVAL where only some are. src may be
 * NULL. */
WEIR_NODISCARD enum weir_status weiri_allocator_init(struct weir_allocator *dst,
                                                     const struct weir_allocator *src);

/* NULL for lack of memory; never called with size 0. */
void *weiri_alloc(const struct weir_allocator *allocator, size_t size);
/* Zeroed memory for count members of a size; NULL also where their product overflows. */
void *weiri_alloc_zero(const struct weir_allocator *allocator, size_t count, size_t size);
/* A larger or smaller block with count members; NULL leaves the old one as it is. */
void *weiri_resize(const struct weir_allocator *allocator, void *block, size_t old_count,
                   size_t new_count, size_t size);
/* Takes NULL. */
void weiri_release(const struct weir_allocator *allocator, void *block, size_t size);
/* A copy of a string, its NUL included in the size to release; NULL for lack of memory. */
char *weiri_copy_string(const struct weir_allocator *allocator, const char *text);
void weiri_release_string(const struct weir_allocator *allocator, char *text);

#endif

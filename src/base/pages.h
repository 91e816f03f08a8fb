/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_PAGES_H
#define WEIRI_PAGES_H

#include <stdbool.h>
#include <stddef.h>

/* Large blocks straight from the kernel, in huge pages where it has them. Such a block goes back at
 * once when it is released, where libc keeps what it has freed; and it is resized by moving its
 * page tables, where bytes would have to be copied. The caller knows a block's size, so that none
 * has a head. */

/* From here on a block is taken here: it begins where a huge page does, so one fault brings what
 * would be 512. What is smaller would pay for going back at once with as many faults when it is
 * needed again; libc keeps some MiB of that at most (docs/decisions/0026-large-blocks.md). */
#define WEIRI_PAGES_MIN ((size_t)2 << 20)

/* Whether a block of this size is to be taken here; the same answer for as long as the process
 * lives. Not with the leak checker, which would not find what only such a block points to, nor with
 * ThreadSanitizer, which does not see that memory moves. (Valgrind follows both.) */
bool weiri_pages_suit(size_t size);

/* Zeroed memory; NULL where there is none. This and what follows: of sizes that may suit. */
void *weiri_pages_alloc(size_t size);
/* As realloc. NULL: the block is as it was. */
void *weiri_pages_resize(void *block, size_t old_size, size_t new_size);
void weiri_pages_release(void *block, size_t size);

#endif

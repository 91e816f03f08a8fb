/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_BLOCKS_H
#define WEIRI_BLOCKS_H

#include <stddef.h>

#include "base/alloc.h"
#include "base/pages.h"

/* Memory of numbered parts of one size, which come and go in any order but mostly the low numbers
 * first. The first ones, as many as fit into a block, are allocations of their own, so that who
 * needs few takes no more. All others lie in blocks that the default allocator takes from the
 * kernel and gives back to it (base/pages.h): a block comes with its first part and goes with its
 * last one, so what a few parts in blocks of their own keep is up to a block each.
 *
 * One block without parts is kept in reserve while there are half as many parts as fit into one,
 * for parts that come and go at a block's border. */

#define WEIRI_BLOCK_SIZE WEIRI_PAGES_MIN

struct weiri_block {
    char *memory; /* NULL: there is none */
    size_t used;  /* parts */
};

/* Zeroed memory has none. */
struct weiri_blocks {
    struct weiri_block *blocks; /* of which the first has the parts behind the single ones */
    size_t count;               /* up to the last one that is there */
    size_t capacity;
    size_t reserve; /* 1 + index of the one that has no parts; 0: none */
    size_t used;    /* parts, the single ones included */
};

/* Memory for the part of a number that has none, aligned as malloc's where the size is a multiple
 * of that; NULL: there is none, and nothing has changed. The size is the same in all calls, and
 * WEIRI_BLOCK_SIZE at most. */
void *weiri_blocks_take(struct weiri_blocks *blocks, const struct weir_allocator *allocator,
                        size_t part_size, size_t number);
/* Never fails. After the last part nothing is left to give back. */
void weiri_blocks_give_back(struct weiri_blocks *blocks, const struct weir_allocator *allocator,
                            size_t part_size, size_t number, void *part);

#endif

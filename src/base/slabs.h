/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SLABS_H
#define WEIRI_SLABS_H

#include <stddef.h>

#include <weir/status.h>

#include "base/alloc.h"
#include "base/blocks.h"

/* Memory of an array that grows and shrinks at its end without copying its elements, whatever the
 * allocator: slabs of one size, found through an array of pointers. It takes what its elements take
 * and up to two slabs more, or blocks where there are many (base/blocks.h).
 *
 * The owner knows how many elements of which type a slab holds, and finds them itself, inlined:
 *
 *     element = &((struct type *)slabs->slabs[index >> BITS])[index & MASK]; */

/* Zeroed memory has no slabs. */
struct weiri_slabs {
    void **slabs;
    size_t count;
    size_t capacity;            /* of the array of pointers */
    struct weiri_blocks blocks; /* where the slabs lie */
};

/* Adds a slab. WEIR_ENOMEM: nothing changed. */
WEIR_NODISCARD enum weir_status weiri_slabs_grow(struct weiri_slabs *slabs,
                                                 const struct weir_allocator *allocator,
                                                 size_t slab_size);
/* Keeps the first slabs only, so many of them; never fails. An owner who keeps half a slab more
 * than it needs does not allocate for elements that come and go at the border of a slab:
 * weiri_slabs_to_keep(). */
void weiri_slabs_trim(struct weiri_slabs *slabs, const struct weir_allocator *allocator,
                      size_t slab_size, size_t keep);
void weiri_slabs_fini(struct weiri_slabs *slabs, const struct weir_allocator *allocator,
                      size_t slab_size);

/* Of count elements, so many to a slab. */
static inline size_t weiri_slabs_to_keep(size_t count, size_t per_slab)
{
    return (count + per_slab / 2) / per_slab + 1;
}

#endif

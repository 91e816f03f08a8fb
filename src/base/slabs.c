/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/slabs.h"

#define CAPACITY_MIN 8

static enum weir_status change_capacity(struct weiri_slabs *slabs,
                                        const struct weir_allocator *allocator, size_t capacity)
{
    void **changed =
        weiri_resize(allocator, slabs->slabs, slabs->capacity, capacity, sizeof(*changed));
    if (changed == NULL) {
        return WEIR_ENOMEM;
    }
    slabs->slabs = changed;
    slabs->capacity = capacity;
    return WEIR_OK;
}

enum weir_status weiri_slabs_grow(struct weiri_slabs *slabs, const struct weir_allocator *allocator,
                                  size_t slab_size)
{
    if (slabs->count == slabs->capacity &&
        change_capacity(slabs, allocator,
                        slabs->capacity == 0 ? CAPACITY_MIN : slabs->capacity * 2) != WEIR_OK) {
        return WEIR_ENOMEM;
    }
    void *slab = weiri_blocks_take(&slabs->blocks, allocator, slab_size, slabs->count);
    if (slab == NULL) {
        return WEIR_ENOMEM;
    }
    slabs->slabs[slabs->count++] = slab;
    return WEIR_OK;
}

void weiri_slabs_trim(struct weiri_slabs *slabs, const struct weir_allocator *allocator,
                      size_t slab_size, size_t keep)
{
    while (slabs->count > keep) {
        slabs->count--;
        weiri_blocks_give_back(&slabs->blocks, allocator, slab_size, slabs->count,
                               slabs->slabs[slabs->count]);
    }
    size_t capacity = slabs->capacity;
    while (capacity > CAPACITY_MIN && slabs->count < capacity / 4) {
        capacity /= 2;
    }
    if (capacity != slabs->capacity) {
        (void)change_capacity(slabs, allocator, capacity);
    }
}

void weiri_slabs_fini(struct weiri_slabs *slabs, const struct weir_allocator *allocator,
                      size_t slab_size)
{
    while (slabs->count > 0) {
        slabs->count--;
        weiri_blocks_give_back(&slabs->blocks, allocator, slab_size, slabs->count,
                               slabs->slabs[slabs->count]);
    }
    weiri_release(allocator, slabs->slabs, slabs->capacity * sizeof(*slabs->slabs));
    *slabs = (struct weiri_slabs){0};
}

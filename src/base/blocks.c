/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/blocks.h"

#include "base/panic.h"

#define CAPACITY_MIN 4

/* False: the array is as it was. */
static bool change_capacity(struct weiri_blocks *blocks, const struct weir_allocator *allocator,
                            size_t capacity)
{
    struct weiri_block *changed = weiri_resize(allocator, blocks->blocks, blocks->capacity,
                                               capacity, sizeof(*blocks->blocks));
    if (changed == NULL) {
        return false;
    }
    blocks->blocks = changed;
    blocks->capacity = capacity;
    return true;
}

static bool reach(struct weiri_blocks *blocks, const struct weir_allocator *allocator, size_t index)
{
    size_t capacity = blocks->capacity == 0 ? CAPACITY_MIN : blocks->capacity;
    while (capacity <= index) {
        capacity *= 2;
    }
    if (capacity != blocks->capacity && !change_capacity(blocks, allocator, capacity)) {
        return false;
    }
    for (; blocks->count <= index; blocks->count++) {
        blocks->blocks[blocks->count] = (struct weiri_block){NULL, 0};
    }
    return true;
}

/* Forgets the last ones where there are none any more. */
static void trim(struct weiri_blocks *blocks, const struct weir_allocator *allocator)
{
    while (blocks->count > 0 && blocks->blocks[blocks->count - 1].memory == NULL) {
        blocks->count--;
    }
    size_t capacity = blocks->capacity;
    while (capacity > CAPACITY_MIN && blocks->count < capacity / 4) {
        capacity /= 2;
    }
    if (blocks->count == 0) {
        weiri_release(allocator, blocks->blocks, blocks->capacity * sizeof(*blocks->blocks));
        *blocks = (struct weiri_blocks){0};
    } else if (capacity != blocks->capacity) {
        (void)change_capacity(blocks, allocator, capacity);
    }
}

void *weiri_blocks_take(struct weiri_blocks *blocks, const struct weir_allocator *allocator,
                        size_t part_size, size_t number)
{
    size_t parts = WEIRI_BLOCK_SIZE / part_size;
    if (number < parts) {
        return weiri_alloc(allocator, part_size);
    }
    size_t index = number / parts - 1;
    if (index >= blocks->count && !reach(blocks, allocator, index)) {
        return NULL;
    }
    struct weiri_block *block = &blocks->blocks[index];
    if (block->memory == NULL) {
        block->memory = weiri_alloc(allocator, WEIRI_BLOCK_SIZE);
        if (block->memory == NULL) {
            trim(blocks, allocator);
            return NULL;
        }
    }
    block->used++;
    return block->memory + number % parts * part_size;
}

void weiri_blocks_give_back(struct weiri_blocks *blocks, const struct weir_allocator *allocator,
                            size_t part_size, size_t number, void *part)
{
    size_t parts = WEIRI_BLOCK_SIZE / part_size;
    if (number < parts) {
        weiri_release(allocator, part, part_size);
        return;
    }
    struct weiri_block *block = &blocks->blocks[number / parts - 1];
    WEIRI_ASSERT(block->memory + number % parts * part_size == part);
    if (--block->used == 0) {
        weiri_release(allocator, block->memory, WEIRI_BLOCK_SIZE);
        block->memory = NULL;
        trim(blocks, allocator);
    }
}

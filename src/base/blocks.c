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
        blocks->blocks = NULL;
        blocks->capacity = 0;
    } else if (capacity != blocks->capacity) {
        (void)change_capacity(blocks, allocator, capacity);
    }
}

/* The single ones are numbered below that. */
static size_t parts_of_block(size_t part_size)
{
    return WEIRI_BLOCK_SIZE / part_size;
}

static struct weiri_block *block_of(const struct weiri_blocks *blocks, size_t parts, size_t number)
{
    return &blocks->blocks[number / parts - 1];
}

static bool make_block(struct weiri_blocks *blocks, const struct weir_allocator *allocator,
                       size_t index)
{
    if (index >= blocks->count && !reach(blocks, allocator, index)) {
        return false;
    }
    struct weiri_block *block = &blocks->blocks[index];
    if (block->memory == NULL) {
        block->memory = weiri_alloc(allocator, WEIRI_BLOCK_SIZE);
        if (block->memory == NULL) {
            trim(blocks, allocator);
            return false;
        }
    }
    return true;
}

void *weiri_blocks_take(struct weiri_blocks *blocks, const struct weir_allocator *allocator,
                        size_t part_size, size_t number)
{
    size_t parts = parts_of_block(part_size);
    if (number < parts) {
        void *part = weiri_alloc(allocator, part_size);
        blocks->used += part != NULL;
        return part;
    }
    if (!make_block(blocks, allocator, number / parts - 1)) {
        return NULL;
    }
    if (blocks->reserve == number / parts) {
        blocks->reserve = 0;
    }
    struct weiri_block *block = block_of(blocks, parts, number);
    block->used++;
    blocks->used++;
    return block->memory + number % parts * part_size;
}

static void release_block(struct weiri_blocks *blocks, const struct weir_allocator *allocator,
                          size_t index)
{
    WEIRI_ASSERT(blocks->blocks != NULL);
    weiri_release(allocator, blocks->blocks[index].memory, WEIRI_BLOCK_SIZE);
    blocks->blocks[index].memory = NULL;
    trim(blocks, allocator);
}

/* Of two blocks without parts the one further back goes, so that the array can shrink too. */
static void keep_in_reserve(struct weiri_blocks *blocks, const struct weir_allocator *allocator,
                            size_t link)
{
    size_t other = blocks->reserve;
    blocks->reserve = other == 0 || link < other ? link : other;
    if (other != 0) {
        release_block(blocks, allocator, (link < other ? other : link) - 1);
    }
}

void weiri_blocks_give_back(struct weiri_blocks *blocks, const struct weir_allocator *allocator,
                            size_t part_size, size_t number, void *part)
{
    size_t parts = parts_of_block(part_size);
    blocks->used--;
    if (number < parts) {
        weiri_release(allocator, part, part_size);
    } else {
        struct weiri_block *block = block_of(blocks, parts, number);
        WEIRI_ASSERT(block->memory + number % parts * part_size == part);
        if (--block->used == 0) {
            keep_in_reserve(blocks, allocator, number / parts);
        }
    }
    if (blocks->reserve != 0 && blocks->used < parts / 2) {
        size_t index = blocks->reserve - 1;
        blocks->reserve = 0;
        release_block(blocks, allocator, index);
    }
}

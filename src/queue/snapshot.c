/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/snapshot.h>

#include <string.h>

#include "base/alloc.h"
#include "queue/queue.h"

/* A snapshot's block. Items are copied under the queue's lock into memory that was allocated
 * before. A copy that does not fit only counts; the next block has a little more memory than was
 * counted. */
struct block {
    struct weir_snapshot snapshot; /* first: a pointer to it is one to the block */
    struct weir_allocator allocator;
    size_t capacity;     /* of items */
    size_t key_capacity; /* of bytes */
    size_t key_bytes;
    struct weir_snapshot_item items[]; /* and behind them the bytes of their keys */
};

/* Counts an item, and copies it where it fits. */
static void copy(struct block *block, const weir_queue *queue, const struct weir_item *item)
{
    struct weir_snapshot_item to;
    weiri_core_describe(&queue->core, item, queue->now_ns, &to);
    if (to.item == NULL) {
        size_t at = block->key_bytes;
        block->key_bytes += to.key.size;
        if (block->key_bytes <= block->key_capacity) {
            char *bytes = (char *)(block->items + block->capacity) + at;
            memcpy(bytes, to.key.data, to.key.size);
            to.key.data = bytes;
        }
    }
    if (block->snapshot.count < block->capacity) {
        block->items[block->snapshot.count] = to;
    }
    block->snapshot.count++;
}

/* False: not all items fit, but all were counted. */
static bool copy_all(struct block *block, weir_queue *queue) WEIRI_REQUIRES(queue->mutex)
{
    struct weiri_core *core = &queue->core;
    for (struct weir_item *item = core->first_processing; item != NULL; item = item->weir_next) {
        copy(block, queue, item);
    }
    uint64_t position = core->ring.head;
    for (struct weir_item *item = weiri_ring_next(&core->ring, &position); item != NULL;
         item = weiri_ring_next(&core->ring, &position)) {
        copy(block, queue, item);
    }
    weiri_heap_sort(&core->ready);
    for (size_t i = 0; i < core->ready.count; i++) {
        copy(block, queue, core->ready.entries[i].item);
    }
    for (size_t i = 0; i < core->waiting.count; i++) {
        const struct weir_item *item = core->waiting.entries[i].item;
        if (weiri_item_place(item) == WEIR_PLACE_IDLE) {
            copy(block, queue, item);
        }
    }
    return block->snapshot.count <= block->capacity && block->key_bytes <= block->key_capacity;
}

static size_t block_size(size_t capacity, size_t key_capacity)
{
    return sizeof(struct block) + capacity * sizeof(struct weir_snapshot_item) + key_capacity;
}

/* Has space for so much, and for some that may be added meanwhile. NULL: out of memory. */
static struct block *make_block(const struct weir_allocator *allocator, size_t count,
                                size_t key_bytes)
{
    size_t capacity = count + count / 8 + 8;
    size_t key_capacity = key_bytes + key_bytes / 8 + 64;
    struct block *block = weiri_alloc(allocator, block_size(capacity, key_capacity));
    if (block != NULL) {
        *block = (struct block){{block->items, 0}, *allocator, capacity, key_capacity, 0};
    }
    return block;
}

enum weir_status weir_queue_snapshot(weir_queue *queue, struct weir_snapshot **ret_snapshot)
{
    if (!weiri_queue_is_valid(queue) || ret_snapshot == NULL) {
        return weiri_queue_refusal(queue);
    }
    struct block *block = make_block(&queue->core.allocator, 0, 0);
    bool is_complete = false;
    while (block != NULL && !is_complete) {
        weiri_queue_lock(queue);
        is_complete = copy_all(block, queue);
        weiri_queue_unlock(queue);
        if (!is_complete) {
            size_t count = block->snapshot.count;
            size_t key_bytes = block->key_bytes;
            weir_snapshot_free(&block->snapshot);
            block = make_block(&queue->core.allocator, count, key_bytes);
        }
    }
    if (block == NULL) {
        return WEIR_ENOMEM;
    }
    *ret_snapshot = &block->snapshot;
    return WEIR_OK;
}

enum weir_status weir_queue_lookup(weir_queue *queue, struct weir_key key,
                                   struct weir_snapshot_item *ret_item)
{
    if (ret_item == NULL) {
        return weiri_queue_refusal(queue);
    }
    enum weir_status status = weiri_queue_check(queue, key);
    if (status != WEIR_OK) {
        return status;
    }
    weiri_queue_lock(queue);
    const struct weir_item *item = weiri_core_find(&queue->core, key);
    if (item == NULL || weiri_item_is_free(item)) {
        *ret_item = (struct weir_snapshot_item){.due_ns = -1, .queued_ns = -1, .running_ns = -1};
    } else if (weiri_core_holds(&queue->core, item)) {
        weiri_core_describe(&queue->core, item, queue->now_ns, ret_item);
    } else {
        status = WEIR_EBUSY;
    }
    weiri_queue_unlock(queue);
    if (status == WEIR_OK) {
        ret_item->key = key;
        ret_item->item = key.size == WEIR_KEY_ITEM ? (struct weir_item *)(uintptr_t)key.data : NULL;
    }
    return status;
}

void weir_snapshot_free(struct weir_snapshot *snapshot)
{
    if (snapshot != NULL) {
        struct block *block = (struct block *)snapshot;
        struct weir_allocator allocator = block->allocator;
        weiri_release(&allocator, block, block_size(block->capacity, block->key_capacity));
    }
}

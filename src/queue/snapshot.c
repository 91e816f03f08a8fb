/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/snapshot.h>

#include <string.h>

#include "base/alloc.h"
#include "queue/queue.h"

/* Items are copied under the queue's lock into memory that was allocated before. A copy that does
 * not fit only counts; the next one has a little more memory than was counted. */
struct weir_snapshot {
    struct weir_allocator allocator;
    struct weir_snapshot_item *items; /* and behind them the bytes of their keys: one block */
    size_t capacity;                  /* of items */
    size_t key_capacity;              /* of bytes */
    size_t count;
    size_t key_bytes;
};

/* Counts an item, and copies it where it fits. */
static void copy(weir_snapshot *snapshot, const weir_queue *queue, const struct weir_item *item)
{
    struct weir_snapshot_item to;
    weiri_core_describe(&queue->core, item, queue->now_ns, &to);
    if (to.item == NULL) {
        size_t at = snapshot->key_bytes;
        snapshot->key_bytes += to.key.size;
        if (snapshot->key_bytes <= snapshot->key_capacity) {
            char *bytes = (char *)(snapshot->items + snapshot->capacity) + at;
            memcpy(bytes, to.key.data, to.key.size);
            to.key.data = bytes;
        }
    }
    if (snapshot->count < snapshot->capacity) {
        snapshot->items[snapshot->count] = to;
    }
    snapshot->count++;
}

/* False: not all items fit, but all were counted. */
static bool copy_all(weir_snapshot *snapshot, weir_queue *queue) WEIRI_REQUIRES(queue->mutex)
{
    struct weiri_core *core = &queue->core;
    snapshot->count = 0;
    snapshot->key_bytes = 0;
    for (struct weir_item *item = core->first_processing; item != NULL; item = item->weir_next) {
        copy(snapshot, queue, item);
    }
    uint64_t position = core->ring.head;
    for (struct weir_item *item = weiri_ring_next(&core->ring, &position); item != NULL;
         item = weiri_ring_next(&core->ring, &position)) {
        copy(snapshot, queue, item);
    }
    weiri_heap_sort(&core->ready);
    for (size_t i = 0; i < core->ready.count; i++) {
        copy(snapshot, queue, core->ready.entries[i].item);
    }
    for (size_t i = 0; i < core->waiting.count; i++) {
        const struct weir_item *item = core->waiting.entries[i].item;
        if (weiri_item_place(item) == WEIR_PLACE_IDLE) {
            copy(snapshot, queue, item);
        }
    }
    return snapshot->count <= snapshot->capacity && snapshot->key_bytes <= snapshot->key_capacity;
}

static size_t block_size(const weir_snapshot *snapshot)
{
    return snapshot->capacity * sizeof(struct weir_snapshot_item) + snapshot->key_capacity;
}

/* Allocates memory for the items counted, and for some that may be added meanwhile. */
static enum weir_status allocate(weir_snapshot *snapshot)
{
    weiri_release(&snapshot->allocator, snapshot->items, block_size(snapshot));
    snapshot->capacity = snapshot->count + snapshot->count / 8 + 8;
    snapshot->key_capacity = snapshot->key_bytes + snapshot->key_bytes / 8 + 64;
    snapshot->items = weiri_alloc(&snapshot->allocator, block_size(snapshot));
    return snapshot->items == NULL ? WEIR_ENOMEM : WEIR_OK;
}

enum weir_status weir_queue_snapshot(weir_queue *queue, weir_snapshot **ret_snapshot)
{
    if (!weiri_queue_is_valid(queue) || ret_snapshot == NULL) {
        return weiri_queue_refusal(queue);
    }
    struct weir_allocator allocator = queue->core.allocator;
    weir_snapshot *snapshot = weiri_alloc_zero(&allocator, 1, sizeof(*snapshot));
    if (snapshot == NULL) {
        return WEIR_ENOMEM;
    }
    snapshot->allocator = allocator;
    bool is_complete = false;
    while (!is_complete) {
        if (allocate(snapshot) != WEIR_OK) {
            weiri_release(&allocator, snapshot, sizeof(*snapshot));
            return WEIR_ENOMEM;
        }
        weiri_queue_lock(queue);
        is_complete = copy_all(snapshot, queue);
        weiri_queue_unlock(queue);
    }
    *ret_snapshot = snapshot;
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

size_t weir_snapshot_count(const weir_snapshot *snapshot)
{
    return snapshot == NULL ? 0 : snapshot->count;
}

const struct weir_snapshot_item *weir_snapshot_at(const weir_snapshot *snapshot, size_t index)
{
    return snapshot == NULL || index >= snapshot->count ? NULL : &snapshot->items[index];
}

void weir_snapshot_free(weir_snapshot *snapshot)
{
    if (snapshot != NULL) {
        struct weir_allocator allocator = snapshot->allocator;
        weiri_release(&allocator, snapshot->items, block_size(snapshot));
        weiri_release(&allocator, snapshot, sizeof(*snapshot));
    }
}

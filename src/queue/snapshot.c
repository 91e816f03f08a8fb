/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/snapshot.h>

#include <string.h>

#include "base/alloc.h"
#include "queue/internal.h"
#include "queue/moves.h"

_Static_assert((int)WEIR_PLACE_IDLE == (int)WEIRI_IDLE &&
                   (int)WEIR_PLACE_QUEUED == (int)WEIRI_QUEUED &&
                   (int)WEIR_PLACE_PROCESSING == (int)WEIRI_PROCESSING &&
                   (int)WEIR_PLACE_DIRTY == (int)WEIRI_DIRTY,
               "places by the same numbers");
_Static_assert(offsetof(struct weir_snapshot_item, reserved0) + sizeof(uint32_t) ==
                   sizeof(struct weir_snapshot_item),
               "no padding at the end of a public struct");

/* The items are copied under the queue's lock into memory that was allocated before. A copy that
 * does not fit measures; the next one has a little more room than was measured. */
struct weir_snapshot {
    struct weir_allocator allocator;
    struct weir_snapshot_item *items; /* and behind them the bytes of their keys: one block */
    size_t room;                      /* for so many items */
    size_t key_room;                  /* and so many bytes */
    size_t count;
    size_t key_bytes;
    size_t unlisted;
};

/* What is to be said of an item; of a keyed one all but its key. */
static struct weir_snapshot_item describe(const struct weiri_core *core,
                                          const struct weir_item *item)
{
    return (struct weir_snapshot_item){
        .key = weir_key_item((struct weir_item *)(uintptr_t)item),
        .item = (struct weir_item *)(uintptr_t)item,
        .due_ns = item->weir_wait == 0 ? -1 : weiri_delay_time(&core->delay, item),
        .queued_ns = core->meter == NULL ? -1 : weiri_meter_queued_age(core->meter, item),
        .running_ns = core->meter == NULL ? -1 : weiri_meter_running_age(core->meter, item),
        .ticket = weiri_item_is_processing(item) ? item->weir_position : 0,
        .place = (enum weir_place)weiri_item_place(item),
    };
}

/* Counts an item, and copies it where there is room. */
static void copy(weir_snapshot *snapshot, const struct weiri_core *core,
                 const struct weir_item *item)
{
    struct weir_snapshot_item to = describe(core, item);
    if (weiri_item_is_keyed(item)) {
        const struct weiri_record *record = WEIRI_CONTAINER(item, struct weiri_record, item);
        size_t at = snapshot->key_bytes;
        snapshot->key_bytes += record->key_size;
        to.item = NULL;
        to.key = weir_key_bytes(NULL, record->key_size);
        if (snapshot->key_bytes <= snapshot->key_room && record->key_size > 0) {
            char *bytes = (char *)(snapshot->items + snapshot->room) + at;
            memcpy(bytes, weiri_record_key(record), record->key_size);
            to.key.data = bytes;
        }
    }
    if (snapshot->count < snapshot->room) {
        snapshot->items[snapshot->count] = to;
    }
    snapshot->count++;
}

/* False: not all of it had room; it has been measured. */
static bool copy_all(weir_snapshot *snapshot, const struct weiri_core *core)
{
    snapshot->count = 0;
    snapshot->key_bytes = 0;
    snapshot->unlisted = core->running.unnamed;
    for (size_t i = 0; i < core->running.named; i++) {
        copy(snapshot, core, core->running.items[i]);
    }
    uint64_t position = weiri_ready_first(&core->ready);
    for (struct weir_item *item = weiri_ready_from(&core->ready, &position); item != NULL;
         item = weiri_ready_from(&core->ready, &position)) {
        copy(snapshot, core, item);
    }
    for (size_t slot = WEIRI_DELAY_FIRST; slot < weiri_delay_end(&core->delay); slot++) {
        const struct weir_item *item = weiri_delay_at(&core->delay, slot)->item;
        if (weiri_item_place(item) == WEIRI_IDLE) {
            copy(snapshot, core, item);
        }
    }
    return snapshot->count <= snapshot->room && snapshot->key_bytes <= snapshot->key_room;
}

static size_t block_size(const weir_snapshot *snapshot)
{
    return snapshot->room * sizeof(struct weir_snapshot_item) + snapshot->key_room;
}

/* Makes room for what was measured and what may come meanwhile. */
static enum weir_status make_room(weir_snapshot *snapshot)
{
    weiri_release(&snapshot->allocator, snapshot->items, block_size(snapshot));
    snapshot->room = snapshot->count + snapshot->count / 8 + 8;
    snapshot->key_room = snapshot->key_bytes + snapshot->key_bytes / 8 + 64;
    snapshot->items = weiri_alloc(&snapshot->allocator, block_size(snapshot));
    return snapshot->items == NULL ? WEIR_ENOMEM : WEIR_OK;
}

enum weir_status weir_queue_snapshot(weir_queue *queue, weir_snapshot **ret_snapshot)
{
    if (weiri_queue_check(queue) != WEIR_OK || ret_snapshot == NULL) {
        return weiri_queue_refusal(queue);
    }
    weiri_queue_lock(queue);
    struct weir_allocator allocator = queue->core.allocator;
    weiri_queue_unlock(queue);
    weir_snapshot *snapshot = weiri_alloc_zero(&allocator, 1, sizeof(*snapshot));
    if (snapshot == NULL) {
        return WEIR_ENOMEM;
    }
    snapshot->allocator = allocator;
    bool is_complete = false;
    while (!is_complete) {
        if (make_room(snapshot) != WEIR_OK) {
            weiri_release(&allocator, snapshot, sizeof(*snapshot));
            return WEIR_ENOMEM;
        }
        weiri_queue_lock(queue);
        weiri_queue_pass_time_locked(queue);
        weiri_ready_sort(&queue->core.ready);
        weiri_delay_close_gaps(&queue->core.delay);
        is_complete = copy_all(snapshot, &queue->core);
        weiri_queue_unlock(queue);
    }
    *ret_snapshot = snapshot;
    return WEIR_OK;
}

enum weir_status weir_queue_lookup(weir_queue *queue, struct weir_key key,
                                   struct weir_snapshot_item *ret_item)
{
    static const struct weir_item unknown;
    enum weir_status status = ret_item == NULL ? WEIR_EINVAL : weiri_queue_check_call(queue, key);
    if (status != WEIR_OK) {
        return status;
    }
    weiri_queue_lock(queue);
    weiri_queue_pass_time_locked(queue);
    const struct weir_item *item = weiri_core_find(&queue->core, key);
    if (item == NULL) {
        item = &unknown;
    }
    if (weiri_item_is_elsewhere(item, queue->core.mark)) {
        status = WEIR_EBUSY;
    } else {
        *ret_item = describe(&queue->core, item);
        ret_item->key = key;
        if (key.size != WEIR_KEY_ITEM) {
            ret_item->item = NULL;
        }
    }
    weiri_queue_unlock(queue);
    return status;
}

size_t weir_snapshot_count(const weir_snapshot *snapshot)
{
    return snapshot == NULL ? 0 : snapshot->count;
}

size_t weir_snapshot_unlisted(const weir_snapshot *snapshot)
{
    return snapshot == NULL ? 0 : snapshot->unlisted;
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

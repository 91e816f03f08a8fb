/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The moves of many items at once. */

#include "queue/core.h"

#include "queue/moves.h"

bool weiri_core_has_capacity(struct weiri_core *core, const struct weir_key *keys, size_t count)
{
    size_t room = core->is_room_kept ? 0 : core->capacity - weiri_core_held(core);
    if (core->capacity == 0 || count <= room) {
        return true;
    }
    size_t entering = 0;
    for (size_t i = 0; i < count; i++) {
        struct weir_item *item = weiri_core_find(core, keys[i]);
        if (weiri_item_is_free(item) && item->weir_running == 0) {
            item->weir_running = 1; /* a mark: a free item has no other use for it */
            entering++;
        }
    }
    for (size_t i = 0; i < count; i++) {
        struct weir_item *item = weiri_core_find(core, keys[i]);
        if (weiri_item_is_free(item)) {
            item->weir_running = 0;
        }
    }
    return entering <= room;
}

/* Takes back the interning of the first count keys. */
static void release_batch(struct weiri_core *core, const struct weir_key *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct weir_item *item = weiri_core_find(core, keys[i]);
        if (item != NULL) {
            weiri_core_release_unused(core, item);
        }
    }
}

enum weir_status weiri_core_add_batch(struct weiri_core *core, const struct weir_key *keys,
                                      size_t count, bool *ret_were_queued)
{
    if (weiri_core_reserve(core, count) != WEIR_OK) {
        return WEIR_ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        struct weir_item *item = weiri_core_intern(core, keys[i]);
        if (item == NULL || weiri_item_is_elsewhere(item, core->mark)) {
            release_batch(core, keys, i);
            return item == NULL ? WEIR_ENOMEM : WEIR_EBUSY;
        }
    }
    if (!weiri_core_has_capacity(core, keys, count)) {
        release_batch(core, keys, count);
        return WEIR_EFULL;
    }
    for (size_t i = 0; i < count; i++) {
        struct weir_item *item = weiri_core_find(core, keys[i]);
        int32_t asked = 0;
        if (item->weir_wait != 0) {
            core->only_waiting -= weiri_item_place(item) == WEIRI_IDLE;
            asked = core->supersedes ? weiri_core_take_time(core, item) : 0;
        }
        if (ret_were_queued != NULL) {
            ret_were_queued[i] = weiri_item_place(item) == WEIRI_QUEUED;
        }
        weiri_core_enqueue(core, item, asked < 0 ? asked : 0);
    }
    return WEIR_OK;
}

/* Finds or makes the items and writes them into the room behind the ring's tail, which has been
 * reserved for them. */
static enum weir_status gather(struct weiri_core *core, const struct weir_key *keys, size_t count)
{
    struct weiri_ring *ring = &core->ready.ring;
    if (ring->tail - ring->head + count > ring->capacity) {
        weiri_ring_compact(ring);
    }
    for (size_t i = 0; i < count; i++) {
        struct weir_item *item = weiri_core_intern(core, keys[i]);
        if (item == NULL || weiri_item_is_elsewhere(item, core->mark)) {
            release_batch(core, keys, i);
            return item == NULL ? WEIR_ENOMEM : WEIR_EBUSY;
        }
        ring->slots[(ring->tail + i) & (ring->capacity - 1)] = item;
    }
    return WEIR_OK;
}

/* Queues what was gathered. An item moves only towards the tail, over others that have moved. */
static void queue_gathered(struct weiri_core *core, size_t count)
{
    struct weiri_ring ring = core->ready.ring; /* a copy, which can stay in registers */
    size_t mask = ring.capacity - 1;
    uint64_t from = ring.tail;
    for (size_t i = 0; i < count; i++) {
        struct weir_item *item = ring.slots[(from + i) & mask];
        enum weiri_place place = weiri_item_place(item);
        if (place == WEIRI_IDLE) {
            weiri_item_set(item, core->mark, WEIRI_QUEUED);
            item->weir_position = ring.tail;
            ring.slots[ring.tail++ & mask] = item;
        } else if (place == WEIRI_PROCESSING) {
            weiri_item_set(item, core->mark, WEIRI_DIRTY);
            core->dirty++;
        }
    }
    core->ready.ring = ring;
}

enum weir_status weiri_core_add_batch_quiet(struct weiri_core *core, const struct weir_key *keys,
                                            size_t count)
{
    if (weiri_core_reserve(core, count) != WEIR_OK) {
        return WEIR_ENOMEM;
    }
    enum weir_status status = gather(core, keys, count);
    if (status == WEIR_OK) {
        queue_gathered(core, count);
    }
    return status;
}

size_t weiri_core_next_batch_quiet(struct weiri_core *core, struct weir_work *ret_work, size_t size)
{
    struct weiri_ring ring = core->ready.ring; /* copies, as above */
    struct weiri_running running = core->running;
    uint64_t ticket = core->last_ticket;
    size_t room = running.capacity - running.named;
    size_t count = 0;
    while (count < size && count < room) {
        struct weir_item *item = weiri_ring_pop(&ring);
        if (item == NULL) {
            break;
        }
        weiri_core_look_ahead(core, &ring);
        weiri_item_set(item, core->mark, WEIRI_PROCESSING);
        item->weir_position = ++ticket;
        weiri_running_put(&running, item);
        weiri_core_describe(item, ticket, &ret_work[count++]);
    }
    core->ready.ring = ring;
    core->running = running;
    core->last_ticket = ticket;
    /* What the array of the running ones had no room for. */
    while (count < size && weiri_core_next(core, &ret_work[count])) {
        count++;
    }
    return count;
}

/* Ends those processings that leave their item idle, from the last one back: items that were gotten
 * together lie at the end of the running ones in their order, so that none has to move. Returns how
 * many are of dirty items; *ret_status is WEIR_ENOTPROCESSING where one is none of the queue's. */
static size_t end_clean(struct weiri_core *core, const struct weir_work *work, size_t count,
                        enum weir_status *ret_status)
{
    struct weiri_running running = core->running; /* a copy, as above */
    size_t dirty = 0;
    for (size_t i = count; i > 0; i--) {
        struct weir_item *item = weiri_core_held_item(core, &work[i - 1]);
        if (item == NULL) {
            *ret_status = WEIR_ENOTPROCESSING;
        } else if (weiri_item_place(item) == WEIRI_DIRTY) {
            dirty++;
        } else {
            weiri_running_take(&running, item);
            (void)weiri_core_rest(core, item);
        }
    }
    core->running = running;
    return dirty;
}

enum weir_status weiri_core_done_batch_quiet(struct weiri_core *core, const struct weir_work *work,
                                             size_t count)
{
    enum weir_status status = WEIR_OK;
    size_t dirty = end_clean(core, work, count, &status);
    /* Dirty ones are queued in their order. One that is named twice is there once. */
    for (size_t i = 0; i < count && dirty > 0; i++) {
        struct weir_item *item = weiri_core_held_item(core, &work[i]);
        if (item != NULL) {
            weiri_running_take(&core->running, item);
            core->dirty--;
            weiri_item_set(item, core->mark, WEIRI_QUEUED);
            weiri_ring_push(&core->ready.ring, item);
            dirty--;
        }
    }
    weiri_running_trim(&core->running, &core->allocator);
    weiri_ready_trim(&core->ready, &core->allocator, weiri_core_obligations(core));
    return dirty > 0 ? WEIR_ENOTPROCESSING : status;
}

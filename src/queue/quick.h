/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_QUICK_H
#define WEIRI_QUICK_H

#include "base/inline.h"
#include "queue/core.h"
#include "queue/moves.h"

/* The moves of moves.h in a plain or a ranked queue (weiri_queue_unlock), where nothing is in their
 * way: each is made as a whole, or says no and has changed nothing, and then the general one does
 * it. So memory that must grow or shrink, holes in the ring, another queue's items and stale
 * tickets are not for here, nor are priorities of dirty items; and nothing that costs a call is,
 * but for keys of bytes and for the heap of a ranked queue.
 *
 * They are compiled for either by a constant. In neither does anything wait, so an item
 * that it holds is queued, processing or dirty. */

enum weiri_order {
    WEIRI_FIFO,
    WEIRI_RANKED
};

/* Whether one more item may be queued or become dirty, and be pushed without a look at holes. */
WEIRI_INLINE bool weiri_quick_has_room(const struct weiri_core *core, const enum weiri_order order)
{
    return order == WEIRI_RANKED
               ? core->ready.ranks.count + core->dirty < core->ready.ranks.capacity
               : weiri_ring_has_room(&core->ready.ring, core->dirty + 1);
}

/* Queues an item. */
WEIRI_INLINE void weiri_quick_put(struct weiri_core *core, struct weir_item *item, int32_t priority,
                                  const enum weiri_order order)
{
    weiri_item_set(item, core->mark, WEIRI_QUEUED);
    if (order == WEIRI_RANKED) {
        weiri_ranks_put(&core->ready.ranks, item, priority);
    } else {
        weiri_ring_put(&core->ready.ring, item);
    }
}

/* The add of an item, for which there is room; the priority counts in a ranked queue. */
WEIRI_INLINE bool weiri_quick_add_item(struct weiri_core *core, struct weir_item *item,
                                       int32_t priority, const enum weiri_order order)
{
    uint32_t word = weiri_item_word_to_take(item);
    if (word == 0) {
        weiri_quick_put(core, item, priority, order);
        return true;
    }
    if (order == WEIRI_RANKED && word == (core->mark | WEIRI_QUEUED)) {
        return weiri_ranks_is_as_urgent(&core->ready.ranks, item, priority);
    }
    if (order == WEIRI_RANKED && (priority != 0 || core->asks.count != 0)) {
        return false;
    }
    if (word == (core->mark | WEIRI_PROCESSING)) {
        weiri_item_set(item, core->mark, WEIRI_DIRTY);
        core->dirty++;
        return true;
    }
    return weiri_item_joins(item, core->mark);
}

/* The add of a valid key; is_item, a constant, says of which kind. */
WEIRI_INLINE bool weiri_quick_add(struct weiri_core *core, struct weir_key key, const bool is_item,
                                  int32_t priority, const enum weiri_order order)
{
    if (!weiri_quick_has_room(core, order)) {
        return false;
    }
    struct weir_item *item = is_item ? (struct weir_item *)(uintptr_t)key.data
                                     : weiri_table_intern_quick(&core->table, key);
    return item != NULL && weiri_quick_add_item(core, item, priority, order);
}

/* The item that is to be handed out next; NULL: there is none, or a hole. */
WEIRI_INLINE struct weir_item *weiri_quick_first(const struct weiri_core *core,
                                                 const enum weiri_order order)
{
    if (order == WEIRI_RANKED) {
        const struct weiri_ranks *ranks = &core->ready.ranks;
        return ranks->count == 0 ? NULL : ranks->entries[0].item;
    }
    const struct weiri_ring *ring = &core->ready.ring;
    return ring->head == ring->tail ? NULL : ring->slots[ring->head & (ring->capacity - 1)];
}

WEIRI_INLINE bool weiri_quick_next(struct weiri_core *core, struct weir_work *ret_work,
                                   const enum weiri_order order)
{
    struct weir_item *item = weiri_quick_first(core, order);
    if (item == NULL || core->running.named == core->running.capacity) {
        return false;
    }
    if (order == WEIRI_RANKED) {
        (void)weiri_ranks_pop(&core->ready.ranks);
    } else {
        core->ready.ring.head++;
        weiri_core_look_ahead(core, &core->ready.ring);
    }
    weiri_item_set(item, core->mark, WEIRI_PROCESSING);
    item->weir_position = ++core->last_ticket;
    weiri_running_put(&core->running, item);
    weiri_core_describe(item, core->last_ticket, ret_work);
    return true;
}

/* *ret_left, which may be NULL: the item is free now. */
WEIRI_INLINE bool weiri_quick_done(struct weiri_core *core, const struct weir_work *work,
                                   bool *ret_left, const enum weiri_order order)
{
    struct weir_item *item = weiri_core_held_item(core, work);
    if (item == NULL || item->weir_running >= core->running.named || weiri_core_may_trim(core)) {
        return false;
    }
    bool is_dirty = weiri_item_place(item) == WEIRI_DIRTY;
    if (is_dirty && (order == WEIRI_RANKED ? core->asks.count != 0
                                           : !weiri_ring_has_room(&core->ready.ring, 1))) {
        return false;
    }
    if (!is_dirty && weiri_item_is_keyed(item) && !weiri_table_remove_quick(&core->table, item)) {
        return false;
    }
    weiri_running_take(&core->running, item);
    if (is_dirty) {
        core->dirty--;
        weiri_quick_put(core, item, 0, order);
    } else {
        weiri_item_free(item);
    }
    if (ret_left != NULL) {
        *ret_left = !is_dirty;
    }
    return true;
}

/* The same for batches, in batch.c. */

/* Adds count keys, valid or not; false: none was added. */
WEIR_NODISCARD bool weiri_quick_add_batch(struct weiri_core *core, const struct weir_key *keys,
                                          size_t count, size_t key_size_max);
/* Hands out up to size items, or fewer than there are; how many. */
size_t weiri_quick_next_batch(struct weiri_core *core, struct weir_work *ret_work, size_t size);
/* Ends processings from the last one back, until something is in the way; how many are left. In
 * this order items that were gotten together are the last of the running ones, one after the
 * other, so that none has to move. */
WEIR_NODISCARD size_t weiri_quick_done_batch(struct weiri_core *core, const struct weir_work *work,
                                             size_t count);

#endif

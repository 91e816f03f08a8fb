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

/* And for the kind of item that they are given, where that is known: embedded; keyed; keyed, and
 * its key alone where its hash leads in a sparse table (queue/table.h). The third is what a keyed
 * item of a short queue mostly takes, and needs no loops. */
enum weiri_quick_kind {
    WEIRI_QUICK_ITEM,
    WEIRI_QUICK_BYTES,
    WEIRI_QUICK_ALONE
};

/* Whether one more item may be queued or become dirty, and be pushed without a look at holes. */
WEIRI_INLINE bool weiri_quick_has_room(const struct weiri_core *core, const enum weiri_order order)
{
    const struct weiri_ring *ring = &core->ready.ring;
    return order == WEIRI_RANKED
               ? core->ready.ranks.count + core->dirty < core->ready.ranks.capacity
               : ring->tail - ring->head + core->dirty < ring->capacity;
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

/* The item of a key of bytes, made free where it was not known. */
WEIRI_INLINE struct weir_item *weiri_quick_intern(struct weiri_core *core, struct weir_key key,
                                                  const enum weiri_quick_kind kind)
{
    return kind == WEIRI_QUICK_ALONE ? weiri_table_intern_alone(&core->table, key)
                                     : weiri_table_intern_quick(&core->table, key);
}

/* The add of a valid key. */
WEIRI_INLINE bool weiri_quick_add(struct weiri_core *core, struct weir_key key,
                                  const enum weiri_quick_kind kind, int32_t priority,
                                  const enum weiri_order order)
{
    if ((kind == WEIRI_QUICK_ALONE && !weiri_table_is_sparse(&core->table)) ||
        !weiri_quick_has_room(core, order)) {
        return false;
    }
    struct weir_item *item = kind == WEIRI_QUICK_ITEM ? (struct weir_item *)(uintptr_t)key.data
                                                      : weiri_quick_intern(core, key, kind);
    return item != NULL && weiri_quick_add_item(core, item, priority, order);
}

/* The same of either kind of key. */
WEIRI_INLINE bool weiri_quick_add_any(struct weiri_core *core, struct weir_key key,
                                      int32_t priority, const enum weiri_order order)
{
    return key.size == WEIR_KEY_ITEM
               ? weiri_quick_add(core, key, WEIRI_QUICK_ITEM, priority, order)
               : weiri_quick_add(core, key, WEIRI_QUICK_BYTES, priority, order);
}

/* The item that is to be handed out next; NULL: there is none, or a hole. */
WEIRI_INLINE struct weir_item *weiri_quick_first(const struct weiri_core *core,
                                                 const enum weiri_order order)
{
    if (order == WEIRI_RANKED) {
        const struct weiri_ranks *ranks = &core->ready.ranks;
        return ranks->count == 0 ? NULL : weiri_ranks_at(ranks, 0)->item;
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
        weiri_core_look_ahead_ranked(core, &core->ready.ranks);
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

/* Whether the end of a processing may leave most of some memory unused. Nothing but what is ready,
 * and what is dirty, has a place there. */
WEIRI_INLINE bool weiri_quick_may_trim(const struct weiri_core *core, const enum weiri_order order)
{
    const struct weiri_running *running = &core->running;
    const struct weiri_ready *ready = &core->ready;
    const size_t capacity = order == WEIRI_RANKED ? ready->ranks.capacity : ready->ring.capacity;
    if (running->capacity > WEIRI_RUNNING_CAPACITY_MIN && running->named <= running->capacity / 8) {
        return true;
    }
    return capacity > WEIRI_RING_CAPACITY_MIN &&
           weiri_ready_count(ready) + core->dirty < capacity / 8;
}

/* Ends the use of an item that is to become free. */
WEIRI_INLINE bool weiri_quick_release(struct weiri_core *core, struct weir_item *item,
                                      const enum weiri_quick_kind kind)
{
    if (kind == WEIRI_QUICK_ITEM) {
        return !weiri_item_is_keyed(item);
    }
    return kind == WEIRI_QUICK_ALONE ? weiri_table_remove_alone(&core->table, item)
                                     : weiri_table_remove_quick(&core->table, item);
}

/* *ret_left, which may be NULL: the item is free now. */
WEIRI_INLINE bool weiri_quick_done(struct weiri_core *core, const struct weir_work *work,
                                   const enum weiri_quick_kind kind, bool *ret_left,
                                   const enum weiri_order order)
{
    if (kind == WEIRI_QUICK_ALONE && !weiri_table_is_sparse(&core->table)) {
        return false;
    }
    struct weir_item *item =
        kind == WEIRI_QUICK_ITEM ? work->item : weiri_core_find_record(core, work);
    if (item == NULL) {
        return false;
    }
    WEIRI_COMPUTED(item);
    if (item->weir_position != work->ticket || item->weir_running >= core->running.named ||
        weiri_quick_may_trim(core, order)) {
        return false;
    }
    const uint32_t word = weiri_item_word(item);
    if (WEIRI_LIKELY(word == (core->mark | WEIRI_PROCESSING))) {
        if (!weiri_quick_release(core, item, kind)) {
            return false;
        }
        weiri_running_take(&core->running, item);
        weiri_item_free(item);
    } else {
        if (word != (core->mark | WEIRI_DIRTY) ||
            (order == WEIRI_RANKED ? core->asks.count != 0
                                   : !weiri_ring_has_room(&core->ready.ring, 1))) {
            return false;
        }
        weiri_running_take(&core->running, item);
        core->dirty--;
        weiri_quick_put(core, item, 0, order);
    }
    if (ret_left != NULL) {
        *ret_left = word == (core->mark | WEIRI_PROCESSING);
    }
    return true;
}

/* The same of work of either kind. */
WEIRI_INLINE bool weiri_quick_done_any(struct weiri_core *core, const struct weir_work *work,
                                       bool *ret_left, const enum weiri_order order)
{
    return work->item != NULL ? weiri_quick_done(core, work, WEIRI_QUICK_ITEM, ret_left, order)
                              : weiri_quick_done(core, work, WEIRI_QUICK_BYTES, ret_left, order);
}

/* The same for batches, in batch.c. */

/* Adds count keys, valid or not; false: none was added. is_unseen: nobody can look at an item
 * before this has returned. */
WEIR_NODISCARD bool weiri_quick_add_batch(struct weiri_core *core, const struct weir_key *keys,
                                          size_t count, size_t key_size_max, bool is_unseen);
/* Hands out up to size items, or fewer than there are; how many. */
size_t weiri_quick_next_batch(struct weiri_core *core, struct weir_work *ret_work, size_t size);
/* Ends processings from the last one back, until something is in the way; how many are left. In
 * this order items that were gotten together are the last of the running ones, one after the
 * other, so that none has to move. */
WEIR_NODISCARD size_t weiri_quick_done_batch(struct weiri_core *core, const struct weir_work *work,
                                             size_t count);

#endif

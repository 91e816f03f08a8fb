/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_MOVES_H
#define WEIRI_MOVES_H

#include "base/inline.h"
#include "base/list.h"
#include "base/panic.h"
#include "queue/core.h"

/* The moves that every item makes: add, next, done. Inline, because together they cost less than
 * the calls would. What is rare (memory, capacity) is behind calls. Most items make them by the
 * short cuts of queue/quick.h. */

/* How many gets before it is needed memory is fetched. */
#ifndef WEIRI_AHEAD
#    define WEIRI_AHEAD 16u
#endif

/* Items that have a place in the ring or may come to need one. */
static inline size_t weiri_core_obligations(const struct weiri_core *core)
{
    return weiri_ready_count(&core->ready) + core->dirty + core->delay.count + core->aside;
}

/* Whether nothing is kept of the items but their order, and at most their priorities. */
static inline bool weiri_core_is_simple(const struct weiri_core *core)
{
    return core->meter == NULL && core->ready.ranks.aging_ns == 0 && core->capacity == 0;
}

/* Items that are not free: queued, waiting, processing. */
static inline size_t weiri_core_held(const struct weiri_core *core)
{
    return weiri_ready_count(&core->ready) + weiri_running_count(&core->running) +
           core->only_waiting + core->aside;
}

/* The item of a valid key; NULL where a key of bytes is not known. */
static inline struct weir_item *weiri_core_find(const struct weiri_core *core, struct weir_key key)
{
    if (key.size == WEIR_KEY_ITEM) {
        return (struct weir_item *)(uintptr_t)key.data;
    }
    return weiri_table_find(&core->table, key);
}

/* The key's item, made free where it was not known; NULL for lack of memory. */
static inline struct weir_item *weiri_core_intern(struct weiri_core *core, struct weir_key key)
{
    if (key.size == WEIR_KEY_ITEM) {
        return (struct weir_item *)(uintptr_t)key.data;
    }
    return weiri_table_intern(&core->table, &core->allocator, key);
}

WEIRI_INLINE struct weiri_admitted weiri_core_admit(struct weiri_core *core, struct weir_key key)
{
    bool has_room =
        core->capacity == 0 && weiri_core_obligations(core) < weiri_ready_capacity(&core->ready);
    if (!has_room) {
        return weiri_core_admit_slow(core, key);
    }
    struct weir_item *item = weiri_core_intern(core, key);
    if (item == NULL) {
        return (struct weiri_admitted){NULL, WEIR_ENOMEM};
    }
    if (weiri_item_is_elsewhere(item, core->mark)) {
        return (struct weiri_admitted){NULL, WEIR_EBUSY};
    }
    return (struct weiri_admitted){item, WEIR_OK};
}

/* Gives back the memory of a key that the queue does not know any more. */
static inline void weiri_core_release_unused(struct weiri_core *core, struct weir_item *item)
{
    if (weiri_item_is_keyed(item) && weiri_item_is_free(item)) {
        weiri_table_remove(&core->table, &core->allocator, item);
    }
}

/* Takes an item's place away; it stays the queue's while it waits. True: it has become free; where
 * it is keyed, its memory is gone, and where it is embedded, it may be (weiri_item_free). */
static inline bool weiri_core_rest(struct weiri_core *core, struct weir_item *item)
{
    bool is_free = item->weir_wait == 0;
    bool is_keyed = weiri_item_is_keyed(item);
    weiri_item_rest(item, core->mark);
    if (is_free && is_keyed) {
        weiri_table_remove(&core->table, &core->allocator, item);
    }
    return is_free;
}

/* Of two priorities asked for an item that is not queued yet, the more urgent one. */
static inline void weiri_core_ask(struct weiri_core *core, const struct weir_item *item,
                                  enum weiri_ask_kind kind, int32_t priority)
{
    if (priority < weiri_asks_get(&core->asks, item, kind)) {
        weiri_asks_set(&core->asks, &core->allocator, item, kind, priority);
    }
}

/* The move of an add, whoever asks for it. There is room for its place and its priority. */
WEIRI_INLINE void weiri_core_enqueue(struct weiri_core *core, struct weir_item *item,
                                     int32_t priority)
{
    switch (weiri_item_place(item)) {
    case WEIRI_IDLE:
        weiri_item_set(item, core->mark, WEIRI_QUEUED);
        weiri_ready_push(&core->ready, item, priority);
        if (core->meter != NULL) {
            weiri_meter_queued(core->meter, item);
        }
        return;
    case WEIRI_PROCESSING:
        weiri_item_set(item, core->mark, WEIRI_DIRTY);
        core->dirty++;
        if (core->meter != NULL) {
            weiri_meter_dirtied(core->meter, item);
        }
        if (priority != 0) {
            weiri_asks_set(&core->asks, &core->allocator, item, WEIRI_ASK_DIRTY, priority);
        }
        return;
    case WEIRI_QUEUED:
        if (core->ready.has_priorities) {
            weiri_ranks_raise(&core->ready.ranks, item, priority);
        }
        return;
    case WEIRI_DIRTY:
        if (core->ready.has_priorities) {
            weiri_core_ask(core, item, WEIRI_ASK_DIRTY, priority);
        }
        return;
    }
    weiri_panic(__FILE__, __LINE__, "an item's place is none of the four");
}

/* Takes a waiting item's pending time away; returns the priority that was asked for it. */
static inline int32_t weiri_core_take_time(struct weiri_core *core, struct weir_item *item)
{
    weiri_delay_remove(&core->delay, item);
    return weiri_asks_take(&core->asks, &core->allocator, item, WEIRI_ASK_WAITING);
}

/* Adds a valid key at once; supersede takes its pending time away. The priority is 0 where there
 * are none. WEIR_EFULL, WEIR_ENOMEM, WEIR_EBUSY (another queue holds the item): nothing changed. */
WEIR_NODISCARD WEIRI_INLINE enum weir_status weiri_core_add(struct weiri_core *core,
                                                            struct weir_key key, bool supersede,
                                                            int32_t priority,
                                                            struct weiri_added *ret_added)
{
    if (priority != 0 && weiri_asks_reserve(&core->asks, &core->allocator) != WEIR_OK) {
        return WEIR_ENOMEM;
    }
    struct weiri_admitted admitted = weiri_core_admit(core, key);
    if (admitted.status != WEIR_OK) {
        return admitted.status;
    }
    struct weir_item *item = admitted.item;
    enum weiri_place place = weiri_item_place(item);
    bool is_waiting = item->weir_wait != 0;
    bool takes_time = is_waiting && (supersede || core->supersedes);
    if (is_waiting) {
        core->only_waiting -= place == WEIRI_IDLE;
        if (takes_time) {
            int32_t asked = weiri_core_take_time(core, item);
            priority = asked < priority ? asked : priority;
        }
    }
    ret_added->has_entered = place == WEIRI_IDLE && !is_waiting;
    ret_added->has_joined = place == WEIRI_QUEUED || place == WEIRI_DIRTY;
    ret_added->was_queued = place == WEIRI_QUEUED;
    ret_added->has_new_time = takes_time;
    weiri_core_enqueue(core, item, priority);
    return WEIR_OK;
}

/* What a consumer is told of an item that it is handed. */
static inline void weiri_core_describe(const struct weir_item *item, uint64_t ticket,
                                       struct weir_work *ret_work)
{
    ret_work->ticket = ticket;
    if (weiri_item_is_keyed(item)) {
        const struct weiri_record *record = WEIRI_CONTAINER(item, struct weiri_record, item);
        ret_work->key = weir_key_bytes(weiri_record_key(record), record->key_size);
        ret_work->item = NULL;
        ret_work->weir_slot = weiri_record_index(record);
    } else {
        ret_work->key = weir_key_bytes(item, WEIR_KEY_ITEM);
        ret_work->item = (struct weir_item *)(uintptr_t)item;
        ret_work->weir_slot = 0;
    }
}

/* Has the slot of a keyed item fetched. */
WEIRI_INLINE void weiri_core_fetch_slot(const struct weiri_core *core, const struct weir_item *item)
{
    const struct weiri_record *record = WEIRI_CONTAINER(item, struct weiri_record, item);
    weiri_slots_prefetch(&core->table.slots, record->hash);
}

/* Has memory fetched for the gets that come next: in a long queue an item has left the caches
 * since it was added, and to wait for it would take longer than all else. (A call of what only
 * fetches has no effect that gcc knows of, and is left out: this must be part of its callers.) */
WEIRI_INLINE void weiri_core_look_ahead(const struct weiri_core *core,
                                        const struct weiri_ring *ring)
{
    if (ring->tail - ring->head <= WEIRI_AHEAD) {
        return;
    }
    __builtin_prefetch(weiri_ring_at(ring, WEIRI_AHEAD), 1);
    if (core->table.slots.used == 0) {
        return;
    }
    const struct weir_item *near = weiri_ring_at(ring, WEIRI_AHEAD / 2);
    if (near != NULL && weiri_item_is_keyed(near)) {
        weiri_core_fetch_slot(core, near);
    }
}

/* The same with priorities, where the next items are known: among those that are in order. */
WEIRI_INLINE void weiri_core_look_ahead_ranked(const struct weiri_core *core,
                                               const struct weiri_ranks *ranks)
{
    if (ranks->is_mixed || ranks->count <= WEIRI_AHEAD) {
        return;
    }
    __builtin_prefetch(weiri_ranks_at(ranks, WEIRI_AHEAD)->item, 1);
    const struct weir_item *near = weiri_ranks_at(ranks, WEIRI_AHEAD / 2)->item;
    if (core->table.slots.used != 0 && weiri_item_is_keyed(near)) {
        weiri_core_fetch_slot(core, near);
    }
}

/* Hands out the item at the head. False: nothing is queued. */
WEIRI_INLINE bool weiri_core_next(struct weiri_core *core, struct weir_work *ret_work)
{
    struct weir_item *item = weiri_ready_pop(&core->ready);
    if (item == NULL) {
        return false;
    }
    weiri_core_look_ahead(core, &core->ready.ring);
    uint64_t ticket = ++core->last_ticket;
    uint32_t stamp = item->weir_running;
    weiri_item_set(item, core->mark, WEIRI_PROCESSING);
    item->weir_position = ticket;
    weiri_running_insert(&core->running, &core->allocator, item);
    if (core->meter != NULL) {
        weiri_meter_started(core->meter, item, stamp);
    }
    weiri_core_describe(item, ticket, ret_work);
    return true;
}

/* The keyed item that a consumer names; NULL where it names none. */
static inline struct weir_item *weiri_core_find_record(const struct weiri_core *core,
                                                       const struct weir_work *work)
{
    struct weiri_record *record = weiri_records_check(&core->table.records, work->weir_slot);
    return record != NULL ? &record->item : NULL;
}

/* The item that a consumer names; NULL where it names none. It may be anybody's. */
static inline struct weir_item *weiri_core_find_work(const struct weiri_core *core,
                                                     const struct weir_work *work)
{
    return work->item != NULL ? work->item : weiri_core_find_record(core, work);
}

/* The item a consumer says it has; NULL where it does not have it, or not any more. */
static inline struct weir_item *weiri_core_held_item(const struct weiri_core *core,
                                                     const struct weir_work *work)
{
    struct weir_item *item = weiri_core_find_work(core, work);
    if (item == NULL) {
        return NULL;
    }
    bool is_held = item->weir_position == work->ticket && weiri_item_is_held(item, core->mark);
    return is_held ? item : NULL;
}

/* Ends a processing. WEIR_ENOTPROCESSING: nothing changed. */
WEIR_NODISCARD WEIRI_INLINE enum weir_status weiri_core_done(struct weiri_core *core,
                                                             const struct weir_work *work,
                                                             struct weiri_ended *ret_ended)
{
    struct weir_item *item = weiri_core_held_item(core, work);
    if (item == NULL) {
        return WEIR_ENOTPROCESSING;
    }
    ret_ended->is_queued = weiri_item_place(item) == WEIRI_DIRTY;
    uint32_t index = item->weir_running;
    weiri_running_remove(&core->running, &core->allocator, item);
    if (core->meter != NULL) {
        item->weir_running =
            weiri_meter_ended(core->meter, &core->running, index, ret_ended->is_queued);
    }
    if (ret_ended->is_queued) {
        core->dirty--;
        weiri_item_set(item, core->mark, WEIRI_QUEUED);
        ret_ended->has_left = false;
        weiri_ready_push(&core->ready, item,
                         weiri_asks_take(&core->asks, &core->allocator, item, WEIRI_ASK_DIRTY));
        return WEIR_OK;
    }
    core->only_waiting += item->weir_wait != 0;
    if (weiri_ready_capacity(&core->ready) > WEIRI_RING_CAPACITY_MIN) {
        weiri_ready_trim(&core->ready, &core->allocator, weiri_core_obligations(core));
    }
    ret_ended->has_left = weiri_core_rest(core, item);
    return WEIR_OK;
}

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/core.h"

#include "base/panic.h"
#include "base/time.h"

/* The position of a queued item that is aside. No ring or heap reaches it. */
#define ASIDE UINT64_MAX

void weiri_core_init(struct weiri_core *core, const struct weir_allocator *allocator, uint64_t seed,
                     uint64_t first_ticket)
{
    *core = (struct weiri_core){.allocator = *allocator, .last_ticket = first_ticket >> 2};
    weiri_table_init(&core->table, sizeof(struct weiri_keyed_item), seed);
}

void weiri_core_set_priorities(struct weiri_core *core, int64_t aging_ns)
{
    core->has_priorities = true;
    core->has_aging = aging_ns != 0;
    core->ready.step = core->has_aging ? aging_ns : 1;
}

/* --- ready items --- */

enum weir_status weiri_core_reserve(struct weiri_core *core, size_t more)
{
    size_t held = core->held + more;
    enum weir_status status = core->has_priorities
                                  ? weiri_heap_reserve(&core->ready, &core->allocator, held)
                                  : weiri_ring_reserve(&core->ring, &core->allocator, held);
    if (status == WEIR_OK && core->can_wait_all) {
        status = weiri_heap_reserve(&core->waiting, &core->allocator, held);
    }
    return status;
}

/* Shrinks the structures if far fewer items are held than before. Inline: a call would add
 * 9 instructions to each done that makes an item free. */
static inline void shrink(struct weiri_core *core)
{
    size_t waiting = core->can_wait_all ? core->held : core->waiting.count;
    if (weiri_is_sparse(core->ring.capacity, core->held)) {
        weiri_ring_shrink(&core->ring, &core->allocator, core->held);
    }
    if (weiri_is_sparse(core->ready.capacity, core->held)) {
        weiri_heap_shrink(&core->ready, &core->allocator, core->held);
    }
    if (weiri_is_sparse(core->waiting.capacity, waiting)) {
        weiri_heap_shrink(&core->waiting, &core->allocator, waiting);
    }
}

static void ready_push(struct weiri_core *core, struct weir_item *item, int32_t priority,
                       int64_t now_ns)
{
    core->queued++;
    if (core->has_priorities) {
        weiri_heap_push(&core->ready, item, core->has_aging ? now_ns : 0, priority);
    } else {
        weiri_ring_push(&core->ring, &core->allocator, item);
    }
}

static void ready_remove(struct weiri_core *core, struct weir_item *item)
{
    core->queued--;
    if (item->weir_position == ASIDE) {
        return;
    }
    if (core->has_priorities) {
        weiri_heap_remove(&core->ready, item);
    } else {
        weiri_ring_remove(&core->ring, item);
    }
}

struct weir_item *weiri_core_first(struct weiri_core *core)
{
    if (core->has_priorities) {
        return core->ready.count == 0 ? NULL : core->ready.entries[0].item;
    }
    /* Prefetches the table slot of the item four positions behind the head: its done will need it.
     * Earlier calls of weiri_ring_first() have prefetched the record. With 10^6 keys queued, a get,
     * a done and an add take 100 ns instead of 240. */
    const struct weir_item *soon = weiri_ring_behind(&core->ring, 4);
    if (soon != NULL && soon->weir_record != 0) {
        weiri_table_prefetch(&core->table,
                             &WEIRI_CONTAINER(soon, struct weiri_keyed_item, item)->record);
    }
    return weiri_ring_first(&core->ring);
}

void weiri_core_set_aside(struct weiri_core *core, struct weir_item *item)
{
    weiri_ring_remove(&core->ring, item);
    item->weir_position = ASIDE;
}

/* --- from free to held, and back --- */

/* Finds or makes the item of a valid key. more is the number of items that may become held before
 * capacity is reserved again. */
static enum weir_status admit(struct weiri_core *core, struct weir_key key, size_t more,
                              struct weir_item **ret_item)
{
    struct weir_item *item;
    if (key.size == WEIR_KEY_ITEM) {
        item = (struct weir_item *)(uintptr_t)key.data;
        if (!weiri_item_is_free(item) && !weiri_core_holds(core, item)) {
            return WEIR_EBUSY;
        }
        *ret_item = item;
        return weiri_item_is_free(item) ? weiri_core_reserve(core, more) : WEIR_OK;
    }
    uint32_t hash = weiri_table_hash(&core->table, key);
    uint32_t number = weiri_table_find(&core->table, key, hash);
    if (number == 0) {
        if (weiri_core_reserve(core, more) != WEIR_OK) {
            return WEIR_ENOMEM;
        }
        number = weiri_table_insert(&core->table, &core->allocator, key, hash);
        if (number == 0) {
            return WEIR_ENOMEM;
        }
    }
    struct weiri_keyed_item *keyed = weiri_table_record(&core->table, number);
    keyed->item.weir_record = number;
    *ret_item = &keyed->item;
    return WEIR_OK;
}

/* Ends the item's place. The core still holds it if it waits. True: it is free. */
static bool leave_place(struct weiri_core *core, struct weir_item *item)
{
    if (item->weir_wait != 0) {
        weiri_item_set(item, core, WEIR_PLACE_IDLE);
        return false;
    }
    uint32_t number = item->weir_record;
    core->held--;
    weiri_item_free(item);
    if (number != 0) {
        weiri_table_remove(&core->table, &core->allocator, number);
    }
    shrink(core);
    return true;
}

/* --- waiting --- */

/* Removes a waiting item's time. Returns the priority that was asked for it. */
static int32_t stop_waiting(struct weiri_core *core, struct weir_item *item)
{
    int32_t priority = weiri_heap_entry(&core->waiting, item)->priority;
    weiri_heap_remove(&core->waiting, item);
    return priority;
}

static enum weir_status wait(struct weiri_core *core, struct weir_item *item,
                             const struct weiri_order *order, int32_t priority,
                             struct weiri_added *ret_added)
{
    if (item->weir_wait == 0) {
        if (weiri_heap_reserve(&core->waiting, &core->allocator, core->waiting.count + 1) !=
            WEIR_OK) {
            return WEIR_ENOMEM;
        }
        ret_added->has_new_time = true;
        if (weiri_item_is_free(item)) {
            core->held++;
            weiri_item_set(item, core, WEIR_PLACE_IDLE);
        }
        weiri_heap_push(&core->waiting, item, order->time_ns, priority);
        return WEIR_OK;
    }
    struct weiri_heap_entry *entry = weiri_heap_entry(&core->waiting, item);
    entry->priority = priority < entry->priority ? priority : entry->priority;
    if (order->time_ns < entry->time_ns || (order->replaces && order->time_ns > entry->time_ns)) {
        weiri_heap_set_time(&core->waiting, item, order->time_ns);
        ret_added->has_new_time = true;
    } else {
        ret_added->is_coalesced = true;
    }
    return WEIR_OK;
}

void weiri_core_set_time(struct weiri_core *core, struct weir_item *item, int64_t time_ns)
{
    if (item->weir_wait != 0) {
        weiri_heap_set_time(&core->waiting, item, time_ns);
    } else {
        weiri_heap_push(&core->waiting, item, time_ns, 0);
    }
}

void weiri_core_clear_time(struct weiri_core *core, struct weir_item *item)
{
    if (item->weir_wait != 0) {
        (void)stop_waiting(core, item);
    }
}

void weiri_core_unqueue(struct weiri_core *core, struct weir_item *item)
{
    ready_remove(core, item);
    weiri_item_exchange(item, core, WEIR_PLACE_IDLE);
}

/* --- add --- */

/* Queues an idle item, and makes a processing item dirty: for every add at once and for every time
 * that becomes due. */
static void enqueue(struct weiri_core *core, struct weir_item *item, int32_t priority,
                    int64_t now_ns)
{
    enum weir_place place = weiri_item_place(item);
    if (place == WEIR_PLACE_IDLE || place == WEIR_PLACE_PROCESSING) {
        if (core->times_items) {
            item->weir_queued_ns = now_ns;
        }
        if (core->meter != NULL) {
            core->meter->adds++;
        }
    }
    switch (place) {
    case WEIR_PLACE_IDLE:
        weiri_item_set(item, core, WEIR_PLACE_QUEUED);
        ready_push(core, item, priority, now_ns);
        return;
    case WEIR_PLACE_PROCESSING:
        item->weir_asked = priority;
        weiri_item_set(item, core, WEIR_PLACE_DIRTY);
        core->dirty++;
        return;
    case WEIR_PLACE_QUEUED:
        if (core->has_priorities && priority < weiri_heap_entry(&core->ready, item)->priority) {
            weiri_heap_set_priority(&core->ready, item, priority);
        }
        return;
    case WEIR_PLACE_DIRTY:
        item->weir_asked = priority < item->weir_asked ? priority : item->weir_asked;
        return;
    }
    weiri_panic(__FILE__, __LINE__, "an item has a place that does not exist");
}

/* Adds an item that was admitted. Only an item that is to wait can fail: WEIR_ENOMEM. */
static enum weir_status add_admitted(struct weiri_core *core, struct weir_item *item,
                                     const struct weiri_order *order, int64_t now_ns,
                                     struct weiri_added *ret_added)
{
    enum weir_place place = weiri_item_place(item);
    int32_t priority = order->priority;
    if (order->keeps_priority && weiri_item_is_processing(item)) {
        priority = item->weir_priority < priority ? item->weir_priority : priority;
    }
    *ret_added = (struct weiri_added){.item = item, .is_new = weiri_item_is_free(item)};
    if (order->time_ns != WEIRI_AT_ONCE) {
        return wait(core, item, order, priority, ret_added);
    }
    if (item->weir_wait != 0 && (order->replaces || core->supersedes)) {
        int32_t asked = stop_waiting(core, item);
        priority = asked < priority ? asked : priority;
        ret_added->has_new_time = true;
    }
    ret_added->was_queued = place == WEIR_PLACE_QUEUED;
    ret_added->is_coalesced = place == WEIR_PLACE_QUEUED || place == WEIR_PLACE_DIRTY;
    core->held += ret_added->is_new;
    enqueue(core, item, priority, now_ns);
    return WEIR_OK;
}

/* Removes the record of a key that was admitted but not added. */
static void dismiss(struct weiri_core *core, struct weir_item *item)
{
    if (item->weir_record != 0 && weiri_item_is_free(item)) {
        weiri_table_remove(&core->table, &core->allocator, item->weir_record);
    }
}

enum weir_status weiri_core_add(struct weiri_core *core, struct weir_key key,
                                const struct weiri_order *order, int64_t now_ns,
                                struct weiri_added *ret_added)
{
    struct weir_item *item;
    enum weir_status status = admit(core, key, 1, &item);
    if (status == WEIR_OK) {
        status = add_admitted(core, item, order, now_ns, ret_added);
        if (status != WEIR_OK) {
            dismiss(core, item);
        }
    }
    return status;
}

enum weir_status weiri_core_add_batch(struct weiri_core *core, const struct weir_key *keys,
                                      size_t count, const struct weiri_order *order, int64_t now_ns,
                                      struct weiri_added *ret_added)
{
    size_t admitted = 0;
    size_t total;
    if (__builtin_add_overflow(core->waiting.count, count, &total) ||
        (order->time_ns != WEIRI_AT_ONCE &&
         weiri_heap_reserve(&core->waiting, &core->allocator, total) != WEIR_OK)) {
        return WEIR_ENOMEM;
    }
    enum weir_status status = WEIR_OK;
    while (admitted < count && status == WEIR_OK) { /* the steps that can fail come first */
        status = admit(core, keys[admitted], count, &ret_added[admitted].item);
        admitted += status == WEIR_OK;
    }
    for (size_t i = 0; i < admitted; i++) {
        if (status == WEIR_OK) {
            enum weir_status added =
                add_admitted(core, ret_added[i].item, order, now_ns, &ret_added[i]);
            WEIRI_ASSERT(added == WEIR_OK);
        } else {
            /* The same key may have been dismissed before, and its record be gone. */
            struct weir_item *item = weiri_core_find(core, keys[i]);
            if (item != NULL) {
                dismiss(core, item);
            }
        }
    }
    if (status != WEIR_OK) {
        shrink(core); /* capacity was reserved for all of the batch */
    }
    return status;
}

void weiri_core_pass_time(struct weiri_core *core, int64_t now_ns)
{
    while (weiri_core_next_time(core) <= now_ns && core->waiting.count > 0) {
        struct weiri_heap_entry due = core->waiting.entries[0];
        (void)stop_waiting(core, due.item);
        enqueue(core, due.item, due.priority, due.time_ns);
    }
}

/* --- processing --- */

void weiri_core_start(struct weiri_core *core, struct weir_item *item, int64_t now_ns)
{
    int32_t priority = core->has_priorities ? weiri_heap_entry(&core->ready, item)->priority : 0;
    ready_remove(core, item);
    weiri_item_exchange(item, core, WEIR_PLACE_PROCESSING);
    item->weir_priority = priority;
    item->weir_position = ++core->last_ticket;
    item->weir_next = NULL;
    item->weir_previous = core->last_processing;
    if (core->last_processing == NULL) {
        core->first_processing = item;
    } else {
        core->last_processing->weir_next = item;
    }
    core->last_processing = item;
    core->processing++;
    if (core->times_items) {
        item->weir_running_ns = now_ns;
    }
    if (core->meter != NULL) {
        core->started_ns += (uint64_t)now_ns;
        weiri_histogram_observe(&core->meter->queue_duration,
                                weiri_time_since(item->weir_queued_ns, now_ns));
    }
}

bool weiri_core_done(struct weiri_core *core, struct weir_item *item, int64_t now_ns)
{
    *(item->weir_previous == NULL ? &core->first_processing : &item->weir_previous->weir_next) =
        item->weir_next;
    *(item->weir_next == NULL ? &core->last_processing : &item->weir_next->weir_previous) =
        item->weir_previous;
    core->processing--;
    if (core->meter != NULL) {
        core->started_ns -= (uint64_t)item->weir_running_ns;
        weiri_histogram_observe(&core->meter->work_duration,
                                weiri_time_since(item->weir_running_ns, now_ns));
    }
    if (weiri_item_place(item) != WEIR_PLACE_DIRTY) {
        return leave_place(core, item);
    }
    core->dirty--;
    weiri_item_exchange(item, core, WEIR_PLACE_QUEUED);
    ready_push(core, item, item->weir_asked, now_ns);
    return false;
}

/* --- cancel --- */

bool weiri_core_cancel(struct weiri_core *core, struct weir_item *item)
{
    enum weir_place place = weiri_item_place(item);
    bool is_waiting = item->weir_wait != 0;
    if (is_waiting) {
        (void)stop_waiting(core, item);
    }
    if (place == WEIR_PLACE_DIRTY) {
        weiri_item_exchange(item, core, WEIR_PLACE_PROCESSING);
        core->dirty--;
    } else if (place == WEIR_PLACE_QUEUED) {
        ready_remove(core, item);
        weiri_item_exchange(item, core, WEIR_PLACE_IDLE);
    }
    if (place == WEIR_PLACE_QUEUED || (place == WEIR_PLACE_IDLE && is_waiting)) {
        (void)leave_place(core, item);
    }
    return is_waiting || place == WEIR_PLACE_QUEUED || place == WEIR_PLACE_DIRTY;
}

void weiri_core_drop_waiting(struct weiri_core *core)
{
    while (core->waiting.count > 0) {
        struct weir_item *item = core->waiting.entries[core->waiting.count - 1].item;
        (void)stop_waiting(core, item);
        core->dropped++;
        if (weiri_item_place(item) == WEIR_PLACE_IDLE) {
            (void)leave_place(core, item);
        }
    }
}

void weiri_core_fini(struct weiri_core *core)
{
    weiri_core_drop_waiting(core);
    struct weir_item *first;
    while ((first = weiri_core_first(core)) != NULL) {
        (void)weiri_core_cancel(core, first);
    }
    while (core->first_processing != NULL) {
        (void)weiri_core_cancel(core, core->first_processing); /* it is no longer dirty */
        (void)weiri_core_done(core, core->first_processing, 0);
    }
    WEIRI_ASSERT(core->held == 0);
    weiri_ring_fini(&core->ring, &core->allocator);
    weiri_heap_fini(&core->ready, &core->allocator);
    weiri_heap_fini(&core->waiting, &core->allocator);
    weiri_table_fini(&core->table, &core->allocator);
}

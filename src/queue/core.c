/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/core.h"

#include "queue/moves.h"

void weiri_core_init(struct weiri_core *core, const struct weir_allocator *allocator, uint64_t seed)
{
    *core = (struct weiri_core){.allocator = *allocator, .last_ticket = seed >> 2};
    weiri_delay_init(&core->delay);
    weiri_table_init(&core->table, seed);
}

void weiri_core_fini(struct weiri_core *core)
{
    for (struct weir_item *item = weiri_ready_pop(&core->ready); item != NULL;
         item = weiri_ready_pop(&core->ready)) {
        weiri_item_set_place(item, WEIRI_IDLE);
        item->weir_running = 0;
    }
    for (size_t i = 0; i < core->running.named; i++) {
        weiri_item_set_place(core->running.items[i], WEIRI_IDLE);
        core->running.items[i]->weir_running = 0;
    }
    weiri_running_fini(&core->running, &core->allocator);
    weiri_ready_fini(&core->ready, &core->allocator);
    weiri_asks_fini(&core->asks, &core->allocator);
    weiri_delay_fini(&core->delay, &core->allocator);
    weiri_table_fini(&core->table, &core->allocator);
}

static enum weir_status reserve(struct weiri_core *core, size_t more)
{
    size_t count;
    if (__builtin_add_overflow(weiri_core_obligations(core), more, &count)) {
        return WEIR_ENOMEM;
    }
    return weiri_ready_reserve(&core->ready, &core->allocator, count);
}

enum weir_status weiri_core_admit_slow(struct weiri_core *core, struct weir_key key,
                                       struct weir_item **ret_item)
{
    if (reserve(core, 1) != WEIR_OK) {
        return WEIR_ENOMEM;
    }
    bool is_full = core->capacity != 0 && weiri_core_held(core) >= core->capacity;
    struct weir_item *item = is_full ? weiri_core_find(core, key) : weiri_core_intern(core, key);
    if (item == NULL || (is_full && weiri_item_is_free(item))) {
        return is_full ? WEIR_EFULL : WEIR_ENOMEM;
    }
    *ret_item = item;
    return WEIR_OK;
}

/* Whether the batch's items that are free now, each counted once, fit below the capacity. */
static bool has_capacity(struct weiri_core *core, const struct weir_key *keys, size_t count)
{
    if (core->capacity == 0 || count <= core->capacity - weiri_core_held(core)) {
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
    return entering <= core->capacity - weiri_core_held(core);
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
                                      size_t count, size_t *ret_queued, bool *ret_were_queued)
{
    if (reserve(core, count) != WEIR_OK) {
        return WEIR_ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        const struct weir_item *item = weiri_core_intern(core, keys[i]);
        if (item == NULL || (item->weir_wait != 0 && !weiri_delay_has(&core->delay, item))) {
            release_batch(core, keys, i);
            return item == NULL ? WEIR_ENOMEM : WEIR_EBUSY;
        }
    }
    if (!has_capacity(core, keys, count)) {
        release_batch(core, keys, count);
        return WEIR_EFULL;
    }
    size_t queued = 0;
    for (size_t i = 0; i < count; i++) {
        struct weir_item *item = weiri_core_find(core, keys[i]);
        core->only_waiting -= weiri_item_place(item) == WEIRI_IDLE && item->weir_wait != 0;
        if (ret_were_queued != NULL) {
            ret_were_queued[i] = weiri_item_place(item) == WEIRI_QUEUED;
        }
        queued += weiri_core_enqueue(core, item, 0);
    }
    *ret_queued = queued;
    return WEIR_OK;
}

/* Whether an item is held by another queue, as an embedded one may be by a mistake of its owner.
 * Its indices are then another queue's, and no structure of this one has it there. */
static bool is_elsewhere(const struct weiri_core *core, const struct weir_item *item)
{
    if (item->weir_wait != 0 && !weiri_delay_has(&core->delay, item)) {
        return true;
    }
    if (weiri_item_is_processing(item)) {
        return !weiri_running_has(&core->running, item);
    }
    return weiri_item_place(item) == WEIRI_QUEUED && !weiri_ready_has(&core->ready, item);
}

enum weir_status weiri_core_wait(struct weiri_core *core, struct weir_key key, int64_t time_ns,
                                 bool move, int32_t priority, struct weiri_added *ret_added)
{
    if (priority != 0 && weiri_asks_reserve(&core->asks, &core->allocator) != WEIR_OK) {
        return WEIR_ENOMEM;
    }
    if (weiri_delay_reserve(&core->delay, &core->allocator, core->delay.count + 1) != WEIR_OK) {
        return WEIR_ENOMEM;
    }
    struct weir_item *item;
    enum weir_status status = weiri_core_admit(core, key, &item);
    if (status != WEIR_OK) {
        return status;
    }
    if (is_elsewhere(core, item)) {
        return WEIR_EBUSY;
    }
    *ret_added = (struct weiri_added){.has_entered = weiri_item_is_free(item)};
    if (item->weir_wait == 0) {
        core->only_waiting += weiri_item_place(item) == WEIRI_IDLE;
        weiri_delay_insert(&core->delay, item, time_ns);
        weiri_asks_set(&core->asks, &core->allocator, item, WEIRI_ASK_WAITING, priority);
        ret_added->has_new_time = true;
        return WEIR_OK;
    }
    ret_added->has_joined = true;
    if (core->ready.has_priorities) {
        weiri_core_ask(core, item, WEIRI_ASK_WAITING, priority);
    }
    int64_t pending_ns = weiri_delay_time(&core->delay, item);
    if (time_ns < pending_ns || (move && time_ns > pending_ns)) {
        weiri_delay_move(&core->delay, item, time_ns);
        ret_added->has_new_time = true;
    }
    return WEIR_OK;
}

size_t weiri_core_pass_time(struct weiri_core *core, int64_t now_ns)
{
    size_t queued = 0;
    int64_t time_ns;
    for (struct weir_item *item = weiri_delay_pop_due(&core->delay, now_ns, &time_ns); item != NULL;
         item = weiri_delay_pop_due(&core->delay, now_ns, &time_ns)) {
        core->ready.ranks.now_ns = time_ns; /* it ages since then */
        core->only_waiting -= weiri_item_place(item) == WEIRI_IDLE;
        queued += weiri_core_enqueue(
            core, item, weiri_asks_take(&core->asks, &core->allocator, item, WEIRI_ASK_WAITING));
    }
    weiri_delay_trim(&core->delay, &core->allocator);
    return queued;
}

enum weir_status weiri_core_cancel(struct weiri_core *core, struct weir_key key, bool *ret_taken)
{
    struct weir_item *item = weiri_core_find(core, key);
    if (item != NULL && is_elsewhere(core, item)) {
        return WEIR_EBUSY;
    }
    bool is_waiting = item != NULL && item->weir_wait != 0;
    bool is_placed = item != NULL && (weiri_item_place(item) == WEIRI_QUEUED ||
                                      weiri_item_place(item) == WEIRI_DIRTY);
    *ret_taken = is_waiting || is_placed;
    if (!*ret_taken) {
        return WEIR_OK;
    }
    if (is_waiting) {
        core->only_waiting -= weiri_item_place(item) == WEIRI_IDLE;
        weiri_delay_remove(&core->delay, item);
        (void)weiri_asks_take(&core->asks, &core->allocator, item, WEIRI_ASK_WAITING);
        weiri_delay_trim(&core->delay, &core->allocator);
    }
    if (weiri_item_place(item) == WEIRI_QUEUED) {
        weiri_ready_remove(&core->ready, item);
        weiri_item_set_place(item, WEIRI_IDLE);
        if (core->meter != NULL) {
            weiri_meter_cancelled(core->meter, item);
        }
    } else if (weiri_item_place(item) == WEIRI_DIRTY) {
        weiri_item_set_place(item, WEIRI_PROCESSING);
        core->dirty--;
        (void)weiri_asks_take(&core->asks, &core->allocator, item, WEIRI_ASK_DIRTY);
    }
    (void)weiri_core_settle(core, item);
    return WEIR_OK;
}

struct weir_item *weiri_core_drop_waiting(struct weiri_core *core)
{
    struct weir_item *first = NULL;
    struct weir_item *last = NULL;
    core->dropped += core->delay.count;
    int64_t time_ns;
    for (struct weir_item *item = weiri_delay_pop_due(&core->delay, INT64_MAX, &time_ns);
         item != NULL; item = weiri_delay_pop_due(&core->delay, INT64_MAX, &time_ns)) {
        bool is_keyed = weiri_item_is_keyed(item);
        (void)weiri_asks_take(&core->asks, &core->allocator, item, WEIRI_ASK_WAITING);
        core->only_waiting -= weiri_item_place(item) == WEIRI_IDLE;
        if (!weiri_core_settle(core, item) || is_keyed) {
            continue;
        }
        item->weir_position = 0;
        if (last == NULL) {
            first = item;
        } else {
            last->weir_position = (uintptr_t)item;
        }
        last = item;
    }
    weiri_delay_fini(&core->delay, &core->allocator);
    return first;
}

struct weir_item *weiri_core_chain_next(struct weir_item **chain)
{
    struct weir_item *item = *chain;
    if (item != NULL) {
        *chain = (struct weir_item *)(uintptr_t)item->weir_position;
        item->weir_position = 0;
    }
    return item;
}

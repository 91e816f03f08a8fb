/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/core.h"

#include "queue/moves.h"

void weiri_core_init(struct weiri_core *core, const struct weir_allocator *allocator, uint64_t seed,
                     uint64_t first_ticket, uint32_t mark)
{
    *core = (struct weiri_core){
        .allocator = *allocator, .mark = mark, .last_ticket = first_ticket >> 2};
    weiri_delay_init(&core->delay);
    weiri_table_init(&core->table, seed);
}

void weiri_core_fini(struct weiri_core *core)
{
    int64_t time_ns;
    for (struct weir_item *item = weiri_delay_pop_due(&core->delay, INT64_MAX, &time_ns);
         item != NULL; item = weiri_delay_pop_due(&core->delay, INT64_MAX, &time_ns)) {
        if (weiri_item_place(item) == WEIRI_IDLE) {
            weiri_item_free(item);
        }
    }
    for (struct weir_item *item = weiri_ready_pop(&core->ready); item != NULL;
         item = weiri_ready_pop(&core->ready)) {
        item->weir_running = 0;
        weiri_item_free(item);
    }
    for (size_t i = 0; i < core->running.named; i++) {
        core->running.items[i]->weir_running = 0;
        weiri_item_free(core->running.items[i]);
    }
    weiri_running_fini(&core->running, &core->allocator);
    weiri_ready_fini(&core->ready, &core->allocator);
    weiri_asks_fini(&core->asks, &core->allocator);
    weiri_delay_fini(&core->delay, &core->allocator);
    weiri_table_fini(&core->table, &core->allocator);
}

enum weir_status weiri_core_reserve(struct weiri_core *core, size_t more)
{
    size_t count;
    if (__builtin_add_overflow(weiri_core_obligations(core), more, &count)) {
        return WEIR_ENOMEM;
    }
    return weiri_ready_reserve(&core->ready, &core->allocator, count);
}

struct weiri_admitted weiri_core_admit_slow(struct weiri_core *core, struct weir_key key)
{
    struct weiri_admitted refused = {NULL, WEIR_ENOMEM};
    if (weiri_core_reserve(core, 1) != WEIR_OK) {
        return refused;
    }
    bool is_full =
        core->capacity != 0 && (core->is_room_kept || weiri_core_held(core) >= core->capacity);
    struct weir_item *item = is_full ? weiri_core_find(core, key) : weiri_core_intern(core, key);
    if (item == NULL || (is_full && weiri_item_is_free(item))) {
        refused.status = is_full ? WEIR_EFULL : WEIR_ENOMEM;
        return refused;
    }
    if (weiri_item_is_elsewhere(item, core->mark)) {
        refused.status = WEIR_EBUSY;
        return refused;
    }
    return (struct weiri_admitted){item, WEIR_OK};
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
    struct weiri_admitted admitted = weiri_core_admit(core, key);
    if (admitted.status != WEIR_OK) {
        return admitted.status;
    }
    struct weir_item *item = admitted.item;
    *ret_added = (struct weiri_added){.has_entered = weiri_item_is_free(item)};
    if (item->weir_wait == 0) {
        core->only_waiting += weiri_item_place(item) == WEIRI_IDLE;
        weiri_delay_insert(&core->delay, item, time_ns);
        weiri_item_set(item, core->mark, weiri_item_place(item));
        if (priority != 0) {
            weiri_asks_set(&core->asks, &core->allocator, item, WEIRI_ASK_WAITING, priority);
        }
        ret_added->has_new_time = true;
        return WEIR_OK;
    }
    if (core->ready.has_priorities) {
        weiri_core_ask(core, item, WEIRI_ASK_WAITING, priority);
    }
    int64_t pending_ns = weiri_delay_time(&core->delay, item);
    if (time_ns < pending_ns || (move && time_ns > pending_ns)) {
        weiri_delay_move(&core->delay, item, time_ns);
        ret_added->has_new_time = true;
    }
    ret_added->has_joined = !ret_added->has_new_time;
    return WEIR_OK;
}

void weiri_core_pass_time(struct weiri_core *core, int64_t now_ns)
{
    int64_t time_ns;
    for (struct weir_item *item = weiri_delay_pop_due(&core->delay, now_ns, &time_ns); item != NULL;
         item = weiri_delay_pop_due(&core->delay, now_ns, &time_ns)) {
        core->ready.ranks.now_ns = time_ns; /* it ages since then */
        core->only_waiting -= weiri_item_place(item) == WEIRI_IDLE;
        int32_t priority = weiri_asks_take(&core->asks, &core->allocator, item, WEIRI_ASK_WAITING);
        weiri_core_enqueue(core, item, priority);
    }
    weiri_delay_trim(&core->delay, &core->allocator);
}

enum weir_status weiri_core_cancel(struct weiri_core *core, struct weir_key key, bool *ret_taken)
{
    struct weir_item *item = weiri_core_find(core, key);
    if (item != NULL && weiri_item_is_elsewhere(item, core->mark)) {
        return WEIR_EBUSY;
    }
    enum weiri_place place = item == NULL ? WEIRI_IDLE : weiri_item_place(item);
    bool is_waiting = item != NULL && item->weir_wait != 0;
    bool is_placed = place == WEIRI_QUEUED || place == WEIRI_DIRTY;
    *ret_taken = is_waiting || is_placed;
    if (!*ret_taken) {
        return WEIR_OK;
    }
    if (is_waiting) {
        core->only_waiting -= place == WEIRI_IDLE;
        weiri_delay_remove(&core->delay, item);
        (void)weiri_asks_take(&core->asks, &core->allocator, item, WEIRI_ASK_WAITING);
        weiri_delay_trim(&core->delay, &core->allocator);
    }
    if (place == WEIRI_QUEUED) {
        weiri_ready_remove(&core->ready, item);
        if (core->meter != NULL) {
            weiri_meter_cancelled(core->meter, item);
        }
    } else if (place == WEIRI_DIRTY) {
        weiri_item_set(item, core->mark, WEIRI_PROCESSING);
        core->dirty--;
        (void)weiri_asks_take(&core->asks, &core->allocator, item, WEIRI_ASK_DIRTY);
    }
    if (place == WEIRI_QUEUED || place == WEIRI_IDLE) {
        (void)weiri_core_rest(core, item);
    }
    return WEIR_OK;
}

void weiri_core_drop_waiting(struct weiri_core *core)
{
    core->dropped += core->delay.count;
    int64_t time_ns;
    for (struct weir_item *item = weiri_delay_pop_due(&core->delay, INT64_MAX, &time_ns);
         item != NULL; item = weiri_delay_pop_due(&core->delay, INT64_MAX, &time_ns)) {
        (void)weiri_asks_take(&core->asks, &core->allocator, item, WEIRI_ASK_WAITING);
        if (weiri_item_place(item) == WEIRI_IDLE) {
            core->only_waiting--;
            (void)weiri_core_rest(core, item);
        }
    }
    weiri_delay_fini(&core->delay, &core->allocator);
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/close.h"

#include "base/panic.h"
#include "queue/groups.h"
#include "queue/moves.h"
#include "queue/room.h"

/* Brings up to date what gets look at first. */
static void gate_locked(weir_queue *queue) WEIRI_REQUIRES(queue->lock)
{
    /* A pause that meets a drain waits for the queue to be opened again. */
    bool is_paused = queue->is_paused && !queue->is_closed;
    queue->is_gated = is_paused || queue->is_stopped || queue->leavers > 0;
}

void weiri_queue_close(weir_queue *queue, enum weiri_close mode, bool keeps)
{
    weiri_queue_lock(queue);
    if (!queue->is_closed) {
        weiri_queue_pass_time_locked(queue); /* what was due before is still handed out */
        queue->is_closed = true;
        queue->keeps = true;
        queue->shutting_down = true;
        queue->takes_joins_open = atomic_load_explicit(&queue->takes_joins, memory_order_relaxed);
        atomic_store_explicit(&queue->takes_joins, false, memory_order_relaxed);
    }
    queue->is_stopped = queue->is_stopped || mode == WEIRI_CLOSE_STOP;
    queue->is_paused = queue->is_paused && queue->is_stopped; /* a drain is to have all of it run */
    queue->leavers = 0;
    queue->keeps = queue->keeps && keeps;
    gate_locked(queue);
    weiri_queue_wake_locked(queue, SIZE_MAX);
    weiri_queue_wake_drains_locked(queue);
    weiri_queue_unlock(queue);
}

void weiri_queue_reopen(weir_queue *queue)
{
    weiri_queue_lock(queue);
    if (queue->is_closed) {
        WEIRI_ASSERT(weiri_list_is_empty(&queue->sleepers));
        queue->is_closed = false;
        queue->is_stopped = false;
        queue->keeps = false;
        queue->shutting_down = false;
        gate_locked(queue);
        atomic_store_explicit(&queue->takes_joins, queue->takes_joins_open, memory_order_relaxed);
        weiri_queue_pass_time_locked(queue);
    }
    weiri_queue_unlock(queue);
}

/* Items that have become free, linked as weiri_chain_next() has it. */
struct chain {
    struct weir_item *first;
    struct weir_item *last;
};

static void append(struct chain *chain, struct weir_item *item)
{
    WEIRI_ASSERT(weiri_item_is_free(item) && !weiri_item_is_keyed(item));
    item->weir_position = 0;
    if (chain->last == NULL) {
        chain->first = item;
    } else {
        chain->last->weir_position = (uintptr_t)item;
    }
    chain->last = item;
}

struct weir_item *weiri_chain_next(struct weir_item **chain)
{
    struct weir_item *item = *chain;
    if (item != NULL) {
        *chain = (struct weir_item *)(uintptr_t)item->weir_position;
        item->weir_position = 0;
    }
    return item;
}

static void take_queued(struct weiri_core *core, struct chain *taken)
{
    for (struct weir_item *item = weiri_ready_pop(&core->ready); item != NULL;
         item = weiri_ready_pop(&core->ready)) {
        if (core->meter != NULL) {
            weiri_meter_cancelled(core->meter, item);
        }
        core->dropped++;
        if (item->weir_wait != 0) {
            core->dropped++;
            (void)weiri_core_take_time(core, item);
        }
        weiri_item_rest(item, core->mark);
        append(taken, item);
    }
}

/* From the last slot down: the removal of an item moves into its slot one that was looked at, or,
 * within the heap, the one before it. */
static void take_waiting(struct weiri_core *core, struct chain *taken)
{
    weiri_delay_close_gaps(&core->delay);
    for (size_t slot = weiri_delay_end(&core->delay); slot-- > WEIRI_DELAY_FIRST;) {
        while (slot < weiri_delay_end(&core->delay)) {
            struct weir_item *item = weiri_delay_at(&core->delay, slot)->item;
            if (weiri_item_place(item) != WEIRI_IDLE) {
                break;
            }
            core->dropped++;
            core->only_waiting--;
            (void)weiri_core_take_time(core, item);
            weiri_delay_close_gaps(&core->delay);
            weiri_item_rest(item, core->mark);
            append(taken, item);
        }
    }
}

struct weir_item *weiri_queue_take_closed(weir_queue *queue)
{
    struct chain taken = {NULL, NULL};
    weiri_queue_lock(queue);
    if (queue->is_closed && !queue->keeps) {
        struct weiri_core *core = &queue->core;
        if (queue->is_stopped) {
            if (queue->groups != NULL) {
                weiri_queue_call_all_back_locked(queue);
            }
            take_queued(core, &taken);
        }
        take_waiting(core, &taken);
        if (queue->groups != NULL) {
            weiri_queue_dropped_locked(queue, taken.first);
        }
        weiri_delay_trim(&core->delay, &core->allocator);
        weiri_ready_trim(&core->ready, &core->allocator, weiri_core_obligations(core));
    }
    weiri_queue_unlock(queue);
    return taken.first;
}

bool weiri_queue_pause(weir_queue *queue, bool is_paused)
{
    weiri_queue_lock(queue);
    bool has_changed = queue->is_paused != is_paused;
    queue->is_paused = is_paused;
    gate_locked(queue);
    weiri_queue_wake_drains_locked(queue);
    weiri_queue_unlock(queue);
    return has_changed;
}

bool weiri_queue_is_paused(weir_queue *queue)
{
    weiri_queue_lock(queue);
    bool is_paused = queue->is_paused;
    weiri_queue_unlock(queue);
    return is_paused;
}

enum weir_status weiri_queue_await_pause(weir_queue *queue, int64_t limit_ns)
{
    enum weir_status status = WEIR_OK;
    weiri_queue_lock(queue);
    while (status == WEIR_OK && weiri_running_count(&queue->core.running) > 0) {
        if (!queue->is_paused) {
            status = WEIR_ECANCELED;
        } else if (limit_ns != WEIR_FOREVER && weir_clock_now(queue->clock) >= limit_ns) {
            status = WEIR_ETIMEDOUT;
        } else {
            status = weiri_queue_sleep_for_drain_locked(queue, limit_ns);
        }
    }
    weiri_queue_unlock(queue);
    return status;
}

void weiri_queue_retire(weir_queue *queue, size_t count)
{
    weiri_queue_lock(queue);
    if (!queue->is_closed) {
        queue->leavers += count;
        gate_locked(queue);
        weiri_queue_wake_locked(queue, count);
    }
    weiri_queue_unlock(queue);
}

size_t weiri_queue_retain(weir_queue *queue, size_t count)
{
    weiri_queue_lock(queue);
    size_t retained = count < queue->leavers ? count : queue->leavers;
    queue->leavers -= retained;
    gate_locked(queue);
    weiri_queue_unlock(queue);
    return retained;
}

bool weiri_queue_leave_locked(weir_queue *queue)
{
    if (queue->leavers == 0) {
        return false;
    }
    queue->leavers--;
    gate_locked(queue);
    return true;
}

enum weir_status weiri_queue_put_back(weir_queue *queue, const struct weir_work *work,
                                      const _Atomic uint64_t *cancelled_run)
{
    struct weiri_added added;
    struct weiri_ended ended;
    enum weir_status status = WEIR_ECANCELED;
    weiri_queue_lock(queue);
    weiri_sync_point();
    uint64_t note = atomic_load_explicit(cancelled_run, memory_order_relaxed);
    if (!weiri_run_is_noted(note, work->ticket)) {
        status = weiri_core_add(&queue->core, weir_key_item(work->item), false, 0, &added);
    }
    if (status == WEIR_OK) {
        status = weiri_core_done(&queue->core, work, &ended);
        WEIRI_ASSERT(status == WEIR_OK && ended.is_queued);
        weiri_queue_tell_drains_locked(queue);
    }
    weiri_queue_unlock(queue);
    return status;
}

struct weir_item *weiri_queue_next_processing(weir_queue *queue, uint64_t *ticket,
                                              void (*hold)(struct weir_item *item))
{
    struct weir_item *next = NULL;
    weiri_queue_lock(queue);
    const struct weiri_running *running = &queue->core.running;
    for (size_t i = 0; i < running->named; i++) {
        struct weir_item *item = running->items[i];
        if (item->weir_position > *ticket &&
            (next == NULL || item->weir_position < next->weir_position)) {
            next = item;
        }
    }
    if (next != NULL) {
        *ticket = next->weir_position;
        hold(next);
    }
    weiri_queue_unlock(queue);
    return next;
}

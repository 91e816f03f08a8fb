/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Who waits for room, and who makes some. See the note in queue/room.h. */

#include "queue/room.h"

#include "base/time.h"
#include "queue/groups.h"
#include "queue/moves.h"
#include "queue/quick.h"

/* A thread that waits for room, on its stack. Guarded by the queue's lock. */
struct seeker {
    struct weiri_list link;
    struct weiri_parker parker;
    const struct weiri_entry *entry;
    int64_t time_ns; /* what is sent is to wait until then */
    bool is_settled; /* it is out of the list, and its entry came to status */
    enum weir_status status;
};

enum weir_status weiri_queue_send_now(weir_queue *queue, struct weir_item *item, bool *ret_entered)
{
    enum weir_status status = WEIR_ESHUTDOWN;
    weiri_queue_lock(queue);
    bool has_entered = weiri_item_is_free(item);
    if (queue->is_quiet &&
        weiri_quick_add(&queue->core, weir_key_item(item), WEIRI_QUICK_ITEM, 0, WEIRI_FIFO)) {
        status = WEIR_OK;
        weiri_queue_unlock_quiet(queue);
    } else {
        if (!queue->shutting_down) {
            struct weiri_added added;
            weiri_queue_pass_time_locked(queue);
            status = weiri_core_add(&queue->core, weir_key_item(item), false, 0, &added);
        }
        weiri_queue_unlock_moved(queue);
    }
    if (status == WEIR_OK) {
        *ret_entered = has_entered;
    }
    return status;
}

static void note_joined(const struct weiri_entry *entry, const struct weiri_added *added)
{
    if (entry->joined != NULL) {
        *entry->joined = added->has_joined;
    }
}

/* Adds an entry, or changes nothing. time_ns: as in struct seeker. */
static enum weir_status enter_locked(weir_queue *queue, const struct weiri_entry *entry,
                                     int64_t time_ns) WEIRI_REQUIRES(queue->lock)
{
    struct weiri_core *core = &queue->core;
    struct weiri_added added;
    if (queue->shutting_down && !(queue->keeps && entry->comes_back)) {
        return WEIR_ESHUTDOWN;
    }
    if (entry->delay_ns > 0) {
        enum weir_status status = weiri_core_wait(core, entry->keys[0], time_ns, false, 0, &added);
        if (status == WEIR_OK) {
            entry->entered[0] = added.has_entered;
            note_joined(entry, &added);
            if (entry->added != NULL) {
                entry->added((struct weir_item *)(uintptr_t)entry->keys[0].data, time_ns);
            }
            if (core->meter != NULL) {
                core->meter->retries++;
            }
            if (added.has_new_time && core->delay.next_ns == time_ns) {
                weiri_queue_wake_timer_locked(queue);
            }
        }
        return status;
    }
    if (weiri_core_reserve(core, entry->count) != WEIR_OK) {
        return WEIR_ENOMEM;
    }
    for (size_t i = 0; i < entry->count; i++) {
        if (weiri_item_is_elsewhere(entry->keys[i].data, core->mark)) {
            return WEIR_EBUSY;
        }
    }
    if (!weiri_core_has_capacity(core, entry->keys, entry->count)) {
        return WEIR_EFULL;
    }
    for (size_t i = 0; i < entry->count; i++) {
        enum weir_status status = weiri_core_add(core, entry->keys[i], false, 0, &added);
        WEIRI_ASSERT(status == WEIR_OK);
        entry->entered[i] = added.has_entered;
        note_joined(entry, &added);
    }
    return WEIR_OK;
}

void weiri_queue_note_guests_locked(weir_queue *queue)
{
    queue->core.is_room_kept = !weiri_list_is_empty(&queue->seekers);
    queue->has_guests = queue->core.is_room_kept || !weiri_list_is_empty(&queue->watchers);
}

static void settle_locked(weir_queue *queue, struct seeker *seeker, enum weir_status status)
    WEIRI_REQUIRES(queue->lock)
{
    weiri_list_remove(&seeker->link);
    seeker->status = status;
    seeker->is_settled = true;
    weiri_queue_unpark_locked(queue, &seeker->parker);
}

void weiri_queue_serve_locked(weir_queue *queue)
{
    queue->core.is_room_kept = false; /* those whom it is kept for come now */
    enum weir_status status = WEIR_OK;
    while (status != WEIR_EFULL && !weiri_list_is_empty(&queue->seekers)) {
        struct seeker *first = WEIRI_CONTAINER(queue->seekers.next, struct seeker, link);
        status = enter_locked(queue, first->entry, first->time_ns);
        if (status != WEIR_EFULL) {
            settle_locked(queue, first, status);
        }
    }
    weiri_queue_serve_watchers_locked(queue);
    weiri_queue_note_guests_locked(queue);
}

void weiri_queue_step_guests_locked(weir_queue *queue)
{
    struct weiri_list *end = &queue->seekers;
    for (struct weiri_list *link = end->next; link != end; link = link->next) {
        weiri_queue_unpark_locked(queue, &WEIRI_CONTAINER(link, struct seeker, link)->parker);
    }
}

/* Waits in the list until somebody has settled the seeker, or the limit passes. */
static enum weir_status seek_locked(weir_queue *queue, struct seeker *self, int64_t limit_ns)
    WEIRI_REQUIRES(queue->lock)
{
    weiri_list_insert_before(&queue->seekers, &self->link);
    weiri_queue_note_guests_locked(queue);
    while (!self->is_settled) {
        if (limit_ns != WEIR_FOREVER && weir_clock_now(queue->clock) >= limit_ns) {
            weiri_list_remove(&self->link);
            weiri_queue_note_guests_locked(queue); /* the unlock serves who comes next */
            return WEIR_ETIMEDOUT;
        }
        if (weiri_parker_init(&self->parker) != WEIR_OK) {
            weiri_list_remove(&self->link);
            weiri_queue_note_guests_locked(queue);
            return WEIR_ENOMEM;
        }
        weiri_queue_unlock(queue);
        weiri_parker_sleep(&self->parker, weiri_clock_wait_limit(queue->clock, limit_ns));
        weiri_queue_lock(queue);
        weiri_parker_fini(&self->parker);
    }
    return self->status;
}

/* The time until which an entry waits once it is in. Reads the clock only where there is a delay.
 */
static int64_t time_of(weir_queue *queue, const struct weiri_entry *entry)
{
    return entry->delay_ns > 0 ? weiri_time_add(weir_clock_now(queue->clock), entry->delay_ns) : 0;
}

enum weir_status weiri_queue_enter(weir_queue *queue, const struct weiri_entry *entry)
{
    return weiri_queue_enter_until(queue, entry, INT64_MIN);
}

enum weir_status weiri_queue_send_again(weir_queue *queue, struct weir_item *item, int64_t now_ns,
                                        int64_t delay_ns, const _Atomic uint64_t *cancelled_run,
                                        bool *ret_joined)
{
    const struct weir_key key = weir_key_item(item);
    bool has_entered; /* never: it is held */
    const struct weiri_entry entry = {.keys = &key,
                                      .entered = &has_entered,
                                      .count = 1,
                                      .delay_ns = delay_ns,
                                      .comes_back = true,
                                      .joined = ret_joined};
    int64_t time_ns = weiri_time_add(now_ns, delay_ns);
    weiri_queue_lock(queue);
    (void)weiri_queue_pass_time_to_locked(queue, now_ns);
    if (queue->groups != NULL) {
        weiri_queue_sort_out_locked(queue);
    }
    WEIRI_ASSERT(weiri_item_is_processing(item));
    weiri_sync_point();
    bool is_cancelled =
        cancelled_run != NULL &&
        weiri_run_is_noted(atomic_load_explicit(cancelled_run, memory_order_relaxed),
                           item->weir_position);
    enum weir_status status = is_cancelled ? WEIR_ECANCELED : enter_locked(queue, &entry, time_ns);
    weiri_queue_unlock(queue);
    return status;
}

enum weir_status weiri_queue_enter_until(weir_queue *queue, const struct weiri_entry *entry,
                                         int64_t limit_ns)
{
    struct seeker self = {.entry = entry, .time_ns = time_of(queue, entry)};
    weiri_queue_lock(queue);
    weiri_queue_pass_time_locked(queue);
    enum weir_status status = enter_locked(queue, entry, self.time_ns);
    if (status == WEIR_EFULL && limit_ns != INT64_MIN &&
        weiri_core_could_hold(&queue->core, entry->keys, entry->count)) {
        status = seek_locked(queue, &self, limit_ns);
    }
    weiri_queue_unlock(queue);
    return status;
}

enum weir_status weiri_queue_enter_displacing(weir_queue *queue, const struct weiri_entry *entry,
                                              struct weiri_recalled *ret_displaced)
{
    int64_t time_ns = time_of(queue, entry);
    *ret_displaced = (struct weiri_recalled){.item = NULL};
    weiri_queue_lock(queue);
    weiri_queue_pass_time_locked(queue);
    enum weir_status status = enter_locked(queue, entry, time_ns);
    if (status == WEIR_EFULL) {
        bool is_room_kept = queue->core.is_room_kept;
        struct weir_item *oldest = weiri_queue_oldest_locked(queue);
        if (oldest != NULL) {
            weiri_queue_take_out_locked(queue, oldest, ret_displaced);
            WEIRI_ASSERT(ret_displaced->item == oldest);
            queue->core.is_room_kept = false; /* the room just made is this entry's */
            status = enter_locked(queue, entry, time_ns);
            queue->core.is_room_kept = is_room_kept;
        }
    }
    weiri_queue_unlock(queue);
    return status;
}

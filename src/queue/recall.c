/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Taking items out, and waiting until one is processed no more. */

#include "base/panic.h"
#include "queue/groups.h"
#include "queue/moves.h"
#include "queue/room.h"

/* A thread that waits for a processing's end, on its stack. Guarded by the queue's lock. */
struct watcher {
    struct weiri_list link;
    struct weiri_parker parker;
    const struct weir_item *item;
    uint64_t run;
};

void weiri_queue_take_out_locked(weir_queue *queue, struct weir_item *item,
                                 struct weiri_recalled *ret_recalled)
{
    enum weiri_place place = weiri_item_place(item);
    unsigned pending = item->weir_wait != 0 ? 1 : 0;
    pending += place == WEIRI_QUEUED || place == WEIRI_DIRTY ? 1 : 0;
    if (queue->groups != NULL) {
        weiri_queue_call_back_locked(queue, item);
    }
    bool was_taken;
    enum weir_status status = weiri_core_cancel(&queue->core, weir_key_item(item), &was_taken);
    WEIRI_ASSERT(status == WEIR_OK && was_taken == (pending > 0));
    *ret_recalled = (struct weiri_recalled){
        .item = was_taken && weiri_item_is_free(item) ? item : NULL,
        .pending = pending,
        .run = weiri_item_is_processing(item) ? item->weir_position : 0,
    };
    if (queue->groups != NULL) {
        weiri_queue_taken_out_locked(queue, item);
    }
}

/* What there is to be noted now. Of several cancellations of one processing each may have taken
 * something. */
static uint64_t note_of(uint64_t before, const struct weiri_recalled *recalled)
{
    bool was_robbed = recalled->pending > 0 || weiri_run_was_robbed(before, recalled->run);
    return recalled->run | (was_robbed ? WEIRI_RUN_ROBBED : 0);
}

void weiri_queue_recall(weir_queue *queue, struct weir_item *item, _Atomic uint64_t *cancelled_run,
                        weiri_taken_fn *taken, struct weiri_recalled *ret_recalled)
{
    weiri_queue_lock(queue);
    weiri_queue_pass_time_locked(queue);
    weiri_queue_take_out_locked(queue, item, ret_recalled);
    if (taken != NULL) {
        taken(item);
    }
    if (ret_recalled->run != 0 && cancelled_run != NULL) {
        uint64_t note =
            note_of(atomic_load_explicit(cancelled_run, memory_order_relaxed), ret_recalled);
        weiri_sync_point();
        atomic_store_explicit(cancelled_run, note, memory_order_release);
    }
    weiri_queue_tell_drains_locked(queue);
    weiri_queue_unlock(queue);
}

static bool is_over(const struct weir_item *item, uint64_t run)
{
    return !weiri_item_is_processing(item) || item->weir_position != run;
}

void weiri_queue_serve_watchers_locked(weir_queue *queue)
{
    struct weiri_list *next;
    for (struct weiri_list *link = queue->watchers.next; link != &queue->watchers; link = next) {
        struct watcher *watcher = WEIRI_CONTAINER(link, struct watcher, link);
        next = link->next;
        if (is_over(watcher->item, watcher->run)) {
            weiri_list_remove(link);
            weiri_queue_unpark_locked(queue, &watcher->parker);
        }
    }
}

enum weir_status weiri_queue_await_end(weir_queue *queue, const struct weir_item *item,
                                       uint64_t run)
{
    struct watcher self = {.item = item, .run = run};
    enum weir_status status = WEIR_OK;
    weiri_list_init(&self.link);
    weiri_queue_lock(queue);
    while (status == WEIR_OK && !is_over(item, run)) {
        status = weiri_parker_init(&self.parker);
        if (status == WEIR_OK) {
            weiri_list_remove(
                &self.link); /* it may be there still: a sleep may end for no reason */
            weiri_list_insert_before(&queue->watchers, &self.link);
            weiri_queue_note_guests_locked(queue);
            weiri_queue_unlock(queue);
            weiri_parker_sleep(&self.parker, WEIR_FOREVER);
            weiri_queue_lock(queue);
            weiri_parker_fini(&self.parker);
        }
    }
    weiri_list_remove(&self.link);
    weiri_queue_note_guests_locked(queue);
    weiri_queue_unlock(queue);
    return status;
}

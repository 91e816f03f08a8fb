/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Who sleeps, who is woken, and who watches the clock. See the design note in queue/internal.h. */

#include "queue/groups.h"

#include "queue/moves.h"

static void take_out(weir_queue *queue, struct weiri_sleeper *sleeper)
{
    weiri_list_remove(&sleeper->link);
    if (queue->timer == sleeper) {
        queue->timer = NULL;
    }
}

void weiri_queue_unpark_locked(weir_queue *queue, struct weiri_parker *parker)
{
    weiri_parker_set(parker);
    if (queue->wakes.count == WEIRI_WAKES_MAX) {
        weiri_parker_wake(parker);
    } else {
        queue->wakes.parkers[queue->wakes.count++] = parker;
    }
}

static void wake(weir_queue *queue, struct weiri_sleeper *sleeper) WEIRI_REQUIRES(queue->lock)
{
    take_out(queue, sleeper);
    sleeper->is_woken = true;
    weiri_queue_unpark_locked(queue, &sleeper->parker);
}

static void wake_consumer(weir_queue *queue, struct weiri_sleeper *sleeper)
    WEIRI_REQUIRES(queue->lock)
{
    queue->called++;
    wake(queue, sleeper);
}

/* Calls consumers, of whom some sleep, for what is queued, unless enough are on their way: each
 * that comes and leaves something behind will call the next. */
static WEIRI_NOINLINE void call_consumers(weir_queue *queue) WEIRI_REQUIRES(queue->lock)
{
    size_t queued = weiri_ready_count(&queue->core.ready);
    if (queued == 0 || queue->is_gated) {
        return;
    }
    size_t calls = queued < queue->calls_at_once ? queued : queue->calls_at_once;
    if (queue->called < calls) {
        weiri_queue_wake_slow_locked(queue, calls - queue->called);
    }
}

/* A function of its own: the copy of the list costs no other unlock its place on the stack. */
static WEIRI_NOINLINE void unlock_and_wake(weir_queue *queue) WEIRI_RELEASE(queue->lock)
{
    struct weiri_wakes wakes = queue->wakes;
    queue->wakes.count = 0;
    weiri_lock_unlock(&queue->lock);
    for (size_t i = 0; i < wakes.count; i++) {
        weiri_parker_wake(wakes.parkers[i]);
    }
}

void weiri_queue_unlock(weir_queue *queue)
{
    if (queue->has_guests) {
        weiri_queue_serve_locked(queue);
    }
    if (!weiri_list_is_empty(&queue->sleepers)) {
        call_consumers(queue);
    }
    bool is_open = queue->core.delay.count == 0 && !queue->shutting_down && !queue->is_gated;
    queue->is_calm = is_open && weiri_list_is_empty(&queue->sleepers) && !queue->has_event_fd &&
                     !queue->has_guests;
    bool is_simple = is_open && weiri_core_is_simple(&queue->core) && queue->groups == NULL &&
                     queue->touch == NULL;
    queue->is_plain = is_simple && !queue->core.ready.has_priorities;
    queue->is_ranked = is_simple && queue->core.ready.has_priorities;
    queue->is_quiet = queue->is_calm && queue->is_plain;
    if (queue->has_event_fd) {
        weiri_queue_show_locked(queue);
    }
    if (queue->wakes.count > 0) {
        unlock_and_wake(queue);
        return;
    }
    weiri_lock_unlock(&queue->lock);
}

void weiri_queue_wake_slow_locked(weir_queue *queue, size_t count)
{
    for (; count > 0 && !weiri_list_is_empty(&queue->sleepers); count--) {
        struct weiri_list *link = queue->sleepers.next;
        struct weiri_sleeper *sleeper = WEIRI_CONTAINER(link, struct weiri_sleeper, link);
        if (queue->timer == sleeper && queue->timer != NULL && link->next != &queue->sleepers) {
            sleeper = WEIRI_CONTAINER(link->next, struct weiri_sleeper, link);
        }
        wake_consumer(queue, sleeper);
    }
}

void weiri_queue_wake_timer_locked(weir_queue *queue)
{
    if (queue->timer != NULL) {
        wake_consumer(queue, queue->timer);
    } else {
        weiri_queue_wake_locked(queue, 1);
    }
}

/* Sleeps in a list, once: the caller looks at everything again. */
static void sleep_in(weir_queue *queue, struct weiri_sleeper *self, int64_t limit_ns)
    WEIRI_REQUIRES(queue->lock)
{
    weiri_queue_unlock(queue);
    weiri_parker_sleep(&self->parker, weiri_clock_wait_limit(queue->clock, limit_ns));
    weiri_queue_lock(queue);
    if (!self->is_woken) {
        take_out(queue, self);
    }
    weiri_parker_fini(&self->parker);
}

enum weir_status weiri_queue_sleep_locked(weir_queue *queue, int64_t limit_ns)
{
    struct weiri_sleeper self = {.is_woken = false};
    if (weiri_parker_init(&self.parker) != WEIR_OK) {
        return WEIR_ENOMEM;
    }
    weiri_list_insert_before(queue->sleepers.next, &self.link);
    if (queue->timer == NULL && queue->core.delay.count > 0) {
        queue->timer = &self;
        int64_t next_ns = weiri_delay_next(&queue->core.delay);
        limit_ns = next_ns < limit_ns ? next_ns : limit_ns;
    }
    sleep_in(queue, &self, limit_ns);
    queue->called -= self.is_woken;
    return WEIR_OK;
}

enum weir_status weiri_queue_sleep_for_drain_locked(weir_queue *queue, int64_t limit_ns)
{
    struct weiri_sleeper self = {.is_woken = false};
    if (weiri_parker_init(&self.parker) != WEIR_OK) {
        return WEIR_ENOMEM;
    }
    weiri_list_insert_before(&queue->drainers, &self.link);
    sleep_in(queue, &self, limit_ns);
    return WEIR_OK;
}

void weiri_queue_wake_drains_locked(weir_queue *queue)
{
    while (!weiri_list_is_empty(&queue->drainers)) {
        wake(queue, WEIRI_CONTAINER(queue->drainers.next, struct weiri_sleeper, link));
    }
}

int64_t weiri_queue_pass_time_to_locked(weir_queue *queue, int64_t now_ns)
{
    if (now_ns < queue->core.ready.ranks.now_ns) {
        now_ns = queue->core.ready.ranks.now_ns;
    }
    if (queue->core.meter != NULL) {
        queue->core.meter->now_ns = now_ns;
    }
    if (queue->core.delay.count > 0 && !queue->is_closed) {
        weiri_core_pass_time(&queue->core, now_ns);
    }
    queue->core.ready.ranks.now_ns = now_ns;
    return now_ns;
}

void weiri_queue_pass_time_slow_locked(weir_queue *queue)
{
    struct weiri_core *core = &queue->core;
    if (core->delay.count > 0 || core->meter != NULL || core->ready.ranks.aging_ns != 0) {
        (void)weiri_queue_pass_time_to_locked(queue, weir_clock_now(queue->clock));
    }
    if (queue->groups != NULL) {
        weiri_queue_sort_out_locked(queue);
    }
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The consumer's own thread: fetches for free slots, touches reservations, ends the pool. */
#include <limits.h>
#include <string.h>

#include <weir/lifecycle.h>

#include "base/error.h"
#include "base/panic.h"
#include "base/time.h"
#include "jobs/consume/consumer.h"

/* The work of one pass of the fetcher's loop. */
struct pass {
    struct weiri_settlement *touches; /* the first; NULL: there is none */
    size_t wanted;
    size_t reserved;
    uint32_t control; /* from before its touches and reservations */
    bool is_limited;  /* more runs may begin later */
    bool is_full;     /* no slot is free, or no more runs may begin yet */
    bool is_empty;    /* no tube has a job that is delayed, ready or reserved */
    bool has_looked[WEIR_CONSUMER_TUBES_MAX];
    int64_t next_ns;         /* when the next pass is due at the latest, on the monotonic clock */
    enum weir_status status; /* of a failed transaction */
    struct weir_error error;
};

void weiri_fetcher_notify_locked(weir_consumer *consumer)
{
    weiri_mutex_assert_held(&consumer->mutex);
    consumer->is_notified = true;
    weiri_cond_signal(&consumer->notified);
}

void weiri_fetcher_notify_and_unlock(weir_consumer *consumer, bool is_needed)
{
    if (is_needed) {
        weiri_fetcher_notify_locked(consumer);
    }
    bool must_wake = is_needed && consumer->is_waiting;
    struct weiri_mark mark = consumer->sources[0].mark;
    weiri_mutex_unlock(&consumer->mutex);
    if (must_wake) {
        consumer->broker->ops->wake(consumer->broker->store, &mark, INT_MAX);
    }
}

/* Cancels the runs that are to end. Without the consumer's mutex, since a context has a lock of its
 * own: a run does not end, and its task stays in the list, while is_being_canceled is set. */
static void cancel_unwanted(weir_consumer *consumer)
{
    struct weiri_list *end = &consumer->tasks;
    weiri_mutex_lock(&consumer->mutex);
    for (struct weiri_list *link = end->next; link != end; link = link->next) {
        struct weiri_task *task = WEIRI_CONTAINER(link, struct weiri_task, link);
        bool is_unwanted = task->is_lost || task->is_asked || consumer->end.mode >= WEIR_END_STOP;
        if (is_unwanted && task->context != NULL && !task->is_canceled) {
            task->is_canceled = true;
            task->is_being_canceled = true;
            weiri_mutex_unlock(&consumer->mutex);
            weir_context_cancel(task->context);
            weiri_mutex_lock(&consumer->mutex);
            task->is_being_canceled = false;
            weiri_cond_broadcast(&consumer->changed);
        }
    }
    weiri_mutex_unlock(&consumer->mutex);
}

uint32_t weiri_control_word(const weir_consumer *consumer)
{
    const weir_broker *broker = consumer->broker;
    return consumer->has_control ? broker->ops->mark(broker->store, NULL) : 0;
}

/* Collects the reservations to touch, and finds when the next will be due. Where jobs may have been
 * cancelled all are due now, and each stays so until it was touched. */
static int64_t collect_touches_locked(weir_consumer *consumer, int64_t now_ns, struct pass *pass)
    WEIRI_REQUIRES(consumer->mutex)
{
    int64_t next = INT64_MAX;
    struct weiri_list *end = &consumer->tasks;
    bool are_due = consumer->control != pass->control;
    consumer->control = pass->control;
    for (struct weiri_list *link = end->next; link != end; link = link->next) {
        struct weiri_task *task = WEIRI_CONTAINER(link, struct weiri_task, link);
        task->touch_ns = are_due ? now_ns : task->touch_ns;
        if (task->is_lost || task->is_settled || task->is_being_touched || task->is_ending) {
            continue;
        }
        if (task->touch_ns <= now_ns) {
            task->is_being_touched = true;
            task->touch = (struct weiri_settlement){.reservation = task->reservation,
                                                    .event = WEIRI_JOB_TOUCH,
                                                    .progress = task->progress,
                                                    .next = pass->touches};
            pass->touches = &task->touch;
        } else {
            next = weiri_time_earlier(next, task->touch_ns);
        }
    }
    return next;
}

/* Decides what to do. False: the consumer is over and no job is reserved. */
static bool begin_pass(weir_consumer *consumer, struct pass *pass)
{
    int64_t now = weiri_monotonic_now();
    *pass = (struct pass){.control = weiri_control_word(consumer)};
    struct weiri_mark *emptied = &consumer->marks[consumer->source_count];
    *emptied = (struct weiri_mark){consumer->sources[0].tube, WEIRI_CHANNEL_EMPTIED, 0};
    emptied->mark = consumer->broker->ops->mark(consumer->broker->store, emptied);
    weiri_mutex_lock(&consumer->mutex);
    consumer->is_notified = false;
    bool is_done = consumer->is_over && weiri_list_is_empty(&consumer->tasks) &&
                   consumer->claimed == 0 && consumer->settling == 0;
    if (!is_done) {
        pass->next_ns = collect_touches_locked(consumer, now, pass);
        size_t free_slots = consumer->is_over ? 0 : consumer->options.workers - consumer->claimed;
        pass->wanted = weiri_rate_take_locked(consumer, free_slots);
        pass->is_limited = pass->wanted < free_slots;
        pass->is_full = true;
        consumer->claimed += pass->wanted;
    }
    weiri_mutex_unlock(&consumer->mutex);
    return !is_done;
}

void weiri_task_touched_locked(struct weiri_task *task)
{
    const struct weiri_settlement *touch = &task->touch;
    int64_t now = weiri_monotonic_now();
    task->is_being_touched = false;
    if (touch->status == WEIR_OK || touch->status == WEIR_ECANCELED) {
        bool is_told = task->progress == touch->progress;
        int64_t third = task->reservation->job.ttr_ns / 3;
        task->progress = is_told ? 0 : task->progress;
        task->touched_ns = now;
        task->touch_ns =
            weiri_time_add(now, is_told ? third : weiri_time_earlier(third, WEIRI_PROGRESS_NS));
        task->is_asked = task->is_asked || touch->status == WEIR_ECANCELED;
    } else {
        /* Its worker may also have settled it meanwhile. Then is_lost is not read any more. */
        task->is_lost = true;
    }
}

/* Ends the use of the tasks that were touched, or were to be. */
static void finish_touches(weir_consumer *consumer, struct pass *pass, bool was_made)
{
    weiri_mutex_lock(&consumer->mutex);
    for (struct weiri_settlement *touch = pass->touches; touch != NULL; touch = touch->next) {
        struct weiri_task *task = WEIRI_CONTAINER(touch, struct weiri_task, touch);
        task->is_being_touched = false;
        if (was_made) {
            weiri_task_touched_locked(task);
            pass->next_ns =
                weiri_time_earlier(pass->next_ns, task->is_lost ? INT64_MAX : task->touch_ns);
        }
    }
    pass->touches = NULL;
    weiri_cond_broadcast(&consumer->changed);
    weiri_mutex_unlock(&consumer->mutex);
}

/* Waits after a failed transaction. Its touches are still due, so without the wait the loop would
 * spin. */
static void back_off(weir_consumer *consumer, enum weir_status status,
                     const struct weir_error *error)
{
    bool is_ending = weiri_consumer_is_ending(consumer, status);
    if (is_ending) {
        weiri_broker_log(&consumer->broker->config, WEIR_LOG_ERROR, "tube %s: consumer ends: %s",
                         consumer->sources[0].tube, error->text);
        weiri_consumer_close(consumer, status, error);
    }
    consumer->failures++;
    int64_t delay = weiri_retry_ns(consumer->failures);
    if (!is_ending && weiri_retry_is_told(consumer->failures)) {
        weiri_broker_log(&consumer->broker->config, WEIR_LOG_WARNING,
                         "tube %s: tried again in %lld ms: %s", consumer->sources[0].tube,
                         (long long)(delay / WEIR_MS(1)), error->text);
    }
    /* Only an end shortens the wait. */
    (void)weiri_consumer_pause(consumer, &consumer->notified, delay, WEIRI_ENDING_NOT);
}

/* One transaction, with the touches that are still to be made. Returns false if it failed. */
static bool exchange_with(weir_consumer *consumer, struct pass *pass, size_t i, size_t wanted)
{
    struct weiri_source *source = &consumer->sources[i];
    struct weiri_list buried;
    weiri_list_init(&buried);
    struct weiri_exchange exchange = {.tube = source->tube,
                                      .buried = &buried,
                                      .settlements = pass->touches,
                                      .wanted = wanted,
                                      .attempts_max = consumer->options.retry.attempts,
                                      .is_keeping = true,
                                      .is_watching = consumer->is_until_empty};
    atomic_fetch_add_explicit(&consumer->exchanges, 1, memory_order_relaxed);
    pass->status =
        consumer->broker->ops->exchange(consumer->broker->store, &exchange, &pass->error);
    finish_touches(consumer, pass, pass->status == WEIR_OK);
    weiri_consumer_tell_buried(consumer, &buried);
    if (pass->status != WEIR_OK) {
        return false;
    }
    consumer->marks[i] = exchange.mark;
    pass->has_looked[i] = pass->has_looked[i] || wanted > 0;
    weiri_source_note(consumer, source, &exchange);
    pass->reserved += exchange.reserved_count;
    if (!weiri_tasks_start(consumer, &exchange.reserved, exchange.reserved_count, pass->control)) {
        pass->status = weiri_fail(&pass->error, WEIR_ENOMEM, "out of memory");
        return false;
    }
    return true;
}

/* Gives the slots that are left to the sources that this pass has not drained, each its share.
 * Returns whether there is one. */
static bool share_slots(weir_consumer *consumer, size_t left, const bool *is_drained,
                        size_t *ret_wanted)
{
    size_t count = consumer->source_count;
    size_t picked = 0;
    memset(ret_wanted, 0, count * sizeof(*ret_wanted));
    weiri_mutex_lock(&consumer->mutex);
    for (size_t i = 0; i < count; i++) {
        consumer->shares[i].may = !is_drained[i];
    }
    for (size_t i = 0; i < left && picked < count; i++) {
        picked = weiri_share_pick(consumer->shares, count);
        if (picked < count) {
            ret_wanted[picked]++;
        }
    }
    weiri_mutex_unlock(&consumer->mutex);
    return picked < count;
}

/* Looks at the sources until all slots have a job or all sources are drained. False: a transaction
 * failed. */
static bool fill_slots(weir_consumer *consumer, struct pass *pass)
{
    bool is_drained[WEIR_CONSUMER_TUBES_MAX] = {false};
    size_t wanted[WEIR_CONSUMER_TUBES_MAX];
    size_t all = pass->wanted;
    while (pass->reserved < all &&
           share_slots(consumer, all - pass->reserved, is_drained, wanted)) {
        for (size_t i = 0; i < consumer->source_count; i++) {
            size_t before = pass->reserved;
            if (wanted[i] > 0 && !exchange_with(consumer, pass, i, wanted[i])) {
                return false;
            }
            is_drained[i] = is_drained[i] || pass->reserved - before < wanted[i];
        }
    }
    return true;
}

/* A wait that was ended for a tube is one for a job of it: where this consumer has not looked,
 * another one does. What it took instead, or is about to end for, keeps it from its next wait. */
static void pass_on(weir_consumer *consumer, const struct pass *pass)
{
    const weir_broker *broker = consumer->broker;
    for (size_t i = 0; i < consumer->source_count && consumer->was_woken; i++) {
        if (!pass->has_looked[i]) {
            broker->ops->wake(broker->store, &consumer->marks[i], 1);
        }
    }
    consumer->was_woken = false;
}

/* Touches and reserves, and finds what the sources that were drained say about the sleep that
 * follows. False: a transaction failed. */
static bool touch_and_reserve(weir_consumer *consumer, struct pass *pass)
{
    bool is_good =
        pass->wanted == 0 ? exchange_with(consumer, pass, 0, 0) : fill_slots(consumer, pass);
    size_t left = pass->wanted - pass->reserved;
    weiri_rate_give_back(consumer, left);
    weiri_mutex_lock(&consumer->mutex);
    consumer->claimed -= left;
    pass->is_full = left == 0;
    pass->is_empty = !pass->is_full;
    for (size_t i = 0; i < consumer->source_count && !pass->is_full; i++) {
        pass->next_ns = weiri_time_earlier(pass->next_ns, consumer->sources[i].next_ns);
        pass->is_empty = pass->is_empty && consumer->sources[i].is_empty;
    }
    weiri_mutex_unlock(&consumer->mutex);
    pass_on(consumer, pass);
    if (!is_good) {
        back_off(consumer, pass->status, &pass->error);
        return false;
    }
    consumer->failures = 0;
    return true;
}

/* Sleeps until it is notified or the broker's wait ends. Returns whether that was in time. */
static bool sleep_until(weir_consumer *consumer, bool is_waiting, int64_t limit_ns)
{
    if (is_waiting) {
        size_t count = consumer->source_count + consumer->is_until_empty;
        return consumer->broker->ops->wait(consumer->broker->store, consumer->marks, count,
                                           limit_ns);
    }
    bool is_early = true;
    weiri_mutex_lock(&consumer->mutex);
    while (!consumer->is_notified && is_early) {
        is_early = weiri_cond_wait_until(&consumer->notified, limit_ns);
    }
    weiri_mutex_unlock(&consumer->mutex);
    return is_early;
}

/* Sleeps until it is notified, the broker's wait ends, a job may have been cancelled, or the next
 * pass is due. There are no jobs to cancel until a pass has reserved the first. */
static void sleep_after_pass(weir_consumer *consumer, const struct pass *pass)
{
    int64_t longest = weiri_time_add(weiri_monotonic_now(), WEIRI_WAIT_MAX_NS);
    int64_t until;
    bool was_woken;
    weiri_mutex_lock(&consumer->mutex);
    bool is_waiting = !pass->is_full && !consumer->is_notified && !consumer->is_over;
    consumer->is_waiting = is_waiting;
    bool is_held = pass->is_full && pass->is_limited;
    int64_t next = weiri_time_earlier(pass->next_ns, is_held ? consumer->start_ns : INT64_MAX);
    consumer->wake_ns = is_waiting ? weiri_time_earlier(next, longest) : next;
    int64_t limit = consumer->wake_ns;
    bool is_watching = consumer->has_control && !weiri_list_is_empty(&consumer->tasks);
    weiri_mutex_unlock(&consumer->mutex);
    do {
        int64_t slice = weiri_time_add(weiri_monotonic_now(), WEIRI_CONTROL_NS);
        until = is_watching ? weiri_time_earlier(limit, slice) : limit;
        was_woken = sleep_until(consumer, is_waiting, until);
    } while (!was_woken && until < limit && weiri_control_word(consumer) == pass->control);
    weiri_mutex_lock(&consumer->mutex);
    consumer->is_waiting = false;
    consumer->wake_ns = INT64_MAX;
    weiri_mutex_unlock(&consumer->mutex);
    consumer->was_woken = is_waiting && was_woken;
    if (is_waiting && !was_woken && until == longest) {
        atomic_fetch_add_explicit(&consumer->long_sleeps, 1, memory_order_relaxed);
    }
}

/* Whether a consumer that ends when its tubes are empty has found them so: no job is reserved or
 * being reserved, and no tube had news after the pass began. It may have got a job after it was
 * looked at, from a run of a tube that was looked at later. */
static bool are_tubes_done(weir_consumer *consumer)
{
    const weir_broker *broker = consumer->broker;
    weiri_mutex_lock(&consumer->mutex);
    bool are = weiri_list_is_empty(&consumer->tasks) && consumer->claimed == 0;
    weiri_mutex_unlock(&consumer->mutex);
    for (size_t i = 0; i < consumer->source_count && are; i++) {
        are = broker->ops->mark(broker->store, &consumer->marks[i]) == consumer->marks[i].mark;
    }
    return are;
}

static void run_passes(weir_consumer *consumer)
{
    struct pass pass;
    while (begin_pass(consumer, &pass)) {
        cancel_unwanted(consumer);
        if (consumer->broker->ops->settle != NULL) {
            weiri_touches_begin(consumer, pass.touches);
            pass.touches = NULL;
            pass.next_ns = weiri_time_earlier(pass.next_ns, weiri_left_advance(consumer));
        }
        if (pass.wanted > 0 || pass.touches != NULL) {
            if (!touch_and_reserve(consumer, &pass)) {
                continue;
            }
            cancel_unwanted(consumer);
        }
        if (consumer->is_until_empty && pass.is_empty && are_tubes_done(consumer)) {
            weiri_consumer_close(consumer, WEIR_OK, NULL);
            continue;
        }
        pass_on(consumer, &pass);
        sleep_after_pass(consumer, &pass);
    }
    pass_on(consumer, &pass);
}

void weiri_fetcher_main(void *arg)
{
    weir_consumer *consumer = arg;
    run_passes(consumer);
    enum weir_status status = weir_pool_end(consumer->pool, WEIR_END_DRAIN, 0, WEIR_FOREVER);
    WEIRI_ASSERT(status == WEIR_OK);
    weiri_consumer_set_state(consumer, WEIRI_CONSUMER_ENDED);
}

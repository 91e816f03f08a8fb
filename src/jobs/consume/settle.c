/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Settling by brokers of which each job has servers of its own (ops->settle). No thread waits for a
 * server that is silent: touches are begun, and their answers come on a thread of the backend's; a
 * worker leaves an end that is not answered soon to the fetcher. */
#include <weir/envelope.h>

#include "base/time.h"
#include "jobs/consume/consumer.h"

/* How long a worker waits for the answer to its job's end. */
#define PATIENCE_NS WEIR_MS(100)
/* For how long an end is told again once the consumer is ending. */
#define LAST_TRIES_NS WEIR_SECONDS(5)

/* The last use of the consumer by a thread of the backend's: the fetcher ends, and the consumer can
 * be freed, once all settlements were told of. */
static void leave(weir_consumer *consumer)
{
    weiri_mutex_lock(&consumer->mutex);
    consumer->settling--;
    if (consumer->is_over) { /* and then it does not wait in the broker */
        weiri_fetcher_notify_locked(consumer);
    }
    weiri_mutex_unlock(&consumer->mutex);
}

static void touched(struct weiri_settlement *touch)
{
    struct weiri_task *task = WEIRI_CONTAINER(touch, struct weiri_task, touch);
    weir_consumer *consumer = task->consumer;
    weiri_mutex_lock(&consumer->mutex);
    weiri_task_touched_locked(task);
    weiri_cond_broadcast(&consumer->changed);
    weiri_fetcher_notify_and_unlock(consumer, true);
    leave(consumer);
}

void weiri_touches_begin(weir_consumer *consumer, struct weiri_settlement *touches)
{
    for (struct weiri_settlement *touch = touches, *next; touch != NULL; touch = next) {
        next = touch->next; /* read before its task may be freed */
        weiri_mutex_lock(&consumer->mutex);
        consumer->settling++;
        weiri_mutex_unlock(&consumer->mutex);
        atomic_fetch_add_explicit(&consumer->exchanges, 1, memory_order_relaxed);
        touch->done = touched;
        consumer->broker->ops->settle(consumer->broker->store, touch);
    }
}

static void ended(struct weiri_settlement *settlement)
{
    struct weiri_task *task = WEIRI_CONTAINER(settlement, struct weiri_task, action.settlement);
    weir_consumer *consumer = task->consumer;
    weiri_mutex_lock(&consumer->mutex);
    task->is_ending = false;
    if (settlement->status == WEIR_EUNAVAILABLE) {
        task->refusals++;
        task->settle_ns = weiri_time_add(weiri_monotonic_now(), weiri_retry_ns(task->refusals));
    }
    weiri_parker_set(&task->parker);
    weiri_fetcher_notify_and_unlock(consumer, task->is_left);
    weiri_parker_wake(&task->parker);
    leave(consumer);
}

static void begin_end(struct weiri_task *task)
{
    const weir_broker *broker = task->consumer->broker;
    task->action.settlement.done = ended;
    broker->ops->settle(broker->store, &task->action.settlement);
}

bool weiri_task_settle(struct weiri_task *task)
{
    weir_consumer *consumer = task->consumer;
    int64_t limit = weiri_time_add(weiri_monotonic_now(), PATIENCE_NS);
    weiri_parker_init(&task->parker);
    task->action.settlement.status = WEIR_EUNAVAILABLE; /* until it was begun */
    weiri_mutex_lock(&consumer->mutex);
    while (task->is_being_touched && weiri_cond_wait_until(&consumer->changed, limit)) {
    }
    bool may_begin = !task->is_being_touched;
    task->is_ending = may_begin;
    consumer->settling += may_begin;
    weiri_mutex_unlock(&consumer->mutex);
    if (may_begin) {
        begin_end(task);
    }
    while (!weiri_parker_is_set(&task->parker) && weiri_monotonic_now() < limit) {
        weiri_parker_sleep(&task->parker, limit);
    }
    weiri_mutex_lock(&consumer->mutex);
    bool is_known = !task->is_ending && !task->is_being_touched &&
                    task->action.settlement.status != WEIR_EUNAVAILABLE;
    task->is_settled = is_known;
    task->is_left = !is_known;
    if (!is_known) {
        weir_envelope_ref(task->envelope);
    }
    weiri_fetcher_notify_and_unlock(consumer, !is_known);
    return is_known;
}

/* One that a touch has kept from being told is told once whatever comes. */
static bool may_retry_locked(const weir_consumer *consumer, struct weiri_task *task, int64_t now_ns)
    WEIRI_REQUIRES(consumer->mutex)
{
    if (consumer->is_over && task->give_up_ns == 0) {
        task->give_up_ns = weiri_time_add(now_ns, LAST_TRIES_NS);
    }
    bool is_in_time = task->give_up_ns == 0 || now_ns < task->give_up_ns;
    bool may = consumer->end.mode < WEIR_END_STOP && is_in_time && consumer->end_status == WEIR_OK;
    return task->action.settlement.status == WEIR_EUNAVAILABLE && (may || task->refusals == 0);
}

/* A task that was left of which the end is known, or is to be tried again now; NULL: none. */
static struct weiri_task *find_left_locked(weir_consumer *consumer, int64_t now_ns,
                                           int64_t *ret_next_ns) WEIRI_REQUIRES(consumer->mutex)
{
    struct weiri_list *end = &consumer->tasks;
    *ret_next_ns = INT64_MAX;
    for (struct weiri_list *link = end->next; link != end; link = link->next) {
        struct weiri_task *task = WEIRI_CONTAINER(link, struct weiri_task, link);
        if (!task->is_left || task->is_ending || task->is_being_touched) {
            continue;
        }
        if (!may_retry_locked(consumer, task, now_ns) || task->settle_ns <= now_ns) {
            return task;
        }
        *ret_next_ns = weiri_time_earlier(*ret_next_ns, task->settle_ns);
    }
    return NULL;
}

int64_t weiri_left_advance(weir_consumer *consumer)
{
    int64_t now = weiri_monotonic_now();
    int64_t next;
    struct weiri_task *task;
    weiri_mutex_lock(&consumer->mutex);
    while ((task = find_left_locked(consumer, now, &next)) != NULL) {
        bool may_retry = may_retry_locked(consumer, task, now);
        task->is_ending = may_retry;
        consumer->settling += may_retry;
        if (!may_retry) {
            weiri_list_remove(&task->link);
            consumer->is_notified = true; /* it may have been the last */
        }
        weiri_mutex_unlock(&consumer->mutex);
        if (task->action.settlement.status == WEIR_EUNAVAILABLE && task->refusals > 0 &&
            (!may_retry || weiri_retry_is_told(task->refusals))) {
            weiri_broker_log(&consumer->broker->config, WEIR_LOG_WARNING,
                             "tube %s: job %s ended and %s: Redis for claims is away",
                             task->reservation->job.tube, task->reservation->job.id,
                             may_retry ? "cannot be settled" : "is left to run again");
        }
        if (may_retry) {
            begin_end(task);
        } else {
            if (task->run.was_run) {
                weiri_task_report(task, task->action.settlement.status);
            }
            weir_envelope_unref(task->envelope);
        }
        weiri_mutex_lock(&consumer->mutex);
    }
    weiri_mutex_unlock(&consumer->mutex);
    return next;
}

/* A thread that waits. */
struct alone {
    struct weiri_settlement settlement;
    struct weiri_parker parker;
};

static void answered(struct weiri_settlement *settlement)
{
    struct weiri_parker *parker = &WEIRI_CONTAINER(settlement, struct alone, settlement)->parker;
    weiri_parker_set(parker);
    weiri_parker_wake(parker);
}

void weiri_reservation_return(weir_consumer *consumer, const struct weiri_reservation *reservation)
{
    const weir_broker *broker = consumer->broker;
    const struct weir_job *job = &reservation->job;
    struct alone alone = {.settlement = {.reservation = reservation, .event = WEIRI_JOB_RETURN}};
    struct weir_error error = {0};
    if (broker->ops->settle == NULL) {
        struct weiri_exchange exchange = {.tube = job->tube, .settlements = &alone.settlement};
        alone.settlement.status = broker->ops->exchange(broker->store, &exchange, &error);
    } else {
        alone.settlement.done = answered;
        weiri_parker_init(&alone.parker);
        broker->ops->settle(broker->store, &alone.settlement);
        while (!weiri_parker_is_set(&alone.parker)) {
            weiri_parker_sleep(&alone.parker,
                               weiri_time_add(weiri_monotonic_now(), WEIRI_WAIT_MAX_NS));
        }
    }
    weiri_broker_log(&broker->config, WEIR_LOG_WARNING, "tube %s: no memory to run job %s: %s",
                     job->tube, job->id,
                     alone.settlement.status == WEIR_OK ? "given back" : error.text);
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* One job on a worker: it runs, is settled while the next is reserved, and is reported. */
#include <weir/envelope.h>

#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/random.h"
#include "base/retry.h"
#include "base/time.h"
#include "jobs/consume/consumer.h"

/* The delay before retrying a job whose handler could not start. Its worker pauses as long. */
#define START_RETRY_NS WEIR_SECONDS(1)
/* The delay of a job's first retry, stated in weir/retry.h. */
#define RETRY_BASE_NS WEIR_SECONDS(1)

/* The hook before stamps and handler. */
static int begin(weir_context *context, weir_envelope *envelope, void *payload)
{
    struct weiri_task *task = payload;
    weir_consumer *consumer = task->consumer;
    (void)envelope;
    weiri_mutex_lock(&consumer->mutex);
    bool may_run = !task->is_lost && consumer->end.mode == WEIR_END_DRAIN;
    task->context = may_run ? context : NULL;
    weiri_mutex_unlock(&consumer->mutex);
    task->was_run = may_run;
    if (!may_run) {
        return WEIR_ECANCELED;
    }
    weiri_run_words_begin(task, context);
    return WEIR_OK;
}

static int invoke(weir_context *context, void *payload)
{
    struct weiri_task *task = payload;
    const struct weir_consumer_options *options = &task->consumer->options;
    int64_t start = weiri_monotonic_now();
    int status = options->handler(context, &task->reservation->job, options->arg);
    task->run_ns += weiri_monotonic_now() - start;
    return status;
}

/* The hook after every run, a panic's too: the context ends with the run. */
static int end(weir_context *context, weir_envelope *envelope, int status, void *payload)
{
    struct weiri_task *task = payload;
    weir_consumer *consumer = task->consumer;
    (void)context;
    (void)envelope;
    (void)status;
    weiri_mutex_lock(&consumer->mutex);
    while (task->is_being_canceled) {
        weiri_cond_wait(&consumer->changed);
    }
    task->context = NULL;
    weiri_mutex_unlock(&consumer->mutex);
    return WEIR_OK;
}

/* The delay of a failed job. If the limiter fails, the delay is computed from the job's attempts.
 */
static int64_t retry_delay(weir_consumer *consumer, const struct weir_job *job)
{
    const struct weir_consumer_options *options = &consumer->options;
    int64_t delay;
    if (options->limiter != NULL && weir_limiter_when(options->limiter, weir_key_string(job->id),
                                                      weiri_monotonic_now(), &delay) == WEIR_OK) {
        return delay;
    }
    return weiri_retry_delay(&options->retry, RETRY_BASE_NS, job->attempts, weiri_random_seed());
}

static void choose_action(struct weiri_task *task, int status)
{
    weir_consumer *consumer = task->consumer;
    const struct weir_job *job = &task->reservation->job;
    struct weiri_next_action *action = &task->action;
    *action = (struct weiri_next_action){.settlement = {.reservation = task->reservation}};
    weiri_mutex_lock(&consumer->mutex);
    bool is_ending = consumer->is_over;
    weiri_mutex_unlock(&consumer->mutex);
    const struct weiri_broker_config *config = &consumer->broker->config;
    const struct weiri_run_words *words = &task->words;
    bool is_put_off = task->was_run && status == WEIR_EAGAIN;
    action->could_not_start = is_put_off && words->retry_ns == 0;
    if (!task->was_run || is_put_off || (status == WEIR_ECANCELED && is_ending)) {
        action->settlement.event =
            WEIRI_JOB_RETURN; /* the handler did not fail: no attempt is counted */
        if (is_put_off) {
            action->delay_ns = words->retry_ns > 0 ? words->retry_ns : START_RETRY_NS;
            action->settlement.run_at_ns =
                weiri_time_add(config->now(config->now_arg), action->delay_ns);
        }
        return;
    }
    action->settlement.event =
        weiri_job_next_event(status, job->attempts, consumer->options.retry.attempts);
    if (action->settlement.event == WEIRI_JOB_DONE) {
        action->settlement.reason = words->reason[0] == '\0' ? NULL : words->reason;
        return;
    }
    bool is_retry = action->settlement.event == WEIRI_JOB_RELEASE;
    action->why = weiri_run_words_reason(task, status, action->reason);
    action->settlement.reason = action->reason;
    action->settlement.end = (struct weiri_run_end){
        .outcome = is_retry ? WEIR_RUN_RETRY : WEIR_RUN_BURIED,
        .status = status,
        .exit_status = words->exit_status,
        .signal = words->signal,
        .tail = words->tail,
    };
    if (is_retry) {
        action->delay_ns = words->retry_ns > 0 ? words->retry_ns : retry_delay(consumer, job);
        action->settlement.run_at_ns =
            weiri_time_add(config->now(config->now_arg), action->delay_ns);
    }
}

/* Pauses a worker whose handler could not start. Its slot stays claimed meanwhile. */
static void pause_worker(weir_consumer *consumer)
{
    int64_t limit = weiri_time_add(weiri_monotonic_now(), START_RETRY_NS);
    bool is_early = true;
    weiri_mutex_lock(&consumer->mutex);
    while (is_early && !consumer->is_over) {
        is_early = weiri_cond_wait_until(&consumer->changed, limit);
    }
    weiri_mutex_unlock(&consumer->mutex);
}

/* Claims the free slots. The task's own slot is claimed already and passes to the next job. Returns
 * the number of jobs to reserve. */
static size_t claim_slots(weir_consumer *consumer)
{
    weiri_mutex_lock(&consumer->mutex);
    size_t wanted = 0;
    if (!consumer->is_over) {
        size_t free_slots = consumer->options.workers - consumer->claimed;
        wanted = weiri_rate_take_locked(consumer, free_slots + 1);
        consumer->claimed += wanted > 0 ? wanted - 1 : 0;
    }
    weiri_mutex_unlock(&consumer->mutex);
    return wanted;
}

/* Waits before another try. False: there must be no other try. */
static bool wait_to_retry(weir_consumer *consumer, uint32_t failures)
{
    int64_t limit = weiri_time_add(weiri_monotonic_now(), weiri_retry_ns(failures));
    weiri_mutex_lock(&consumer->mutex);
    bool is_early = true;
    while (is_early && consumer->end.mode < WEIR_END_STOP && consumer->end_status == WEIR_OK) {
        is_early = weiri_cond_wait_until(&consumer->changed, limit);
    }
    bool may_retry = consumer->end.mode < WEIR_END_STOP && consumer->end_status == WEIR_OK;
    weiri_mutex_unlock(&consumer->mutex);
    return may_retry;
}

/* Tries until the store answers, the consumer is stopped, or the store has failed for good.
 */
static enum weir_status try_to_settle(struct weiri_task *task, size_t wanted,
                                      struct weiri_exchange *ret_exchange)
{
    weir_consumer *consumer = task->consumer;
    struct weiri_next_action *action = &task->action;
    bool is_settled = consumer->broker->ops->settle != NULL;
    for (uint32_t failures = 1;; failures++) {
        struct weiri_list buried;
        uint32_t mark;
        weiri_list_init(&buried);
        struct weiri_source *source = weiri_source_choose(consumer, &mark);
        *ret_exchange = (struct weiri_exchange){.tube = source->tube,
                                                .buried = &buried,
                                                .settlements = &action->settlement,
                                                .settlement_count = is_settled ? 0 : 1,
                                                .wanted = wanted,
                                                .attempts_max = consumer->options.retry.attempts,
                                                .is_keeping = true,
                                                .is_hasty = true};
        struct weir_error error = {0};
        enum weir_status status =
            consumer->broker->ops->exchange(consumer->broker->store, ret_exchange, &error);
        ret_exchange->buried = NULL;
        weiri_consumer_tell_buried(consumer, &buried);
        if (status == WEIR_OK) {
            weiri_source_note(consumer, source, mark, ret_exchange);
            return WEIR_OK;
        }
        weiri_list_init(&ret_exchange->reserved);
        ret_exchange->reserved_count = 0;
        if (weiri_retry_is_told(failures)) {
            weiri_broker_log(&consumer->broker->config, WEIR_LOG_WARNING,
                             "tube %s: job %s ended and cannot be settled: %s",
                             task->reservation->job.tube, task->reservation->job.id, error.text);
        }
        if (weiri_consumer_is_ending(consumer, status)) {
            weiri_consumer_close(consumer, status, &error);
            return status;
        }
        if (status == WEIR_ECORRUPT && wanted == 0) {
            return status;
        }
        if (status == WEIR_ECORRUPT) {
            /* The damage may be among the jobs to reserve. */
            wanted = 0;
            continue;
        }
        if (!wait_to_retry(consumer, failures)) {
            return status;
        }
    }
}

/* Settles the job, unless that was begun, and reserves the next ones. Where it cannot be settled,
 * it is ready again after its TTR. ret_claims is the number of slots claimed for the jobs in
 * ret_exchange->reserved, with the task's own. */
static enum weir_status settle_and_fetch(struct weiri_task *task,
                                         struct weiri_exchange *ret_exchange, size_t *ret_claims)
{
    size_t wanted = task->action.could_not_start ? 0 : claim_slots(task->consumer);
    *ret_claims = wanted > 0 ? wanted : 1;
    enum weir_status status = try_to_settle(task, wanted, ret_exchange);
    weiri_rate_give_back(task->consumer, wanted - ret_exchange->reserved_count);
    return status;
}

/* A fetcher that waits in the broker will fill free slots. One that sleeps because all slots were
 * claimed must be notified. */
static void notify_of_free_slots(weir_consumer *consumer)
{
    weiri_mutex_lock(&consumer->mutex);
    if (consumer->claimed < consumer->options.workers && !consumer->is_waiting) {
        (void)weiri_fetcher_notify_locked(consumer);
    }
    weiri_mutex_unlock(&consumer->mutex);
}

void weiri_task_report(struct weiri_task *task, enum weir_status settled)
{
    weir_consumer *consumer = task->consumer;
    const struct weiri_next_action *action = &task->action;
    const struct weir_job *job = &task->reservation->job;
    enum weir_run_outcome outcome = WEIR_RUN_LOST;
    if (settled == WEIR_OK) {
        outcome = action->settlement.event == WEIRI_JOB_DONE     ? WEIR_RUN_DONE
                  : action->settlement.event == WEIRI_JOB_BURY   ? WEIR_RUN_BURIED
                  : action->settlement.event == WEIRI_JOB_RETURN ? WEIR_RUN_RETURNED
                                                                 : WEIR_RUN_RETRY;
    }
    if (consumer->options.limiter != NULL &&
        (outcome == WEIR_RUN_DONE || outcome == WEIR_RUN_BURIED)) {
        weir_limiter_forget(consumer->options.limiter, weir_key_string(job->id));
    }
    if (consumer->options.after_run != NULL) {
        struct weir_job told = *job;
        if (outcome == WEIR_RUN_DONE) { /* not what it failed of before */
            told.reason = task->words.reason;
        } else if (action->why != NULL) {
            told.reason = action->why;
        }
        consumer->options.after_run(&told, outcome, task->status, task->run_ns,
                                    outcome == WEIR_RUN_LOST ? 0 : action->delay_ns,
                                    consumer->options.arg);
    }
}

void weiri_consumer_tell_buried(weir_consumer *consumer, struct weiri_list *buried)
{
    const struct weir_consumer_options *options = &consumer->options;
    for (struct weiri_list *link = buried->next; link != buried; link = link->next) {
        const struct weiri_reservation *reservation =
            WEIRI_CONTAINER(link, struct weiri_reservation, link);
        if (options->limiter != NULL) {
            weir_limiter_forget(options->limiter, weir_key_string(reservation->job.id));
        }
        if (options->after_run != NULL) {
            options->after_run(&reservation->job, WEIR_RUN_BURIED, (int)reservation->status, 0, 0,
                               options->arg);
        } else {
            weiri_broker_log(&consumer->broker->config, WEIR_LOG_WARNING,
                             "tube %s: job %s buried without a run: %s", reservation->job.tube,
                             reservation->job.id, reservation->job.reason);
        }
    }
    weiri_reservations_free(&consumer->allocator, buried);
}

/* Removes a task from the consumer's list. */
static void remove_task(struct weiri_task *task)
{
    weir_consumer *consumer = task->consumer;
    weiri_mutex_lock(&consumer->mutex);
    while (task->is_being_touched) {
        weiri_cond_wait(&consumer->changed);
    }
    weiri_list_remove(&task->link);
    /* The fetcher waits for the last task when the consumer ends. */
    bool is_until_empty = (consumer->options.flags & WEIR_CONSUMER_UNTIL_EMPTY) != 0;
    bool must_wake = false;
    if (weiri_list_is_empty(&consumer->tasks) && (consumer->is_over || is_until_empty)) {
        must_wake = weiri_fetcher_notify_locked(consumer);
    }
    weiri_mutex_unlock(&consumer->mutex);
    if (must_wake) {
        weiri_fetcher_wake(consumer);
    }
}

void weiri_task_ended(const struct weir_ended *ended, void *arg)
{
    (void)arg;
    struct weiri_task *task = weir_envelope_payload(ended->envelope);
    struct weiri_exchange exchange;
    size_t claims;
    task->status = ended->status;
    (void)snprintf(task->words.reason, sizeof(task->words.reason), "%s", ended->explanation);
    choose_action(task, ended->status);
    bool is_left = task->consumer->broker->ops->settle != NULL && !weiri_task_settle(task);
    enum weir_status settled = settle_and_fetch(task, &exchange, &claims);
    /* Set before the next jobs enter the list, so that no more tasks are touched than there are
     * slots. What was left is the fetcher's. */
    if (!is_left) {
        settled = settled == WEIR_OK ? task->action.settlement.status : settled;
        weiri_mutex_lock(&task->consumer->mutex);
        task->is_settled = true;
        weiri_mutex_unlock(&task->consumer->mutex);
    }
    if (task->action.could_not_start) {
        if (!is_left) {
            weiri_task_report(task, settled);
        }
        pause_worker(task->consumer);
    }
    (void)weiri_tasks_start(task->consumer, &exchange.reserved, claims);
    notify_of_free_slots(task->consumer);
    if (is_left) {
        return;
    }
    if (task->was_run && !task->action.could_not_start) {
        weiri_task_report(task, settled);
    }
    remove_task(task);
}

static void free_reservation(weir_consumer *consumer, struct weiri_reservation *reservation)
{
    consumer->broker->ops->let_go(consumer->broker->store, reservation);
    weiri_reservation_free(&consumer->allocator, reservation);
}

static void free_task(void *payload)
{
    struct weiri_task *task = payload;
    const struct weir_allocator memory = task->consumer->allocator;
    free_reservation(task->consumer, task->reservation);
    weiri_release(&memory, task, sizeof(*task));
}

/* Makes a task and its envelope; the reservation is taken where that succeeds. */
static struct weiri_task *make_task(weir_consumer *consumer, struct weiri_reservation *reservation)
{
    struct weiri_task *task = weiri_alloc_zero(&consumer->allocator, 1, sizeof(*task));
    if (task == NULL) {
        return NULL;
    }
    task->consumer = consumer;
    task->reservation = reservation;
    task->touched_ns = weiri_monotonic_now();
    task->touch_ns = weiri_time_add(task->touched_ns, reservation->job.ttr_ns / 3);
    weiri_list_init(&task->link);
    struct weir_envelope_options options = {0};
    options.allocator = consumer->allocator;
    options.id = (uint64_t)reservation->number;
    options.type = reservation->job.tube;
    options.payload = task;
    options.before = begin;
    options.invoke = invoke;
    options.after = end;
    options.flags = WEIR_ENVELOPE_AFTER_ALWAYS;
    options.release = free_task;
    options.attempts_before = reservation->job.attempts > 0 ? reservation->job.attempts - 1 : 0;
    options.deadline_ns = consumer->options.deadline_ns;
    if (weir_envelope_new(&options, &task->envelope, NULL) != WEIR_OK) {
        weiri_release(&consumer->allocator, task, sizeof(*task));
        return NULL;
    }
    return task;
}

/* Adds a task to the consumer's list and sends it. False: it was not sent, and is not in the list.
 */
static bool send_task(weir_consumer *consumer, struct weiri_task *task)
{
    weiri_mutex_lock(&consumer->mutex);
    weiri_list_insert_before(&consumer->tasks, &task->link);
    bool must_wake = task->touch_ns < consumer->wake_ns && weiri_fetcher_notify_locked(consumer);
    weiri_mutex_unlock(&consumer->mutex);
    if (must_wake) {
        weiri_fetcher_wake(consumer);
    }
    if (weir_pool_send(consumer->pool, task->envelope) == WEIR_OK) {
        return true;
    }
    weiri_mutex_lock(&consumer->mutex);
    while (task->is_being_touched) {
        weiri_cond_wait(&consumer->changed);
    }
    weiri_list_remove(&task->link);
    weiri_mutex_unlock(&consumer->mutex);
    return false;
}

/* Returns a job that cannot run here for lack of memory. If that fails too, the job is ready again
 * after its TTR. */
static void return_job(weir_consumer *consumer, const struct weiri_reservation *reservation)
{
    struct weiri_settlement settlement = {.reservation = reservation, .event = WEIRI_JOB_RETURN};
    struct weir_error error = {0};
    enum weir_status status = weiri_settle_alone(consumer, &settlement, &error);
    weiri_broker_log(&consumer->broker->config, WEIR_LOG_WARNING,
                     "tube %s: no memory to run job %s: %s", reservation->job.tube,
                     reservation->job.id, status == WEIR_OK ? "given back" : error.text);
}

static bool start_one(weir_consumer *consumer, struct weiri_reservation *reservation)
{
    struct weiri_task *task = make_task(consumer, reservation);
    if (task == NULL) {
        return_job(consumer, reservation);
        free_reservation(consumer, reservation);
        return false;
    }
    weir_envelope *envelope = task->envelope;
    bool was_sent = send_task(consumer, task);
    if (!was_sent) {
        return_job(consumer, reservation);
    }
    weir_envelope_unref(envelope);
    return was_sent;
}

bool weiri_tasks_start(weir_consumer *consumer, struct weiri_list *reserved, size_t claims)
{
    size_t started = 0;
    size_t failed = 0;
    while (!weiri_list_is_empty(reserved)) {
        struct weiri_reservation *reservation =
            WEIRI_CONTAINER(reserved->next, struct weiri_reservation, link);
        weiri_list_remove(&reservation->link);
        if (start_one(consumer, reservation)) {
            started++;
        } else {
            failed++;
        }
    }
    weiri_mutex_lock(&consumer->mutex);
    consumer->claimed -= claims - started;
    weiri_mutex_unlock(&consumer->mutex);
    return failed == 0;
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* One job on a worker: it runs, is settled while the next is reserved, and is reported. */
#include <weir/envelope.h>

#include <stdio.h>

#include "base/alloc.h"
#include "base/random.h"
#include "base/retry.h"
#include "base/time.h"
#include "jobs/consume/consumer.h"

/* The delay of a job's first retry, stated in weir/retry.h. */
#define RETRY_BASE_NS WEIR_SECONDS(1)

/* The hook before stamps and handler. */
static int begin(weir_context *context, weir_envelope *envelope, void *payload)
{
    struct weiri_task *task = payload;
    weir_consumer *consumer = task->consumer;
    (void)envelope;
    weiri_mutex_lock(&consumer->mutex);
    bool may_run = !task->is_lost && !task->is_asked && consumer->end.mode == WEIR_END_DRAIN;
    task->context = may_run ? context : NULL;
    weiri_mutex_unlock(&consumer->mutex);
    task->run.was_run = may_run;
    if (!may_run) {
        return WEIR_ECANCELED;
    }
    return (int)weir_context_set(context, &weiri_task_key, task); /* the first takes no memory */
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

/* The delay of a failed job: the limiter's, or if that fails, of the job's attempts. */
static int64_t retry_delay(const struct weir_consumer_options *options, const struct weir_job *job)
{
    int64_t delay;
    bool is_limited =
        options->limiter != NULL && weir_limiter_when(options->limiter, weir_key_string(job->id),
                                                      weiri_monotonic_now(), &delay) == WEIR_OK;
    return is_limited ? delay
                      : weiri_retry_delay(&options->retry, RETRY_BASE_NS, job->attempts,
                                          weiri_random_seed());
}

static void choose_action(struct weiri_task *task)
{
    weir_consumer *consumer = task->consumer;
    const struct weiri_broker_config *config = &consumer->broker->config;
    struct weiri_settlement *settlement = &task->action.settlement;
    weiri_mutex_lock(&consumer->mutex);
    /* A run that was cancelled is one that failed, also in a consumer that ends. */
    task->run.is_ending = consumer->is_over && !task->is_asked;
    weiri_mutex_unlock(&consumer->mutex);
    weiri_decide_run(&task->run, &task->action);
    settlement->reservation = task->reservation;
    settlement->since_ns = config->clocks.lease(config->clocks.arg);
    if (settlement->event == WEIRI_JOB_RELEASE && settlement->delay_ns == 0) {
        settlement->delay_ns = retry_delay(&consumer->options, &task->reservation->job);
    }
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

/* Settles the job, unless that was begun, and reserves the next ones. Tries until the store
 * answers, the consumer is stopped, or the store has failed for good; then the job is ready again
 * after its TTR. */
static enum weir_status try_to_settle(struct weiri_task *task, size_t wanted,
                                      struct weiri_exchange *ret_exchange)
{
    weir_consumer *consumer = task->consumer;
    for (uint32_t failures = 1;; failures++) {
        struct weiri_list buried;
        weiri_list_init(&buried);
        struct weiri_source *source = weiri_source_choose(consumer);
        *ret_exchange = (struct weiri_exchange){
            .tube = source->tube,
            .buried = &buried,
            .settlements = consumer->broker->ops->settle == NULL ? &task->action.settlement : NULL,
            .wanted = wanted,
            .attempts_max = consumer->options.retry.attempts,
            .is_keeping = true,
            .is_watching = consumer->is_until_empty,
            .is_hasty = true};
        struct weir_error error = {0};
        enum weir_status status =
            consumer->broker->ops->exchange(consumer->broker->store, ret_exchange, &error);
        ret_exchange->buried = NULL;
        weiri_consumer_tell_buried(consumer, &buried);
        if (status == WEIR_OK) {
            weiri_source_note(consumer, source, ret_exchange);
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
        if (status == WEIR_ECORRUPT && wanted > 0) {
            wanted = 0; /* the damage may be among the jobs to reserve */
            continue;
        }
        if (status == WEIR_ECORRUPT ||
            !weiri_consumer_pause(consumer, &consumer->changed, weiri_retry_ns(failures),
                                  WEIRI_ENDING_STOPPED)) {
            return status;
        }
    }
}

/* The delay of a job that does not run again, or only since an operator wants it, begins anew. */
static void tell(weir_consumer *consumer, const struct weir_job *job, enum weir_run_outcome outcome,
                 int status, int64_t run_ns, int64_t delay_ns)
{
    const struct weir_consumer_options *options = &consumer->options;
    bool is_over = outcome == WEIR_RUN_DONE || outcome == WEIR_RUN_BURIED;
    if (options->limiter != NULL && (is_over || outcome == WEIR_RUN_CANCELED)) {
        weir_limiter_forget(options->limiter, weir_key_string(job->id));
    }
    if (options->after_run != NULL) {
        options->after_run(job, outcome, status, run_ns, delay_ns, options->arg);
    }
}

void weiri_task_report(struct weiri_task *task, enum weir_status settled)
{
    const struct weiri_next_action *action = &task->action;
    struct weir_job told = task->reservation->job;
    enum weir_run_outcome outcome = weiri_run_outcome(action->settlement.event, settled);
    if (outcome == WEIR_RUN_DONE) { /* not what it failed of before */
        told.reason = task->run.reason;
    } else if (action->why != NULL) {
        told.reason = action->why;
    }
    tell(task->consumer, &told, outcome, task->run.status, task->run_ns,
         outcome == WEIR_RUN_LOST || outcome == WEIR_RUN_CANCELED ? 0
                                                                  : action->settlement.delay_ns);
}

void weiri_consumer_tell_buried(weir_consumer *consumer, struct weiri_list *buried)
{
    for (struct weiri_list *link = buried->next; link != buried; link = link->next) {
        const struct weiri_reservation *reservation =
            WEIRI_CONTAINER(link, struct weiri_reservation, link);
        const struct weir_job *job = &reservation->job;
        tell(consumer, job, WEIR_RUN_BURIED, (int)reservation->status, 0, 0);
        if (consumer->options.after_run == NULL) {
            weiri_broker_log(&consumer->broker->config, WEIR_LOG_WARNING,
                             "tube %s: job %s buried without a run: %s", job->tube, job->id,
                             job->reason);
        }
    }
    weiri_reservations_free(&consumer->allocator, buried);
}

/* Removes a task from the consumer's list, once nobody reads its reservation. */
static void remove_task(struct weiri_task *task)
{
    weir_consumer *consumer = task->consumer;
    weiri_mutex_lock(&consumer->mutex);
    while (task->is_being_touched) {
        weiri_cond_wait(&consumer->changed);
    }
    weiri_list_remove(&task->link);
    /* The fetcher waits for the last task when the consumer ends. */
    bool is_awaited = consumer->is_over || consumer->is_until_empty;
    weiri_fetcher_notify_and_unlock(consumer, is_awaited && weiri_list_is_empty(&consumer->tasks));
}

void weiri_task_ended(const struct weir_ended *ended, void *arg)
{
    (void)arg;
    struct weiri_task *task = weir_envelope_payload(ended->envelope);
    weir_consumer *consumer = task->consumer;
    struct weiri_exchange exchange;
    task->run.status = ended->status;
    (void)snprintf(task->run.reason, sizeof(task->run.reason), "%s", ended->explanation);
    choose_action(task);
    bool is_left = consumer->broker->ops->settle != NULL && !weiri_task_settle(task);
    bool could_start = !task->action.could_not_start;
    uint32_t control = weiri_control_word(consumer);
    size_t wanted = could_start ? claim_slots(consumer) : 0;
    enum weir_status settled = try_to_settle(task, wanted, &exchange);
    weiri_rate_give_back(consumer, wanted - exchange.reserved_count);
    /* Set before the next jobs enter the list, so that no more tasks are touched than there are
     * slots. What was left is the fetcher's. */
    if (!is_left) {
        settled = settled == WEIR_OK ? task->action.settlement.status : settled;
        weiri_mutex_lock(&consumer->mutex);
        task->is_settled = true;
        weiri_mutex_unlock(&consumer->mutex);
    }
    if (!could_start) {
        if (!is_left) {
            weiri_task_report(task, settled);
        }
        /* Its slot stays claimed meanwhile. */
        (void)weiri_consumer_pause(consumer, &consumer->changed, WEIRI_START_RETRY_NS,
                                   WEIRI_ENDING);
    }
    (void)weiri_tasks_start(consumer, &exchange.reserved, wanted > 0 ? wanted : 1, control);
    /* A fetcher that waits in the broker will fill free slots. One that sleeps because all slots
     * were claimed must be notified. */
    weiri_mutex_lock(&consumer->mutex);
    bool is_free = consumer->claimed < consumer->options.workers;
    weiri_fetcher_notify_and_unlock(consumer, is_free && !consumer->is_waiting);
    if (is_left) {
        return;
    }
    if (task->run.was_run && could_start) {
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
    task->run.attempts = reservation->job.attempts;
    task->run.attempts_max = consumer->options.retry.attempts;
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

/* Sends a reserved job to the pool. False: it was given back. */
static bool start_one(weir_consumer *consumer, struct weiri_reservation *reservation,
                      uint32_t control)
{
    struct weiri_task *task = make_task(consumer, reservation);
    if (task == NULL) {
        weiri_reservation_return(consumer, reservation);
        free_reservation(consumer, reservation);
        return false;
    }
    weir_envelope *envelope = task->envelope;
    weiri_mutex_lock(&consumer->mutex);
    if (control != consumer->control) { /* it may have been cancelled before it was in the list */
        task->touch_ns = task->touched_ns;
    }
    weiri_list_insert_before(&consumer->tasks, &task->link);
    weiri_fetcher_notify_and_unlock(consumer, task->touch_ns < consumer->wake_ns);
    bool was_sent = weir_pool_send(consumer->pool, envelope) == WEIR_OK;
    if (!was_sent) {
        remove_task(task);
        weiri_reservation_return(consumer, reservation);
    }
    weir_envelope_unref(envelope);
    return was_sent;
}

bool weiri_tasks_start(weir_consumer *consumer, struct weiri_list *reserved, size_t claims,
                       uint32_t control)
{
    size_t started = 0;
    bool are_all = true;
    while (!weiri_list_is_empty(reserved)) {
        struct weiri_list *link = reserved->next;
        weiri_list_remove(link);
        bool was_started =
            start_one(consumer, WEIRI_CONTAINER(link, struct weiri_reservation, link), control);
        started += was_started;
        are_all = are_all && was_started;
    }
    weiri_mutex_lock(&consumer->mutex);
    consumer->claimed -= claims - started;
    weiri_mutex_unlock(&consumer->mutex);
    return are_all;
}

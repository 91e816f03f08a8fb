/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* One job on a worker: run, settled together with a reservation of the next, told of. */
#include <inttypes.h>
#include <stdio.h>

#include <weir/envelope.h>

#include "base/alloc.h"
#include "base/time.h"
#include "jobs/consumer.h"
#include "jobs/error.h"

/* How long a job stays away that its handler could not begin, and how long its worker takes no
 * other: what was lacking is not there again at once. */
#define HINDRANCE_NS WEIR_SECONDS(1)

/* What becomes of a task's job. */
struct verdict {
    struct weiri_settlement settlement;
    int64_t delay_ns;
    bool is_hindered; /* the handler could not begin */
    char reason[WEIR_REASON_SIZE];
};

static int invoke(weir_context *context, void *payload)
{
    struct weiri_task *task = payload;
    weir_consumer *consumer = task->consumer;
    weiri_mutex_lock(&consumer->mutex);
    bool may_run = !task->is_lost && !consumer->is_over;
    task->context = may_run ? context : NULL;
    weiri_mutex_unlock(&consumer->mutex);
    task->was_run = may_run;
    if (!may_run) {
        return WEIR_ECANCELED;
    }
    int64_t start = weiri_monotonic_now();
    int status = consumer->options.handler(context, &task->reservation->job, consumer->options.arg);
    task->run_ns = weiri_monotonic_now() - start;
    weiri_mutex_lock(&consumer->mutex);
    while (task->is_being_canceled) {
        weiri_cond_wait(&consumer->changed);
    }
    task->context = NULL;
    weiri_mutex_unlock(&consumer->mutex);
    return status;
}

/* How long a failed job waits. A limiter that cannot tell is no reason to lose the count of
 * attempts: the delay computed from the job stands in. */
static int64_t retry_delay(weir_consumer *consumer, const struct weir_job *job)
{
    const struct weir_consumer_options *options = &consumer->options;
    int64_t delay;
    if (options->limiter != NULL && weir_limiter_when(options->limiter, weir_key_string(job->id),
                                                      weiri_monotonic_now(), &delay) == WEIR_OK) {
        return delay;
    }
    return weiri_job_retry_delay(job->attempts, options->retry_base_ns, options->retry_max_ns);
}

static void judge(struct weiri_task *task, int status, struct verdict *ret_verdict)
{
    weir_consumer *consumer = task->consumer;
    const struct weir_job *job = &task->reservation->job;
    struct verdict *verdict = ret_verdict;
    *verdict = (struct verdict){.settlement = {.reservation = task->reservation}};
    weiri_mutex_lock(&consumer->mutex);
    bool is_stopping = consumer->stops > 0;
    weiri_mutex_unlock(&consumer->mutex);
    const struct weiri_broker_config *config = &consumer->broker->config;
    verdict->is_hindered = task->was_run && status == WEIR_EAGAIN;
    if (!task->was_run || verdict->is_hindered || (status == WEIR_ECANCELED && is_stopping)) {
        verdict->settlement.event = WEIRI_JOB_RETURN; /* our doing: no attempt of the job's */
        if (verdict->is_hindered) {
            verdict->delay_ns = HINDRANCE_NS;
            verdict->settlement.run_at_ns =
                weiri_time_add(config->now(config->now_arg), HINDRANCE_NS);
        }
        return;
    }
    verdict->settlement.event =
        weiri_job_verdict(status, job->attempts, consumer->options.attempts_max);
    if (verdict->settlement.event == WEIRI_JOB_DONE) {
        return;
    }
    (void)snprintf(verdict->reason, sizeof(verdict->reason), "attempt %" PRIu32 ": %s (status %d)",
                   job->attempts, weir_status_text(status), status);
    verdict->settlement.reason = verdict->reason;
    if (verdict->settlement.event == WEIRI_JOB_RELEASE) {
        verdict->delay_ns = retry_delay(consumer, job);
        verdict->settlement.run_at_ns =
            weiri_time_add(config->now(config->now_arg), verdict->delay_ns);
    }
}

/* A worker without what handlers need: its slot is nobody's for a while. */
static void pause_worker(weir_consumer *consumer)
{
    int64_t limit = weiri_time_add(weiri_monotonic_now(), HINDRANCE_NS);
    bool is_early = true;
    weiri_mutex_lock(&consumer->mutex);
    while (is_early && !consumer->is_over) {
        is_early = weiri_cond_wait_until(&consumer->changed, limit);
    }
    weiri_mutex_unlock(&consumer->mutex);
}

/* Claims the slots that are free, besides the task's own, which is claimed already and passes to
 * the next job. Returns how many jobs to ask for. */
static size_t claim_slots(weir_consumer *consumer)
{
    weiri_mutex_lock(&consumer->mutex);
    size_t wanted = 0;
    if (!consumer->is_over) {
        size_t free_slots = consumer->options.workers - consumer->claimed;
        consumer->claimed += free_slots;
        wanted = free_slots + 1;
    }
    weiri_mutex_unlock(&consumer->mutex);
    return wanted;
}

/* Waits before another try. False: there shall be none. */
static bool wait_to_retry(weir_consumer *consumer, uint32_t failures)
{
    int64_t limit = weiri_time_add(weiri_monotonic_now(), weiri_consumer_backoff(failures));
    weiri_mutex_lock(&consumer->mutex);
    bool is_early = true;
    while (is_early && consumer->stops < 2 && consumer->end_status == WEIR_OK) {
        is_early = weiri_cond_wait_until(&consumer->changed, limit);
    }
    bool may_retry = consumer->stops < 2 && consumer->end_status == WEIR_OK;
    weiri_mutex_unlock(&consumer->mutex);
    return may_retry;
}

/* Settles, and reserves what comes next. Tries until the store answers, the consumer is stopped
 * twice, or the store has failed for good: then the job is left to its TTR. ret_claims is how many
 * slots are claimed for the jobs in ret_exchange->reserved, the task's own included. */
static enum weir_status settle_and_fetch(struct weiri_task *task, struct verdict *verdict,
                                         struct weiri_exchange *ret_exchange, size_t *ret_claims)
{
    weir_consumer *consumer = task->consumer;
    size_t wanted = verdict->is_hindered ? 0 : claim_slots(consumer);
    *ret_claims = wanted > 0 ? wanted : 1;
    for (uint32_t failures = 1;; failures++) {
        *ret_exchange = (struct weiri_exchange){.tube = consumer->tube,
                                                .settlements = &verdict->settlement,
                                                .settlement_count = 1,
                                                .wanted = wanted,
                                                .attempts_max = consumer->options.attempts_max,
                                                .is_keeping = true};
        struct weir_error error = {""};
        enum weir_status status =
            consumer->broker->ops->exchange(consumer->broker->store, ret_exchange, &error);
        if (status == WEIR_OK) {
            return verdict->settlement.status;
        }
        weiri_list_init(&ret_exchange->reserved);
        weiri_broker_log(&consumer->broker->config, WEIR_LOG_WARNING,
                         "tube %s: job %s ended and cannot be settled: %s", consumer->tube,
                         task->reservation->job.id, error.text);
        if (!weiri_consumer_is_transient(status)) {
            weiri_consumer_end(consumer, status, &error);
            return status;
        }
        if (!wait_to_retry(consumer, failures)) {
            return status;
        }
    }
}

/* A keeper that listens for jobs will fill free slots; one that sleeps because all were claimed
 * must begin to listen. */
static void call_for_free_slots(weir_consumer *consumer)
{
    weiri_mutex_lock(&consumer->mutex);
    if (consumer->claimed < consumer->options.workers && !consumer->is_listening) {
        (void)weiri_keeper_call_locked(consumer);
    }
    weiri_mutex_unlock(&consumer->mutex);
}

static void tell(struct weiri_task *task, const struct verdict *verdict, int status,
                 enum weir_status settled)
{
    weir_consumer *consumer = task->consumer;
    const struct weir_job *job = &task->reservation->job;
    enum weir_run_outcome outcome = WEIR_RUN_LOST;
    if (settled == WEIR_OK) {
        outcome = verdict->settlement.event == WEIRI_JOB_DONE     ? WEIR_RUN_DONE
                  : verdict->settlement.event == WEIRI_JOB_BURY   ? WEIR_RUN_BURIED
                  : verdict->settlement.event == WEIRI_JOB_RETURN ? WEIR_RUN_RETURNED
                                                                  : WEIR_RUN_RETRY;
    }
    if (consumer->options.limiter != NULL &&
        (outcome == WEIR_RUN_DONE || outcome == WEIR_RUN_BURIED)) {
        weir_limiter_forget(consumer->options.limiter, weir_key_string(job->id));
    }
    if (consumer->options.after_run != NULL) {
        consumer->options.after_run(job, outcome, status, task->run_ns,
                                    outcome == WEIR_RUN_LOST ? 0 : verdict->delay_ns,
                                    consumer->options.arg);
    }
}

/* Takes a task off the books. */
static void retire(struct weiri_task *task)
{
    weir_consumer *consumer = task->consumer;
    weiri_mutex_lock(&consumer->mutex);
    while (task->is_being_touched) {
        weiri_cond_wait(&consumer->changed);
    }
    weiri_list_remove(&task->link);
    /* Whether this was the last, the keeper must know who waits for the end. */
    bool is_until_empty = (consumer->options.flags & WEIR_CONSUMER_UNTIL_EMPTY) != 0;
    bool must_ring = false;
    if (weiri_list_is_empty(&consumer->tasks) && (consumer->is_over || is_until_empty)) {
        must_ring = weiri_keeper_call_locked(consumer);
    }
    weiri_mutex_unlock(&consumer->mutex);
    if (must_ring) {
        weiri_keeper_ring(consumer);
    }
}

static void outcome(weir_envelope *envelope, int status, void *payload)
{
    (void)envelope;
    struct weiri_task *task = payload;
    struct verdict verdict;
    struct weiri_exchange exchange;
    size_t claims;
    judge(task, status, &verdict);
    enum weir_status settled = settle_and_fetch(task, &verdict, &exchange, &claims);
    /* Before the next jobs come on the books, so that those to be touched are never more than the
     * slots. */
    weiri_mutex_lock(&task->consumer->mutex);
    task->is_settled = true;
    weiri_mutex_unlock(&task->consumer->mutex);
    if (verdict.is_hindered) {
        tell(task, &verdict, status, settled);
        pause_worker(task->consumer);
    }
    (void)weiri_tasks_start(task->consumer, &exchange.reserved, claims);
    call_for_free_slots(task->consumer);
    if (task->was_run && !verdict.is_hindered) {
        tell(task, &verdict, status, settled);
    }
    retire(task);
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
    task->touch_ns = weiri_time_add(weiri_monotonic_now(), reservation->job.ttr_ns / 3);
    weiri_list_init(&task->link);
    struct weir_envelope_options options = WEIR_ENVELOPE_OPTIONS_INIT;
    options.allocator = consumer->allocator;
    options.id = (uint64_t)reservation->number;
    options.type = consumer->tube;
    options.payload = task;
    options.invoke = invoke;
    options.outcome = outcome;
    options.release = free_task;
    options.deadline_ns = consumer->options.deadline_ns;
    if (weir_envelope_new(&options, &task->envelope) != WEIR_OK) {
        weiri_release(&consumer->allocator, task, sizeof(*task));
        return NULL;
    }
    return task;
}

/* Puts a task on the books and sends it. False: it was not sent, and is off the books again. */
static bool send_task(weir_consumer *consumer, struct weiri_task *task)
{
    weiri_mutex_lock(&consumer->mutex);
    weiri_list_insert_before(&consumer->tasks, &task->link);
    bool must_ring = task->touch_ns < consumer->wake_ns && weiri_keeper_call_locked(consumer);
    weiri_mutex_unlock(&consumer->mutex);
    if (must_ring) {
        weiri_keeper_ring(consumer);
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

/* Returns a job that cannot be run here for lack of memory. Where that fails too, its TTR brings it
 * back. */
static void give_back(weir_consumer *consumer, const struct weiri_reservation *reservation)
{
    struct weiri_settlement settlement = {.reservation = reservation, .event = WEIRI_JOB_RETURN};
    struct weiri_exchange exchange = {
        .tube = consumer->tube, .settlements = &settlement, .settlement_count = 1};
    struct weir_error error = {""};
    enum weir_status status =
        consumer->broker->ops->exchange(consumer->broker->store, &exchange, &error);
    weiri_broker_log(&consumer->broker->config, WEIR_LOG_WARNING,
                     "tube %s: no memory to run job %s: %s", consumer->tube, reservation->job.id,
                     status == WEIR_OK ? "given back" : error.text);
}

static bool start_one(weir_consumer *consumer, struct weiri_reservation *reservation)
{
    struct weiri_task *task = make_task(consumer, reservation);
    if (task == NULL) {
        give_back(consumer, reservation);
        free_reservation(consumer, reservation);
        return false;
    }
    weir_envelope *envelope = task->envelope;
    bool was_sent = send_task(consumer, task);
    if (!was_sent) {
        give_back(consumer, reservation);
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

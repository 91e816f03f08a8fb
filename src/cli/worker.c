/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sysexits.h>

#include <weir/clock.h>

#include "cli/program.h"
#include "cli/report.h"

int worker_set(int option, const char *name, const char *text, void *arg)
{
    struct worker *worker = arg;
    struct weir_consumer_options *options = &worker->options;
    int64_t number = 0;
    int code = EX_OK;
    switch ((enum worker_option)option) {
    case WORKER_JOBS:
        code = read_number(name, text, 1, 4096, &number);
        options->workers = (uint32_t)number;
        return code;
    case WORKER_ATTEMPTS:
        code = read_number(name, text, 1, UINT32_MAX, &number);
        options->retry.attempts = (uint32_t)number;
        return code;
    case WORKER_DEADLINE:
        return read_duration(name, text, 1, &worker->handler.deadline_ns);
    case WORKER_GRACE:
        return read_duration(name, text, 0, &worker->handler.grace_ns);
    case WORKER_RETRY_DELAY:
        return read_duration(name, text, 1, &options->retry.base_ns);
    case WORKER_RETRY_MAX:
        return read_duration(name, text, 1, &options->retry.max_ns);
    case WORKER_RATE:
        return read_rate(name, text, &options->rate);
    case WORKER_PERSISTENT:
        return handler_read_mode(name, text, &worker->handler);
    case WORKER_BURY_ON:
        return handler_read_statuses(name, text, &worker->handler);
    case WORKER_VERBOSE:
        worker->handler.verbose = true;
        break;
    }
    return EX_OK;
}

int worker_check(struct worker *worker, char **program, const char *place, const char *dashes)
{
    const struct weir_retry *retry = &worker->options.retry;
    if (retry->max_ns != 0 && retry->max_ns < retry->base_ns) {
        return report(EX_USAGE, "%s%sretry-max: less than %sretry-delay; expected at least that",
                      place, dashes, dashes);
    }
    int why = program_find(program[0], &worker->handler.path);
    if (why != 0) {
        return report(why == ENOMEM ? EX_OSERR : EX_UNAVAILABLE,
                      "%s%s: %s; expected a program to run for each job", place,
                      quote(program[0]).text, why == ENOENT ? "no such program" : strerror(why));
    }
    worker->handler.argv = program;
    return EX_OK;
}

static void count_run(const struct weir_job *job, enum weir_run_outcome outcome, int status,
                      int64_t run_ns, int64_t delay_ns, void *arg)
{
    struct worker *worker = arg;
    tally_add(&worker->tally, outcome, run_ns);
    handler_report(&worker->handler, job, outcome, status, delay_ns);
}

static int run_job(weir_context *context, const struct weir_job *job, void *arg)
{
    struct worker *worker = arg;
    atomic_fetch_add(&worker->tally.running, 1);
    int status = handler_run(&worker->handler, context, job);
    atomic_fetch_sub(&worker->tally.running, 1);
    return status;
}

/* The thread that waits for the end. */
static void *wait_for(void *arg)
{
    struct worker *worker = arg;
    worker->status = weir_consumer_wait(worker->consumer, WEIR_FOREVER, &worker->error);
    worker->tally.ended_ns = weir_clock_now(weir_clock_monotonic());
    residents_end(&worker->handler.residents, worker->handler.grace_ns);
    atomic_store(&worker->has_ended, true);
    (void)eventfd_write(worker->ended, 1);
    return NULL;
}

enum weir_status worker_start(struct worker *worker, weir_broker *broker, const char *url,
                              const sigset_t *mask, int ended)
{
    worker->options.handler = run_job;
    worker->options.after_run = count_run;
    worker->options.arg = worker;
    worker->options.tubes = worker->tubes.all;
    worker->options.tube_count = worker->tubes.count;
    worker->handler.broker = url;
    worker->handler.mask = mask;
    worker->ended = ended;
    enum weir_status status =
        weir_consumer_new(broker, NULL, &worker->options, &worker->consumer, &worker->error);
    if (status == WEIR_OK) {
        worker->handler.consumer = worker->consumer;
        worker->tally.started_ns = weir_clock_now(weir_clock_monotonic());
        status = weir_consumer_start(worker->consumer, &worker->error);
    }
    if (status == WEIR_OK && pthread_create(&worker->waiter, NULL, wait_for, worker) != 0) {
        status = WEIR_ETHREAD;
    }
    if (status != WEIR_OK) {
        weir_consumer_free(worker->consumer);
        worker->consumer = NULL;
        residents_end(&worker->handler.residents, 0);
    }
    return status;
}

void worker_stop(struct worker *worker, bool is_cancel)
{
    if (is_cancel) {
        atomic_store(&worker->handler.residents.is_hurried, true);
    }
    (void)weir_consumer_end(worker->consumer, is_cancel ? WEIR_END_STOP : WEIR_END_FINISH, 0, NULL);
}

void worker_end(struct worker *worker)
{
    if (worker->consumer != NULL) {
        (void)pthread_join(worker->waiter, NULL);
    }
    weir_consumer_free(worker->consumer);
    worker->consumer = NULL;
}

void worker_free(struct worker *worker)
{
    worker_end(worker);
    free(worker->handler.path);
    work_tubes_free(&worker->tubes);
}

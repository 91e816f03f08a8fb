/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */

/* A stamp that spares a service which is down. After three failures in a row, of any envelopes, no
 * task is run for a minute. Then one task is run; if it succeeds, all are run again. A manual clock
 * takes the place of the real one. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

#include <weir/weir.h>

#define FAILURES_MAX 3
#define OPEN_NS WEIR_SECONDS(60)

enum {
    SERVICE_DOWN = WEIR_EUSER,
    BREAKER_OPEN
};

/* A stamp's argument is shared by all workers. */
struct breaker {
    pthread_mutex_t mutex;
    weir_clock *clock;
    int failures;      /* in a row */
    int64_t closes_ns; /* nothing is let through before */
};

static bool lets_through(struct breaker *breaker)
{
    pthread_mutex_lock(&breaker->mutex);
    int64_t now_ns = weir_clock_now(breaker->clock);
    bool is_open = breaker->failures >= FAILURES_MAX && now_ns < breaker->closes_ns;
    if (!is_open && breaker->failures >= FAILURES_MAX) {
        breaker->closes_ns = now_ns + OPEN_NS; /* this one tries; the others wait for it */
    }
    pthread_mutex_unlock(&breaker->mutex);
    return !is_open;
}

static void note(struct breaker *breaker, int status)
{
    pthread_mutex_lock(&breaker->mutex);
    breaker->failures = status == WEIR_OK ? 0 : breaker->failures + 1;
    if (breaker->failures == FAILURES_MAX) {
        breaker->closes_ns = weir_clock_now(breaker->clock) + OPEN_NS;
    }
    pthread_mutex_unlock(&breaker->mutex);
}

static int break_circuit(weir_context *context, weir_envelope *envelope, const weir_next *next,
                         void *arg)
{
    struct breaker *breaker = (struct breaker *)arg;
    (void)envelope;
    if (!lets_through(breaker)) {
        return BREAKER_OPEN;
    }
    int status = weir_next_run(next, context);
    note(breaker, status);
    return status;
}

struct call {
    int calls;
    int fails;     /* so many of them */
    sem_t has_run; /* posted after each run */
    bool is_done;
};

static int call_service(weir_context *context, void *payload)
{
    struct call *call = (struct call *)payload;
    (void)context;
    return call->calls++ < call->fails ? SERVICE_DOWN : WEIR_OK;
}

static int64_t retry(weir_context *context, weir_envelope *envelope,
                     const struct weir_failure *failure, void *payload)
{
    (void)context;
    (void)envelope;
    (void)payload;
    printf("attempt %u: %s\n", (unsigned)failure->attempt,
           failure->status == BREAKER_OPEN ? "the service is spared" : "the service is down");
    return WEIR_SECONDS(15);
}

static void tell_success(weir_context *context, weir_envelope *envelope, void *payload)
{
    struct call *call = payload;
    (void)envelope;
    printf("attempt %u: done, after %d calls\n", (unsigned)weir_context_attempt(context),
           call->calls);
    call->is_done = true;
}

static void note_run(weir_envelope *envelope, int status, void *payload)
{
    struct call *call = payload;
    (void)envelope;
    (void)status;
    (void)sem_post(&call->has_run);
}

/* Steps the clock after each run, until one has succeeded. */
static int pass_time(weir_clock *clock, struct call *call)
{
    int failed = 0;
    while (!failed && sem_wait(&call->has_run) == 0 && !call->is_done) {
        failed = weir_clock_advance(clock, WEIR_SECONDS(15)) != WEIR_OK;
    }
    return failed;
}

int main(void)
{
    struct breaker breaker = {PTHREAD_MUTEX_INITIALIZER, NULL, 0, 0};
    struct call call = {.fails = 4};
    weir_pool *pool = NULL;
    weir_envelope *envelope = NULL;
    int failed = sem_init(&call.has_run, 0, 0) != 0 ||
                 weir_clock_manual_new(0, NULL, &breaker.clock) != WEIR_OK;
    struct weir_stamp stamp = {break_circuit, &breaker};

    struct weir_envelope_options of_envelope = {0};
    of_envelope.payload = &call;
    of_envelope.invoke = call_service;
    of_envelope.failure = retry;
    of_envelope.success = tell_success;
    of_envelope.outcome = note_run;
    of_envelope.stamps = &stamp;
    of_envelope.stamp_count = 1;
    struct weir_pool_options of_pool = {0};
    of_pool.workers = 1;
    of_pool.clock = breaker.clock;
    failed = failed || weir_envelope_new(&of_envelope, &envelope, NULL) ||
             weir_pool_new(&of_pool, &pool, NULL) || weir_pool_start(pool) ||
             weir_pool_send(pool, envelope) || pass_time(breaker.clock, &call);
    weir_pool_free(pool);
    weir_envelope_unref(envelope);
    weir_clock_free(breaker.clock);
    (void)sem_destroy(&call.has_run);
    return failed;
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */

/* A small service on one pool: mails that are tried again, a report that recurs, a stamp that
 * writes down each run, a restart that loses nothing, and the pool's metrics at the end. One worker
 * and a manual clock make it print the same each time. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <weir/weir.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ended;

static void note_end(weir_envelope *envelope, int status, void *payload)
{
    (void)envelope;
    (void)status;
    (void)payload;
    pthread_mutex_lock(&mutex);
    ended++;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
}

static void wait_for_runs(int count)
{
    pthread_mutex_lock(&mutex);
    while (ended < count) {
        pthread_cond_wait(&changed, &mutex);
    }
    pthread_mutex_unlock(&mutex);
}

static int write_down(weir_context *context, weir_envelope *envelope, const weir_next *next,
                      void *arg)
{
    int status = weir_next_run(next, context);
    printf("%s %llu: %s\n", weir_envelope_type(envelope),
           (unsigned long long)weir_envelope_id(envelope), weir_status_text(status));
    (void)arg;
    return status;
}

static int report(weir_context *context, void *payload)
{
    (void)context;
    (void)payload;
    return WEIR_OK;
}

/* The server answers from the second attempt on. */
static int mail(weir_context *context, void *payload)
{
    (void)payload;
    return weir_context_attempt(context) < 2 ? WEIR_EIO : WEIR_OK;
}

static int64_t in_ten_seconds(weir_context *context, weir_envelope *envelope,
                              const struct weir_failure *failure, void *payload)
{
    (void)context;
    (void)envelope;
    (void)failure;
    (void)payload;
    return WEIR_SECONDS(10);
}

static int send_new(weir_pool *pool, const struct weir_envelope_options *options)
{
    weir_envelope *envelope;
    if (weir_envelope_new(options, &envelope, NULL) != WEIR_OK) {
        return 1;
    }
    int failed = weir_pool_send(pool, envelope) != WEIR_OK;
    weir_envelope_unref(envelope); /* the pool has one of its own */
    return failed;
}

static int send_all(weir_pool *pool)
{
    struct weir_envelope_options options = {0};
    options.outcome = note_end;
    options.type = "mail";
    options.id = 1;
    options.invoke = mail;
    options.failure = in_ten_seconds;
    int failed = send_new(pool, &options);
    options.type = "report";
    options.id = 2;
    options.invoke = report;
    options.failure = NULL;
    options.interval_ns = WEIR_SECONDS(60);
    return failed || send_new(pool, &options);
}

static void tell_end(const struct weir_ended *end, void *arg)
{
    (void)arg;
    printf("%s %llu: ended, %s\n", weir_envelope_type(end->envelope),
           (unsigned long long)weir_envelope_id(end->envelope),
           weir_ended_reason_text(end->reason));
}

static int print_runs(const char *text, size_t size, void *arg)
{
    static char page[32768];
    static size_t length;
    (void)arg;
    if (length + size >= sizeof(page)) {
        return WEIR_ETOOBIG;
    }
    memcpy(page + length, text, size);
    length += size;
    page[length] = '\0';
    const char *line = strstr(page, "weir_pool_runs_total{name=\"service\",outcome=\"success\"}");
    if (line != NULL && strchr(line, '\n') != NULL) {
        printf("%.*s\n", (int)strcspn(line, "\n"), line);
        return WEIR_EUSER; /* enough */
    }
    return WEIR_OK;
}

/* Pending envelopes are kept for the next start. */
static int restart(weir_pool *pool)
{
    if (weir_pool_end(pool, WEIR_END_STOP, WEIR_END_KEEP, WEIR_FOREVER) != WEIR_OK) {
        return 1;
    }
    struct weir_pool_counts counts;
    if (weir_pool_count(pool, &counts) != WEIR_OK) {
        return 1;
    }
    printf("stopped, %llu kept; a task now: %s\n", (unsigned long long)counts.in_flight,
           weir_status_name((int)weir_pool_run(pool, report, NULL, NULL)));
    return weir_pool_start(pool) != WEIR_OK;
}

int main(void)
{
    const struct weir_stamp stamp = {write_down, NULL};
    struct weir_pool_options options = {0};
    options.workers = 1;
    options.capacity = 100;
    options.stamps = &stamp;
    options.stamp_count = 1;
    options.name = "service";
    options.ended = tell_end;
    weir_pool *pool = NULL;
    int failed = weir_clock_manual_new(0, NULL, &options.clock) ||
                 weir_metrics_new(NULL, &options.metrics, NULL) ||
                 weir_pool_new(&options, &pool, NULL) || weir_pool_start(pool) || send_all(pool);
    if (!failed) {
        wait_for_runs(2);
        failed = restart(pool) || weir_clock_advance(options.clock, WEIR_SECONDS(10));
    }
    if (!failed) {
        wait_for_runs(3); /* the mail's second attempt */
        failed = weir_clock_advance(options.clock, WEIR_SECONDS(50)) != WEIR_OK;
    }
    if (!failed) {
        wait_for_runs(4); /* the report's second run */
        failed = weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER) ||
                 weir_metrics_write(options.metrics, print_runs, NULL) != WEIR_EUSER ||
                 weir_pool_end(pool, WEIR_END_TERMINATE, 0, WEIR_FOREVER);
        printf("terminated; a start now: %s\n", weir_status_name((int)weir_pool_start(pool)));
    }
    weir_pool_free(pool);
    weir_metrics_free(options.metrics);
    weir_clock_free(options.clock);
    return failed;
}

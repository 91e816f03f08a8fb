/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "bench/jobs/jobs.h"

/* What the samples of a store share. */

weir_broker *bench_jobs_open(const char *options)
{
    char url[600];
    weir_broker *broker;
    (void)snprintf(url, sizeof(url), "sqlite:%s/jobs.db%s", bench_jobs_setting("FOLDER"), options);
    BENCH_OK(weir_broker_open(url, NULL, &broker, NULL));
    return broker;
}

int bench_jobs_count(const struct weir_job *job, void *arg)
{
    (void)job;
    ++*(size_t *)arg;
    return 0;
}

weir_consumer *bench_jobs_start(weir_broker *broker, weir_handler_fn *handler, void *arg)
{
    struct weir_consumer_options options = {0};
    weir_consumer *consumer;
    options.handler = handler;
    options.arg = arg;
    options.workers = 1;
    BENCH_OK(weir_consumer_new(broker, "bench", &options, &consumer, NULL));
    BENCH_OK(weir_consumer_start(consumer, NULL));
    return consumer;
}

int bench_jobs_note_run(weir_context *context, const struct weir_job *job, void *arg)
{
    struct bench_jobs_runs *runs = arg;
    (void)context;
    (void)job;
    size_t before = atomic_fetch_add(&runs->count, 1);
    if (before == 0) {
        atomic_store(&runs->first_ns, bench_now());
    }
    if (before == runs->last) {
        atomic_store(&runs->last_ns, bench_now());
    }
    return WEIR_OK;
}

void bench_jobs_await(const struct bench_jobs_runs *runs)
{
    while (atomic_load(&runs->last_ns) == 0) {
        bench_sleep(1000000);
    }
}

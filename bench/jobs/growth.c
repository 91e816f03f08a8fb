/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdatomic.h>
#include <stdlib.h>

#include "bench/jobs/jobs.h"

/* What grows with what is in the way: a run while the ready jobs of a full group stand before it,
 * and a list behind jobs that have ended. */

enum {
    BATCH = 1000,
    RUNS = 100,
    LEFT = 10
};

static void put(weir_broker *broker, size_t count, const struct weir_put_options *options,
                struct weir_job_id *ret_ids)
{
    static char text[BENCH_JOBS_BODY];
    struct weir_body bodies[BATCH];
    for (size_t i = 0; i < count; i++) {
        bodies[i] = (struct weir_body){text, sizeof(text), NULL};
    }
    BENCH_OK(weir_broker_put(broker, "bench", bodies, count, options, ret_ids, NULL));
}

/* --- a full group --- */

struct held {
    atomic_bool is_held;
    atomic_bool is_over;
};

/* The job of the full group, which runs until the others have run. */
static int hold(weir_context *context, const struct weir_job *job, void *arg)
{
    struct held *held = arg;
    (void)context;
    (void)job;
    atomic_store(&held->is_held, true);
    while (!atomic_load(&held->is_over)) {
        bench_sleep(1000000);
    }
    return WEIR_OK;
}

static void pass_group(struct bench_run *run)
{
    weir_broker *broker = bench_jobs_open("?durability=normal");
    const struct weir_tube_policy policy = {.group_limit = 1};
    const struct weir_put_options full = {.group = "full"};
    const struct weir_put_options other = {.priority = 1};
    struct held held = {.is_held = false};
    struct bench_jobs_runs runs = {.last = RUNS};
    BENCH_OK(weir_broker_set_policy(broker, "bench", &policy, NULL));
    put(broker, 1, &full, NULL);
    weir_consumer *holder = bench_jobs_start(broker, hold, &held);
    while (!atomic_load(&held.is_held)) {
        bench_sleep(1000000);
    }
    for (size_t i = 0; i < run->size / BATCH; i++) {
        put(broker, BATCH, &full, NULL);
    }
    put(broker, RUNS + 1, &other, NULL);
    weir_consumer *consumer = bench_jobs_start(broker, bench_jobs_note_run, &runs);
    bench_jobs_await(&runs);
    bench_metric(run, "run_us", (double)(runs.last_ns - runs.first_ns) / 1e3 / RUNS);
    BENCH_OK(weir_consumer_end(consumer, WEIR_END_STOP, WEIR_FOREVER, NULL));
    atomic_store(&held.is_over, true);
    BENCH_OK(weir_consumer_end(holder, WEIR_END_STOP, WEIR_FOREVER, NULL));
    weir_consumer_free(consumer);
    weir_consumer_free(holder);
    weir_broker_close(broker);
}

/* --- jobs that have ended --- */

static void list(struct bench_run *run, weir_broker *broker, const char *metric)
{
    const struct weir_job_filter filter = {.tube = "bench"};
    size_t count = 0;
    int64_t start = bench_now();
    BENCH_OK(weir_broker_list(broker, &filter, bench_jobs_count, &count, NULL));
    bench_metric(run, metric, (double)(bench_now() - start) / 1e6);
    BENCH_CHECK_COUNT(count, LEFT);
}

/* Removes jobs: those that wait end and are kept, those that are kept go. */
static void remove_all(weir_broker *broker, const struct weir_job_id *ids, size_t count)
{
    static const struct weir_change change = {.kind = WEIR_CHANGE_REMOVE};
    static enum weir_status statuses[BATCH];
    const char *texts[BATCH];
    for (size_t i = 0; i < count; i += BATCH) {
        for (size_t k = 0; k < BATCH; k++) {
            texts[k] = ids[i + k].text;
        }
        BENCH_OK(weir_broker_change(broker, &change, texts, BATCH, statuses, NULL));
        BENCH_CHECK(statuses[0] == WEIR_OK && statuses[BATCH - 1] == WEIR_OK);
    }
}

static void list_behind(struct bench_run *run)
{
    const struct weir_tube_policy policy = {.keep_count = 10000000};
    weir_broker *broker = bench_jobs_open("?durability=normal");
    struct weir_job_id *ids = bench_alloc(run->size, sizeof(*ids));
    BENCH_OK(weir_broker_set_policy(broker, "bench", &policy, NULL));
    for (size_t i = 0; i < run->size; i += BATCH) {
        put(broker, BATCH, NULL, ids + i);
    }
    put(broker, LEFT, NULL, NULL);
    remove_all(broker, ids, run->size);
    list(run, broker, "behind_ms");
    remove_all(broker, ids, run->size);
    list(run, broker, "left_ms");
    free(ids);
    weir_broker_close(broker);
}

const struct bench_measurement bench_growth[] = {
    {"store_group_1k_f0/weir", pass_group, 1000, 0},
    {"store_group_100k_f0/weir", pass_group, 100000, 0},
    {"store_ended_10k_f0/weir", list_behind, 10000, 0},
    {"store_ended_100k_f0/weir", list_behind, 100000, 0},
    {NULL, NULL, 0, 0},
};

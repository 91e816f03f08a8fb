/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */

#include "bench/jobs/jobs.h"

/* What looks cost behind many jobs: a search for a text that no job has, the lists of a state with
 * few jobs and of a small tube, and the check of the store. */

enum {
    BATCH = 1000,
    FEW = 10
};

static void put(weir_broker *broker, const char *tube, size_t count)
{
    static char text[BENCH_JOBS_BODY];
    struct weir_body bodies[BATCH];
    for (size_t i = 0; i < count; i++) {
        bodies[i] = (struct weir_body){text, sizeof(text), NULL};
    }
    BENCH_OK(weir_broker_put(broker, tube, bodies, count, NULL, NULL, NULL));
}

static void bury_first(weir_broker *broker)
{
    static const char *const ids[FEW] = {"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"};
    static const struct weir_change bury = {.kind = WEIR_CHANGE_BURY, .reason = "bench"};
    enum weir_status statuses[FEW];
    BENCH_OK(weir_broker_change(broker, &bury, ids, FEW, statuses, NULL));
}

static int ignore_finding(const struct weir_finding *finding, void *arg)
{
    (void)finding;
    (void)arg;
    return 0;
}

static void list(struct bench_run *run, weir_broker *broker, const char *metric,
                 const struct weir_job_filter *filter, size_t expected)
{
    size_t count = 0;
    int64_t start = bench_now();
    BENCH_OK(weir_broker_list(broker, filter, bench_jobs_count, &count, NULL));
    bench_metric(run, metric, (double)(bench_now() - start) / 1e6);
    BENCH_CHECK_COUNT(count, expected);
}

static void look(struct bench_run *run, size_t jobs)
{
    const struct weir_job_filter text = {.text = "nomatch", .text_size = 7};
    const struct weir_job_filter buried = {.state = WEIR_JOB_BURIED};
    const struct weir_job_filter small = {.tube = "small"};
    weir_broker *broker = bench_jobs_open("?durability=normal");
    for (size_t i = 0; i < jobs / BATCH; i++) {
        put(broker, "bench", BATCH);
    }
    put(broker, "small", FEW);
    bury_first(broker);
    list(run, broker, "text_ms", &text, 0);
    list(run, broker, "buried_ms", &buried, FEW);
    list(run, broker, "small_ms", &small, FEW);
    int64_t start = bench_now();
    BENCH_OK(weir_broker_check(broker, ignore_finding, NULL, NULL));
    bench_metric(run, "check_ms", (double)(bench_now() - start) / 1e6);
    weir_broker_close(broker);
}

static void look_at_10k(struct bench_run *run)
{
    look(run, 10000);
}

static void look_at_100k(struct bench_run *run)
{
    look(run, 100000);
}

static void look_at_1m(struct bench_run *run)
{
    look(run, 1000000);
}

const struct bench_measurement bench_looks[] = {
    {"store_looks_10k_f0/weir", look_at_10k, 10000, 0},
    {"store_looks_100k_f0/weir", look_at_100k, 100000, 0},
    {"store_looks_1m_f0/weir", look_at_1m, 1000000, 0},
    {NULL, NULL, 0, 0},
};

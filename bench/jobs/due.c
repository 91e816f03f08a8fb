/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <time.h>

#include "bench/jobs/jobs.h"

/* Jobs of ten priorities that fall due together: the time until a consumer runs the first one, and
 * a thousand of them, one reservation each; and the time to count all, as `weir stats`, and to look
 * at the first ones. */

enum {
    BATCH = 1000,
    PRIORITIES = 10,
    RUNS = 1000,
    PEEKED = 10
};

#define AHEAD_NS INT64_C(60000) /* for each, to put them all */

static int64_t wall_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t put_all(weir_broker *broker, size_t jobs)
{
    static char text[BENCH_JOBS_BODY];
    struct weir_body bodies[BATCH];
    struct weir_put_options options = {.run_at_ns = wall_now() + (int64_t)jobs * AHEAD_NS};
    for (size_t i = 0; i < BATCH; i++) {
        bodies[i] = (struct weir_body){text, sizeof(text), NULL};
    }
    for (size_t i = 0; i < jobs / BATCH; i++) {
        options.priority = (int32_t)(i % PRIORITIES);
        BENCH_OK(weir_broker_put(broker, "bench", bodies, BATCH, &options, NULL, NULL));
    }
    BENCH_CHECK(wall_now() < options.run_at_ns);
    return options.run_at_ns;
}

static int count_tube(const struct weir_tube_counts *counts, void *arg)
{
    *(uint64_t *)arg += counts->ready;
    return 0;
}

static void fall_due(struct bench_run *run)
{
    weir_broker *broker = bench_jobs_open("?durability=normal");
    int64_t due_ns = put_all(broker, run->size);
    while (wall_now() < due_ns) {
        bench_sleep(10000000);
    }
    uint64_t ready = 0;
    int64_t start = bench_now();
    BENCH_OK(weir_broker_tubes(broker, "bench", count_tube, &ready, NULL));
    bench_metric(run, "count_ms", (double)(bench_now() - start) / 1e6);
    BENCH_CHECK_COUNT(ready, run->size);
    size_t shown = 0;
    start = bench_now();
    BENCH_OK(
        weir_broker_peek(broker, "bench", WEIR_JOB_READY, PEEKED, bench_jobs_count, &shown, NULL));
    bench_metric(run, "peek_ms", (double)(bench_now() - start) / 1e6);
    BENCH_CHECK_COUNT(shown, PEEKED);
    struct bench_jobs_runs runs = {.last = RUNS - 1};
    start = bench_now();
    weir_consumer *consumer = bench_jobs_start(broker, bench_jobs_note_run, &runs);
    bench_jobs_await(&runs);
    BENCH_OK(weir_consumer_end(consumer, WEIR_END_FINISH, WEIR_FOREVER, NULL));
    bench_metric(run, "first_ms", (double)(runs.first_ns - start) / 1e6);
    bench_metric(run, "thousand_ms", (double)(runs.last_ns - start) / 1e6);
    weir_consumer_free(consumer);
    weir_broker_close(broker);
}

const struct bench_measurement bench_due[] = {
    {"store_due_100k_f0/weir", fall_due, 100000, 0},
    {"store_due_f0/weir", fall_due, 1000000, 0},
    {NULL, NULL, 0, 0},
};

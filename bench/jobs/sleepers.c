/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* MAP_ANONYMOUS */

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <weir/jobs.h>

#include "bench/jobs/jobs.h"

/* A put into a tube that processes sleep for: its time, and the processor time of all of them. */

enum {
    PUTS = 200,
    MANY = 64
};

struct shared {
    _Atomic int ready;
    _Atomic int done;
};

static int count_run(weir_context *context, const struct weir_job *job, void *arg)
{
    (void)context;
    (void)job;
    struct shared *shared = arg;
    atomic_fetch_add(&shared->done, 1);
    return WEIR_OK;
}

static void sleep_for_jobs(const char *url, struct shared *shared)
{
    weir_broker *broker;
    weir_consumer *consumer;
    const struct weir_consumer_options options = {
        .handler = count_run, .arg = shared, .workers = 1};
    BENCH_OK(weir_broker_open(url, NULL, &broker, NULL));
    BENCH_OK(weir_consumer_new(broker, "t", &options, &consumer, NULL));
    BENCH_OK(weir_consumer_start(consumer, NULL));
    atomic_fetch_add(&shared->ready, 1);
    BENCH_OK(weir_consumer_wait(consumer, WEIR_FOREVER, NULL));
}

static double processor_ns(const pid_t *pids, size_t count)
{
    double total = 0;
    for (size_t i = 0; i < count; i++) {
        clockid_t clock;
        struct timespec time;
        BENCH_CHECK(clock_getcpuclockid(pids[i], &clock) == 0 && clock_gettime(clock, &time) == 0);
        total += (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
    }
    return total;
}

/* The time of the call; returns once the job was run and its worker sleeps again. */
static double put_one(weir_broker *broker, struct shared *shared)
{
    const struct weir_body body = {"x", 1, NULL};
    int before = atomic_load(&shared->done);
    int64_t start = bench_now();
    BENCH_OK(weir_broker_put(broker, "t", &body, 1, NULL, NULL, NULL));
    int64_t end = bench_now();
    while (atomic_load(&shared->done) == before) {
        bench_sleep(100000);
    }
    bench_sleep(8000000);
    return (double)(end - start);
}

static void put_to_sleepers(struct bench_run *run)
{
    pid_t pids[MANY];
    double times[PUTS];
    char url[600];
    struct shared *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    BENCH_CHECK(shared != MAP_FAILED);
    (void)snprintf(url, sizeof(url), "sqlite:%s/jobs.db", bench_jobs_setting("FOLDER"));
    for (size_t i = 0; i < run->size; i++) {
        pids[i] = fork();
        BENCH_CHECK(pids[i] >= 0);
        if (pids[i] == 0) {
            sleep_for_jobs(url, shared);
            _exit(0);
        }
    }
    while (atomic_load(&shared->ready) < (int)run->size) {
        bench_sleep(1000000);
    }
    weir_broker *broker;
    BENCH_OK(weir_broker_open(url, NULL, &broker, NULL));
    for (int i = 0; i < 3; i++) {
        (void)put_one(broker, shared);
    }
    bench_sleep(300000000);
    double before = processor_ns(pids, run->size);
    for (int i = 0; i < PUTS; i++) {
        times[i] = put_one(broker, shared);
    }
    double after = processor_ns(pids, run->size);
    for (size_t i = 0; i < run->size; i++) {
        BENCH_CHECK(kill(pids[i], SIGKILL) == 0 && waitpid(pids[i], NULL, 0) == pids[i]);
    }
    weir_broker_close(broker);
    bench_metric(run, "put_ns", bench_quantile(times, PUTS, 0.5));
    bench_metric(run, "cpu_ns", (after - before) / PUTS);
    (void)munmap(shared, sizeof(*shared));
}

const struct bench_measurement bench_sleepers[] = {
    {"store_sleepers_1_f0/weir", put_to_sleepers, 1, 0},
    {"store_sleepers_64_f0/weir", put_to_sleepers, MANY, 0},
    {NULL, NULL, 0, 0},
};

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weir/jobs.h>

#include "bench/jobs/jobs.h"

/* From the cancel of a job that hangs until its program has TERM. Each consumer is `weir work` with
 * one slot, which the job has, so that only the control word tells it. */

enum {
    CONSUMERS = 10
};

/* It tells its pipe that it runs, and of TERM. */
static char script[] = "trap 'echo t > \"$1\"; exit' TERM; echo s > \"$1\"; sleep 1000 & wait";

struct consumer {
    char tube[16];
    char path[512];
    int pipe;
    pid_t pid;
};

struct cancels {
    weir_broker *broker;
    struct consumer consumers[CONSUMERS];
    size_t each;
    double *times;
};

static void start_consumer(struct consumer *consumer, size_t number, char *url)
{
    (void)snprintf(consumer->tube, sizeof(consumer->tube), "t%zu", number);
    (void)snprintf(consumer->path, sizeof(consumer->path), "%s/%s", bench_jobs_setting("FOLDER"),
                   consumer->tube);
    BENCH_CHECK(mkfifo(consumer->path, 0600) == 0);
    consumer->pipe = open(consumer->path, O_RDWR | O_CLOEXEC);
    consumer->pid = fork();
    BENCH_CHECK(consumer->pipe >= 0 && consumer->pid >= 0);
    if (consumer->pid == 0) {
        char program[] = WEIR_PROGRAM;
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        (void)dup2(null, STDERR_FILENO);
        (void)execv(program,
                    (char *[]){program, (char[]){"work"}, (char[]){"-b"}, url, consumer->tube,
                               (char[]){"--"}, (char[]){"sh"}, (char[]){"-c"}, script,
                               (char[]){"sh"}, consumer->path, NULL});
        _exit(127);
    }
}

static void await(const struct consumer *consumer, char expected)
{
    char line[2];
    BENCH_CHECK(read(consumer->pipe, line, 2) == 2 && line[0] == expected);
}

static void cancel_some(void *state, size_t number)
{
    struct cancels *cancels = state;
    const struct consumer *consumer = &cancels->consumers[number];
    const struct weir_body body = {"x", 1, NULL};
    const struct weir_put_options options = {.ttr_ns = INT64_C(3600000000000)};
    const struct weir_change change = {.kind = WEIR_CHANGE_CANCEL, .verdict = WEIR_VERDICT_REMOVE};
    uint64_t random = number + 1;
    for (size_t i = 0; i < cancels->each; i++) {
        struct weir_job_id id;
        enum weir_status status;
        BENCH_OK(weir_broker_put(cancels->broker, consumer->tube, &body, 1, &options, &id, NULL));
        await(consumer, 's');
        bench_sleep((int64_t)(bench_random(&random) % 1000000000));
        const char *text = id.text;
        int64_t start = bench_now();
        BENCH_OK(weir_broker_change(cancels->broker, &change, &text, 1, &status, NULL));
        BENCH_CHECK(status == WEIR_ECANCELED);
        await(consumer, 't');
        cancels->times[number * cancels->each + i] = (double)(bench_now() - start);
    }
}

static void cancel(struct bench_run *run)
{
    struct cancels cancels = {.each = run->size / CONSUMERS,
                              .times = bench_alloc(run->size, sizeof(double))};
    char url[600];
    (void)snprintf(url, sizeof(url), "sqlite:%s/jobs.db", bench_jobs_setting("FOLDER"));
    BENCH_OK(weir_broker_open(url, NULL, &cancels.broker, NULL));
    for (size_t i = 0; i < CONSUMERS; i++) {
        start_consumer(&cancels.consumers[i], i, url);
    }
    bench_threads_join(bench_threads_start(CONSUMERS, cancel_some, &cancels));
    for (size_t i = 0; i < CONSUMERS; i++) {
        BENCH_CHECK(kill(cancels.consumers[i].pid, SIGTERM) == 0);
        BENCH_CHECK(waitpid(cancels.consumers[i].pid, NULL, 0) == cancels.consumers[i].pid);
    }
    weir_broker_close(cancels.broker);
    bench_metric(run, "p50_ms", bench_quantile(cancels.times, run->size, 0.5) / 1e6);
    bench_metric(run, "p99_ms", bench_quantile(cancels.times, run->size, 0.99) / 1e6);
    free(cancels.times);
}

const struct bench_measurement bench_cancel[] = {
    {"store_cancel_f0/weir", cancel, 100, 0},
    {NULL, NULL, 0, 0},
};

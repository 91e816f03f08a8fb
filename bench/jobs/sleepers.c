/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* MAP_ANONYMOUS */

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <weir/jobs.h>

#include "bench/jobs/jobs.h"

/* A put into a tube that processes sleep for: its time, and the processor time of all of them; the
 * time until a handler runs while a third of the processes are stopped by a signal. */

enum {
    PUTS = 200,
    MANY = 64,
    TURNS = 30,     /* a third is stopped in each, another one than before */
    TURN_PUTS = 20, /* of which every stopped process could lose one */
    THIRDS = 3
};

struct shared {
    _Atomic int ready;
    _Atomic int done;
    _Atomic(int64_t) run_ns; /* monotonic time of the last run */
};

struct times {
    double call_ns;
    double run_ns; /* from the call until the handler runs */
};

static int count_run(weir_context *context, const struct weir_job *job, void *arg)
{
    (void)context;
    (void)job;
    struct shared *shared = arg;
    atomic_store(&shared->run_ns, bench_now());
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

/* Returns once the job was run and its worker sleeps again. */
static struct times put_one(weir_broker *broker, struct shared *shared)
{
    const struct weir_body body = {"x", 1, NULL};
    int before = atomic_load(&shared->done);
    int64_t start = bench_now();
    BENCH_OK(weir_broker_put(broker, "t", &body, 1, NULL, NULL, NULL));
    int64_t end = bench_now();
    while (atomic_load(&shared->done) == before) {
        bench_sleep(100000);
    }
    int64_t ran = atomic_load(&shared->run_ns);
    bench_sleep(8000000);
    return (struct times){(double)(end - start), (double)(ran - start)};
}

/* The sleepers, and a broker that has put some jobs for them. */
struct scene {
    size_t count;
    pid_t pids[MANY];
    struct shared *shared;
    weir_broker *broker;
};

static void begin(struct scene *scene, size_t count)
{
    char url[600];
    scene->count = count;
    scene->shared = mmap(NULL, sizeof(*scene->shared), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    BENCH_CHECK(scene->shared != MAP_FAILED);
    (void)snprintf(url, sizeof(url), "sqlite:%s/jobs.db", bench_jobs_setting("FOLDER"));
    for (size_t i = 0; i < count; i++) {
        scene->pids[i] = fork();
        BENCH_CHECK(scene->pids[i] >= 0);
        if (scene->pids[i] == 0) {
            sleep_for_jobs(url, scene->shared);
            _exit(0);
        }
    }
    while (atomic_load(&scene->shared->ready) < (int)count) {
        bench_sleep(1000000);
    }
    BENCH_OK(weir_broker_open(url, NULL, &scene->broker, NULL));
    for (int i = 0; i < 3; i++) {
        (void)put_one(scene->broker, scene->shared);
    }
    bench_sleep(300000000);
}

static void end(struct scene *scene)
{
    for (size_t i = 0; i < scene->count; i++) {
        BENCH_CHECK(kill(scene->pids[i], SIGKILL) == 0 &&
                    waitpid(scene->pids[i], NULL, 0) == scene->pids[i]);
    }
    weir_broker_close(scene->broker);
    (void)munmap(scene->shared, sizeof(*scene->shared));
}

static void put_to_sleepers(struct bench_run *run)
{
    struct scene scene;
    double calls[PUTS];
    double runs[PUTS];
    begin(&scene, run->size);
    double before = processor_ns(scene.pids, run->size);
    for (int i = 0; i < PUTS; i++) {
        struct times times = put_one(scene.broker, scene.shared);
        calls[i] = times.call_ns;
        runs[i] = times.run_ns;
    }
    double after = processor_ns(scene.pids, run->size);
    end(&scene);
    bench_metric(run, "put_ns", bench_quantile(calls, PUTS, 0.5));
    bench_metric(run, "cpu_ns", (after - before) / PUTS);
    bench_metric(run, "p99_ms", bench_quantile(runs, PUTS, 0.99) / 1e6);
}

/* None is stopped within a commit: all puts would wait for it. */
static void stop_third(const struct scene *scene, int lock, size_t third)
{
    BENCH_CHECK(flock(lock, LOCK_EX) == 0);
    for (size_t i = third; i < scene->count; i += THIRDS) {
        int status;
        BENCH_CHECK(kill(scene->pids[i], SIGSTOP) == 0);
        BENCH_CHECK(waitpid(scene->pids[i], &status, WUNTRACED) == scene->pids[i] &&
                    WIFSTOPPED(status));
    }
    BENCH_CHECK(flock(lock, LOCK_UN) == 0);
}

static void continue_third(const struct scene *scene, size_t third)
{
    for (size_t i = third; i < scene->count; i += THIRDS) {
        BENCH_CHECK(kill(scene->pids[i], SIGCONT) == 0);
    }
    bench_sleep(20000000);
}

static void put_beside_stopped(struct bench_run *run)
{
    struct scene scene;
    static double times[TURNS * TURN_PUTS];
    char path[600];
    begin(&scene, run->size);
    (void)snprintf(path, sizeof(path), "%s/jobs.db.lock", bench_jobs_setting("FOLDER"));
    int lock = open(path, O_RDWR | O_CLOEXEC);
    BENCH_CHECK(lock >= 0);
    for (size_t turn = 0; turn < TURNS; turn++) {
        stop_third(&scene, lock, turn % THIRDS);
        for (size_t i = 0; i < TURN_PUTS; i++) {
            times[turn * TURN_PUTS + i] = put_one(scene.broker, scene.shared).run_ns;
        }
        continue_third(&scene, turn % THIRDS);
    }
    (void)close(lock);
    end(&scene);
    bench_metric(run, "p50_ms", bench_quantile(times, TURNS * TURN_PUTS, 0.5) / 1e6);
    bench_metric(run, "p99_ms", bench_quantile(times, TURNS * TURN_PUTS, 0.99) / 1e6);
    bench_metric(run, "most_ms", times[TURNS * TURN_PUTS - 1] / 1e6);
}

const struct bench_measurement bench_sleepers[] = {
    {"store_sleepers_1_f0/weir", put_to_sleepers, 1, 0},
    {"store_sleepers_64_f0/weir", put_to_sleepers, MANY, 0},
    {"store_stopped_f0/weir", put_beside_stopped, MANY, 0},
    {NULL, NULL, 0, 0},
};

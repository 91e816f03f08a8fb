/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */

#include <fcntl.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <weir/jobs.h>

#include "bench/jobs/jobs.h"

/* Jobs in a store on the disk. run.py has made a folder for this sample alone. */

enum {
    PROCESSES = 16,
    LARGE = 1000000,
    SMALL = 1000
};

static char text[BENCH_JOBS_BODY];
static const struct weir_body body = {text, sizeof(text), NULL};

static void path_of(const char *name, char path[512])
{
    (void)snprintf(path, 512, "%s/%s", bench_jobs_setting("FOLDER"), name);
}

static weir_broker *open_store(void)
{
    char path[512];
    char url[600];
    weir_broker *broker;
    struct weir_error error;
    path_of("jobs.db", path);
    (void)snprintf(url, sizeof(url), "sqlite:%s", path);
    memset(text, 'x', sizeof(text));
    if (weir_broker_open(url, NULL, &broker, &error) != WEIR_OK) {
        bench_fail("%s", error.text);
    }
    return broker;
}

static void put(weir_broker *broker, int64_t run_at_ns)
{
    struct weir_put_options options = {0};
    struct weir_error error;
    options.run_at_ns = run_at_ns;
    options.flags = WEIR_PUT_PAST_OK;
    if (weir_broker_put(broker, "bench", &body, 1, &options, NULL, &error) != WEIR_OK) {
        bench_fail("%s", error.text);
    }
}

static void put_many(weir_broker *broker, size_t count, size_t batch, int64_t run_at_ns)
{
    struct weir_put_options options = {0};
    struct weir_body *bodies = bench_alloc(batch, sizeof(*bodies));
    options.run_at_ns = run_at_ns;
    for (size_t i = 0; i < batch; i++) {
        bodies[i] = body;
    }
    for (size_t i = 0; i < count; i += batch) {
        BENCH_OK(weir_broker_put(broker, "bench", bodies, batch, &options, NULL, NULL));
    }
    free(bodies);
}

/* --- puts --- */

struct producers {
    weir_broker *broker;
    size_t each;
};

static void produce(void *state, size_t number)
{
    const struct producers *producers = state;
    (void)number;
    for (size_t i = 0; i < producers->each; i++) {
        put(producers->broker, 0);
    }
}

static void put_threads(struct bench_run *run)
{
    struct producers producers = {open_store(), BENCH_STORE_PUTS / run->size};
    put(producers.broker, 0);
    int64_t start = bench_now();
    bench_threads_join(bench_threads_start(run->size, produce, &producers));
    bench_span(run, start, producers.each * run->size);
    weir_broker_close(producers.broker);
}

static void put_batches(struct bench_run *run)
{
    weir_broker *broker = open_store();
    put(broker, 0);
    int64_t start = bench_now();
    put_many(broker, run->size, BENCH_JOBS_BATCH, 0);
    bench_span(run, start, run->size);
    weir_broker_close(broker);
}

/* What the disk does by itself: a page that is there is written anew and flushed. */
static void overwrite(struct bench_run *run)
{
    static char page[4096];
    char path[512];
    path_of("page", path);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    BENCH_CHECK(fd >= 0 && pwrite(fd, page, sizeof(page), 0) == sizeof(page) && fsync(fd) == 0);
    int64_t start = bench_now();
    for (size_t i = 0; i < run->size; i++) {
        page[0] = (char)i;
        BENCH_CHECK(pwrite(fd, page, sizeof(page), 0) == sizeof(page) && fdatasync(fd) == 0);
    }
    bench_span(run, start, run->size);
    (void)close(fd);
}

/* --- runs --- */

/* Shared by processes. */
struct runs {
    atomic_size_t count; /* of calls of the handler */
    sem_t ended;         /* posted for each job that is deleted */
    size_t expected;
    _Atomic(int64_t) last_ns; /* monotonic time of the last run */
    double *late_ns;          /* NULL, or of each run, from when */
};

static int64_t wall_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int note_run(weir_context *context, const struct weir_job *job, void *arg)
{
    struct runs *runs = arg;
    (void)context;
    size_t number = atomic_fetch_add(&runs->count, 1);
    if (runs->late_ns != NULL && number < runs->expected) {
        runs->late_ns[number] = (double)(wall_now() - job->run_at_ns);
    }
    atomic_store(&runs->last_ns, bench_now());
    return WEIR_OK;
}

static weir_consumer *start_consumer(weir_broker *broker, struct runs *runs, uint32_t workers)
{
    struct weir_consumer_options options = {0};
    weir_consumer *consumer;
    options.handler = note_run;
    options.arg = runs;
    options.workers = workers;
    BENCH_OK(weir_consumer_new(broker, "bench", &options, &consumer, NULL));
    BENCH_OK(weir_consumer_start(consumer, NULL));
    return consumer;
}

static void wait_for_runs(const struct runs *runs, size_t count)
{
    while (atomic_load(&runs->count) < count) {
        bench_sleep(200000);
    }
}

static void end_consumer(weir_consumer *consumer)
{
    BENCH_OK(weir_consumer_end(consumer, WEIR_END_FINISH, WEIR_FOREVER, NULL));
    weir_consumer_free(consumer);
}

static void note_end(const struct weir_job *job, enum weir_run_outcome outcome, int status,
                     int64_t run_ns, int64_t delay_ns, void *arg)
{
    struct runs *runs = arg;
    (void)job;
    (void)status;
    (void)run_ns;
    (void)delay_ns;
    BENCH_CHECK(outcome == WEIR_RUN_DONE && sem_post(&runs->ended) == 0);
}

/* Put, reserve, delete: one job at a time, until it is known to be deleted. */
static void cycle(struct bench_run *run)
{
    weir_broker *broker = open_store();
    struct runs runs = {.expected = run->size};
    struct weir_consumer_options options = {0};
    weir_consumer *consumer;
    BENCH_CHECK(sem_init(&runs.ended, 0, 0) == 0);
    options.handler = note_run;
    options.after_run = note_end;
    options.arg = &runs;
    BENCH_OK(weir_consumer_new(broker, "bench", &options, &consumer, NULL));
    BENCH_OK(weir_consumer_start(consumer, NULL));
    int64_t start = bench_now();
    for (size_t i = 0; i < run->size; i++) {
        put(broker, 0);
        BENCH_CHECK(sem_wait(&runs.ended) == 0);
    }
    bench_span(run, start, run->size);
    end_consumer(consumer);
    (void)sem_destroy(&runs.ended);
    weir_broker_close(broker);
}

/* Forks processes that do something, and waits for them. */
static void in_processes(void (*fn)(struct runs *runs, size_t each), struct runs *runs, size_t each)
{
    pid_t pids[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        pids[i] = fork();
        BENCH_CHECK(pids[i] >= 0);
        if (pids[i] == 0) {
            fn(runs, each);
            _exit(0);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        BENCH_CHECK(waitpid(pids[i], &status, 0) == pids[i] && status == 0);
    }
}

static void put_some(struct runs *runs, size_t each)
{
    weir_broker *broker = open_store();
    (void)runs;
    for (size_t i = 0; i < each; i++) {
        put(broker, 0);
    }
    weir_broker_close(broker);
}

static void work_all(struct runs *runs, size_t each)
{
    struct weir_consumer_options options = {0};
    weir_broker *broker = open_store();
    weir_consumer *consumer;
    (void)each;
    options.handler = note_run;
    options.arg = runs;
    options.flags = WEIR_CONSUMER_UNTIL_EMPTY;
    BENCH_OK(weir_consumer_new(broker, "bench", &options, &consumer, NULL));
    BENCH_OK(weir_consumer_start(consumer, NULL));
    BENCH_OK(weir_consumer_wait(consumer, WEIR_FOREVER, NULL));
    weir_consumer_free(consumer);
    weir_broker_close(broker);
}

static struct runs *share(size_t expected)
{
    struct runs *runs = mmap(NULL, sizeof(*runs) + expected * sizeof(double),
                             PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    BENCH_CHECK(runs != MAP_FAILED);
    runs->expected = expected;
    return runs;
}

static void put_processes(struct bench_run *run)
{
    weir_broker_close(open_store());
    int64_t start = bench_now();
    in_processes(put_some, NULL, run->size / PROCESSES);
    bench_span(run, start, run->size);
}

static void work_processes(struct bench_run *run)
{
    weir_broker *broker = open_store();
    put_many(broker, run->size, BENCH_JOBS_BATCH, 0);
    weir_broker_close(broker);
    struct runs *runs = share(run->size);
    int64_t start = bench_now();
    in_processes(work_all, runs, 0);
    bench_span(run, start, run->size);
    BENCH_CHECK_COUNT(atomic_load(&runs->count), run->size);
}

static void work_one(struct bench_run *run)
{
    weir_broker *broker = open_store();
    put_many(broker, run->size, BENCH_JOBS_BATCH, 0);
    weir_broker_close(broker);
    struct runs runs = {.expected = run->size};
    int64_t start = bench_now();
    work_all(&runs, 0);
    bench_span(run, start, run->size);
}

/* --- times --- */

/* From a put in one process to the start of its handler in another, which is idle. */
static void start_latency(struct bench_run *run)
{
    weir_broker_close(open_store());
    struct runs *runs = share(run->size);
    double *times = bench_alloc(run->size, sizeof(*times));
    pid_t worker = fork();
    BENCH_CHECK(worker >= 0);
    if (worker == 0) {
        weir_broker *broker = open_store();
        weir_consumer *consumer = start_consumer(broker, runs, 1);
        wait_for_runs(runs, run->size);
        end_consumer(consumer);
        weir_broker_close(broker);
        _exit(0);
    }
    weir_broker *broker = open_store();
    for (size_t i = 0; i < run->size; i++) {
        bench_sleep(5000000);
        int64_t start = bench_now();
        put(broker, 0);
        wait_for_runs(runs, i + 1);
        times[i] = (double)(atomic_load(&runs->last_ns) - start);
    }
    weir_broker_close(broker);
    BENCH_CHECK(waitpid(worker, NULL, 0) == worker);
    bench_metric(run, "p50_ms", bench_quantile(times, run->size, 0.5) / 1e6);
    bench_metric(run, "p99_ms", bench_quantile(times, run->size, 0.99) / 1e6);
    free(times);
}

/* 1,000 jobs a second are due, for three seconds. */
static void in_time(struct bench_run *run)
{
    weir_broker *broker = open_store();
    struct runs runs = {.expected = run->size,
                        .late_ns = bench_alloc(run->size, sizeof(*runs.late_ns))};
    int64_t first = wall_now() + 5000000000;
    for (size_t i = 0; i < run->size; i += BENCH_JOBS_BATCH) {
        for (size_t k = 0; k < BENCH_JOBS_BATCH; k += 10) {
            put_many(broker, 10, 10, first + (int64_t)(i + k) * 1000000);
        }
    }
    BENCH_CHECK(wall_now() < first);
    weir_consumer *consumer = start_consumer(broker, &runs, 4);
    wait_for_runs(&runs, run->size);
    end_consumer(consumer);
    BENCH_CHECK(bench_quantile(runs.late_ns, run->size, 0) >= 0);
    bench_metric(run, "p99_ms", bench_quantile(runs.late_ns, run->size, 0.99) / 1e6);
    free(runs.late_ns);
    weir_broker_close(broker);
}

/* --- many jobs --- */

static double put_rate(weir_broker *broker)
{
    int64_t start = bench_now();
    for (int i = 0; i < 1000; i++) {
        put(broker, 0);
    }
    return 1000 / ((double)(bench_now() - start) / 1e9);
}

/* A million jobs against a thousand: the rate of puts, the space of each, the time of an open. */
static void large(struct bench_run *run)
{
    char path[512];
    struct stat facts;
    weir_broker *broker = open_store();
    put_many(broker, SMALL, BENCH_JOBS_BATCH, 0);
    double before = put_rate(broker);
    put_many(broker, run->size, 1000, wall_now() + INT64_C(3600000000000));
    double after = put_rate(broker);
    weir_broker_close(broker);
    path_of("jobs.db", path);
    BENCH_CHECK(stat(path, &facts) == 0);
    bench_metric(run, "put_ratio", after / before);
    bench_metric(run, "bytes", (double)facts.st_size / (double)(run->size + 3 * SMALL));
    int64_t start = bench_now();
    broker = open_store();
    bench_metric(run, "open_ms", (double)(bench_now() - start) / 1e6);
    weir_broker_close(broker);
}

const struct bench_measurement bench_store[] = {
    {"store_put_1_f0/weir", put_threads, 1, 0},
    {"store_put_1_f0/disk", overwrite, BENCH_STORE_PUTS, 0},
    {"store_put_2_f0/weir", put_threads, 2, 0},
    {"store_put_64_f0/weir", put_threads, 64, 0},
    {"store_batches_f0/weir", put_batches, BENCH_JOBS_PUTS, 0},
    {"store_cycle_f0/weir", cycle, BENCH_STORE_PUTS, 0},
    {"store_put_16_f0/weir", put_processes, BENCH_STORE_PUTS, 0},
    {"store_work_1_f0/weir", work_one, 800, 0},
    {"store_work_16_f0/weir", work_processes, BENCH_STORE_PUTS, 0},
    {"store_start_f0/weir", start_latency, 300, 0},
    {"store_in_time_f0/weir", in_time, 3000, 0},
    {"store_large_f0/weir", large, LARGE, 0},
    {NULL, NULL, 0, 0},
};

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <weir/jobs.h>

#include "bench/jobs/jobs.h"

/* Jobs on a cluster of three nodes. run.py has started the servers for this sample alone. */

#define HUNG_LIMIT "1s" /* time_limit where a node hangs */
#define WORKERS 16

static char text[BENCH_JOBS_BODY];
static const struct weir_body body = {text, sizeof(text), NULL};

/* A broker on the servers; options are those of its URL. */
static weir_broker *open_broker(const char *options)
{
    char url[512];
    (void)snprintf(url, sizeof(url), "beanstalk://%s/?%s", bench_jobs_setting("NODES"), options);
    weir_broker *broker;
    struct weir_error error;
    memset(text, 'x', sizeof(text));
    if (weir_broker_open(url, NULL, &broker, &error) != WEIR_OK) {
        bench_fail("%s", error.text);
    }
    return broker;
}

static weir_broker *open_with_claims(const char *options)
{
    char claims[128];
    (void)snprintf(claims, sizeof(claims), "claims=redis://%s%s", bench_jobs_setting("REDIS"),
                   options);
    return open_broker(claims);
}

static void put(weir_broker *broker, int64_t run_at_ns)
{
    struct weir_put_options options = {0};
    options.run_at_ns = run_at_ns;
    struct weir_error error;
    if (weir_broker_put(broker, "bench", &body, 1, &options, NULL, &error) != WEIR_OK) {
        bench_fail("%s", error.text);
    }
}

static void put_many(weir_broker *broker, size_t count)
{
    struct weir_body bodies[BENCH_JOBS_BATCH];
    for (size_t i = 0; i < BENCH_JOBS_BATCH; i++) {
        bodies[i] = body;
    }
    for (size_t i = 0; i < count; i += BENCH_JOBS_BATCH) {
        struct weir_error error;
        if (weir_broker_put(broker, "bench", bodies, BENCH_JOBS_BATCH, NULL, NULL, &error) !=
            WEIR_OK) {
            bench_fail("%s", error.text);
        }
    }
}

/* Connects to all nodes. */
static void warm_up(weir_broker *broker)
{
    for (int i = 0; i < 50; i++) {
        put(broker, 0);
    }
}

/* One copy of each job, in batches, each of which is pipelined. */
static void put_batches(struct bench_run *run)
{
    weir_broker *broker = open_broker("replicas=1&min_written=1");
    warm_up(broker);
    int64_t start = bench_now();
    put_many(broker, run->size);
    bench_span(run, start, run->size);
    weir_broker_close(broker);
}

struct producers {
    weir_broker *broker;
    size_t each; /* jobs of a thread */
};

static void produce(void *state, size_t number)
{
    const struct producers *producers = state;
    (void)number;
    for (size_t i = 0; i < producers->each; i++) {
        put(producers->broker, 0);
    }
}

/* Three copies of each job; size threads put one job at a time. */
static void put_threads(struct bench_run *run)
{
    struct producers producers = {open_broker(""), BENCH_JOBS_PUTS / run->size};
    warm_up(producers.broker);
    int64_t start = bench_now();
    int64_t cpu = bench_cpu();
    bench_threads_join(bench_threads_start(run->size, produce, &producers));
    bench_span(run, start, producers.each * run->size);
    bench_metric(run, "cpu_ns", (double)(bench_cpu() - cpu) / (double)(producers.each * run->size));
    weir_broker_close(producers.broker);
}

static void put_latency(struct bench_run *run)
{
    weir_broker *broker = open_broker("");
    double *times = bench_alloc(run->size, sizeof(*times));
    warm_up(broker);
    for (size_t i = 0; i < run->size; i++) {
        int64_t start = bench_now();
        put(broker, 0);
        times[i] = (double)(bench_now() - start);
    }
    bench_metric(run, "p50_ns", bench_quantile(times, run->size, 0.5));
    bench_metric(run, "p99_ns", bench_quantile(times, run->size, 0.99));
    free(times);
    weir_broker_close(broker);
}

/* What the handler sees. */
struct runs {
    atomic_size_t count;
    size_t expected;
    _Atomic(int64_t) end_ns; /* monotonic time of the last expected run */
    double *late_ns;         /* NULL, or of each run */
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
    if (number + 1 == runs->expected) {
        atomic_store(&runs->end_ns, bench_now());
    }
    return WEIR_OK;
}

/* Consumes until all expected jobs have run; returns the time from the start to the last run. */
static int64_t consume(weir_broker *broker, struct runs *runs)
{
    struct weir_consumer_options options = {0};
    options.handler = note_run;
    options.arg = runs;
    options.workers = WORKERS;
    weir_consumer *consumer;
    BENCH_OK(weir_consumer_new(broker, "bench", &options, &consumer, NULL));
    int64_t start = bench_now();
    BENCH_OK(weir_consumer_start(consumer, NULL));
    while (atomic_load(&runs->end_ns) == 0) {
        bench_sleep(1000000);
    }
    BENCH_OK(weir_consumer_end(consumer, WEIR_END_FINISH, WEIR_FOREVER, NULL));
    weir_consumer_free(consumer);
    BENCH_CHECK_COUNT(atomic_load(&runs->count), runs->expected);
    return atomic_load(&runs->end_ns) - start;
}

/* Unique jobs, three copies of each, from the first reservation to the last run. */
static void consume_all(struct bench_run *run)
{
    weir_broker *broker = open_with_claims("");
    put_many(broker, run->size);
    struct runs runs = {.expected = run->size};
    double scripts = bench_jobs_redis_scripts();
    int64_t cpu = bench_cpu();
    int64_t took = consume(broker, &runs);
    bench_metric(run, "ns", (double)took / (double)run->size);
    bench_metric(run, "cpu_ns", (double)(bench_cpu() - cpu) / (double)run->size);
    bench_metric(run, "redis_scripts", (bench_jobs_redis_scripts() - scripts) / (double)run->size);
    weir_broker_close(broker);
}

/* Jobs that are due at random times of three seconds. */
static void run_in_time(struct bench_run *run)
{
    weir_broker *broker = open_with_claims("");
    struct runs runs = {.expected = run->size,
                        .late_ns = bench_alloc(run->size, sizeof(*runs.late_ns))};
    uint64_t random = 1;
    int64_t base = wall_now() + 2000000000;
    for (size_t i = 0; i < run->size; i++) {
        put(broker, base + (int64_t)(bench_random(&random) % 3000000000U));
    }
    (void)consume(broker, &runs);
    double earliest = bench_quantile(runs.late_ns, run->size, 0);
    BENCH_CHECK(earliest >= 0);
    bench_metric(run, "p99_ms", bench_quantile(runs.late_ns, run->size, 0.99) / 1e6);
    free(runs.late_ns);
    weir_broker_close(broker);
}

static double put_median(weir_broker *broker, size_t count, double *ret_longest)
{
    double *times = bench_alloc(count, sizeof(*times));
    for (size_t i = 0; i < count; i++) {
        int64_t start = bench_now();
        put(broker, 0);
        times[i] = (double)(bench_now() - start);
    }
    double median = bench_quantile(times, count, 0.5);
    *ret_longest = times[count - 1]; /* sorted */
    free(times);
    return median;
}

static pid_t stop_node(void)
{
    pid_t pid = (pid_t)strtol(bench_jobs_setting("NODE_PID"), NULL, 10);
    BENCH_CHECK(pid > 0 && kill(pid, SIGSTOP) == 0);
    return pid;
}

/* Puts before and after a node is stopped. The first one after it waits for the time limit. */
static void put_with_hung_node(struct bench_run *run)
{
    weir_broker *broker = open_broker("time_limit=" HUNG_LIMIT);
    double longest;
    warm_up(broker);
    bench_metric(run, "before_ns", put_median(broker, run->size, &longest));
    pid_t pid = stop_node();
    int64_t start = bench_now();
    put(broker, 0);
    bench_metric(run, "first_ms", (double)(bench_now() - start) / 1e6);
    bench_metric(run, "after_ns", put_median(broker, run->size, &longest));
    bench_metric(run, "longest_ms", longest / 1e6);
    (void)kill(pid, SIGCONT);
    weir_broker_close(broker);
}

/* Consumes while a node has hung since the start; all its copies are on others, too. */
static void consume_with_hung_node(struct bench_run *run)
{
    weir_broker *broker = open_with_claims("&time_limit=" HUNG_LIMIT);
    put_many(broker, run->size);
    pid_t pid = stop_node();
    struct runs runs = {.expected = run->size};
    bench_metric(run, "ns", (double)consume(broker, &runs) / (double)run->size);
    (void)kill(pid, SIGCONT);
    weir_broker_close(broker);
}

const struct bench_measurement bench_cluster[] = {
    {"cluster_batches_f0/weir", put_batches, BENCH_JOBS_PUTS, 0},
    {"cluster_put_1_f0/weir", put_threads, 1, 0},
    {"cluster_put_64_f0/weir", put_threads, 64, 0},
    {"cluster_put_1_f50/weir", put_threads, 1, 0},
    {"cluster_put_64_f50/weir", put_threads, 64, 0},
    {"cluster_latency_f0/weir", put_latency, 3000, 0},
    {"cluster_consume_f0/weir", consume_all, BENCH_JOBS_RUNS, 0},
    {"cluster_consume_f50/weir", consume_all, BENCH_JOBS_RUNS, 0},
    {"cluster_in_time_f50/weir", run_in_time, 1000, 0},
    {"cluster_hung_put_f50/weir", put_with_hung_node, 2000, 0},
    {"cluster_hung_consume_f50/weir", consume_with_hung_node, BENCH_JOBS_RUNS, 0},
    {NULL, NULL, 0, 0},
};

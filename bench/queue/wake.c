/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* gettid */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/queue/items.h"

/* Consumers that sleep. bench/peers/c/futex.c measures the same of a bare futex. */

#define DELAY WEIR_MS(2)

/* How long after its time an item is handed out to the consumer that sleeps until then. */
static void lateness(struct bench_run *run)
{
    const size_t count = BENCH_DELAYS;
    double *late = bench_alloc(count, sizeof(*late));
    weir_queue *queue = bench_queue_new(NULL);
    for (size_t i = 0; i < count; i++) {
        struct weir_work work;
        int64_t start = bench_now();
        BENCH_OK(weir_queue_add_after(queue, weir_key_string("key"), DELAY));
        BENCH_OK(weir_queue_get(queue, WEIR_FOREVER, &work));
        late[i] = (double)(bench_now() - start - DELAY);
        BENCH_CHECK(late[i] >= 0);
        BENCH_OK(weir_queue_done(queue, &work));
    }
    bench_metric(run, "p50_ns", bench_quantile(late, count, 0.5));
    bench_metric(run, "p99_ns", bench_quantile(late, count, 0.99));
    weir_queue_free(queue);
    free(late);
}

struct consumer {
    weir_queue *queue;
    atomic_int tid;         /* 0: the thread does not run yet */
    _Atomic int64_t ran_ns; /* when the consumer got the item; 0: not yet */
};

static void consume(void *state, size_t number)
{
    struct consumer *consumer = state;
    struct weir_work work;
    (void)number;
    bench_pin(1);
    atomic_store(&consumer->tid, gettid());
    while (weir_queue_get(consumer->queue, WEIR_FOREVER, &work) == WEIR_OK) {
        int64_t now = bench_now();
        BENCH_OK(weir_queue_done(consumer->queue, &work));
        atomic_store(&consumer->ran_ns, now);
    }
}

/* The time from an add until the consumer runs that slept on another processor, and the time of
 * the add alone. */
static void idle_add(struct bench_run *run)
{
    const size_t count = BENCH_IDLE_ADDS;
    double *until_run = bench_alloc(count, sizeof(double));
    double *call = bench_alloc(count, sizeof(double));
    struct consumer consumer = {.queue = bench_queue_new(NULL)};
    struct bench_object object = {0};
    struct bench_threads *thread = bench_threads_start(1, consume, &consumer);
    bench_pin(0);
    for (size_t i = 0; i < count; i++) {
        bench_sleep(WEIR_US(100));
        atomic_store(&consumer.ran_ns, 0);
        int64_t start = bench_now();
        BENCH_OK(weir_queue_add(consumer.queue, weir_key_item(&object.item)));
        call[i] = (double)(bench_now() - start);
        int64_t ran;
        while ((ran = atomic_load(&consumer.ran_ns)) == 0) {
        }
        until_run[i] = (double)(ran - start);
    }
    weir_queue_shutdown(consumer.queue);
    bench_threads_join(thread);
    bench_metric(run, "until_run_ns", bench_quantile(until_run, count, 0.5));
    bench_metric(run, "call_ns", bench_quantile(call, count, 0.5));
    weir_queue_free(consumer.queue);
    free(until_run);
    free(call);
}

/* How often a thread has given up the processor by itself. */
static long switches(int tid)
{
    char path[64];
    char line[128];
    long count = -1;
    snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
    FILE *file = fopen(path, "r");
    BENCH_CHECK(file != NULL);
    while (fgets(line, sizeof(line), file) != NULL) {
        (void)sscanf(line, "voluntary_ctxt_switches: %ld", &count);
    }
    fclose(file);
    BENCH_CHECK(count >= 0);
    return count;
}

/* How often a consumer wakes up in 300 ms in which nothing falls due. */
static void idle_wakes(struct bench_run *run)
{
    struct consumer consumer = {.queue = bench_queue_new(NULL)};
    BENCH_OK(weir_queue_add_after(consumer.queue, weir_key_string("later"), WEIR_SECONDS(60)));
    struct bench_threads *thread = bench_threads_start(1, consume, &consumer);
    while (atomic_load(&consumer.tid) == 0) {
        bench_sleep(WEIR_MS(1));
    }
    bench_sleep(WEIR_MS(20));
    long before = switches(atomic_load(&consumer.tid));
    bench_sleep(WEIR_MS(300));
    bench_metric(run, "wakes", (double)(switches(atomic_load(&consumer.tid)) - before));
    weir_queue_shutdown(consumer.queue);
    bench_threads_join(thread);
    weir_queue_free(consumer.queue);
}

const struct bench_measurement bench_wakes[] = {
    {"lateness/weir", lateness, 0, 0},
    {"idle_add/weir", idle_add, 0, 0},
    {"idle_wakes/weir", idle_wakes, 0, 0},
    {0},
};

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdatomic.h>

#include "bench/queue/items.h"

/* Consumers that sleep: how late they get an item that was waiting for its time, how long after an
 * add they run, what the add costs, and whether they stay asleep while nothing is due.
 * bench/limits/wake.c measures the same of a bare futex. */

#define DELAY WEIR_MS(2)

static void lateness(struct bench_run *run)
{
    const size_t count = bench_scale(run, 500);
    double *late = bench_alloc(count, sizeof(*late));
    weir_queue *queue = bench_queue_new();
    for (size_t i = 0; i < count; i++) {
        struct weir_work work;
        int64_t start = bench_now();
        BENCH_OK(weir_queue_add_after(queue, weir_key_string("key"), DELAY));
        BENCH_OK(weir_queue_get(queue, &work));
        late[i] = (double)(bench_now() - start - DELAY);
        BENCH_CHECK(late[i] >= 0);
        BENCH_OK(weir_queue_done(queue, &work));
    }
    bench_latencies(run, late, count);
    weir_queue_free(queue);
    bench_free(late);
}

struct sleeper {
    weir_queue *queue;
    _Atomic int64_t ran_ns; /* when the consumer had the item; 0: not yet */
    atomic_long tid;
};

static void consume(void *state, size_t number)
{
    struct sleeper *sleeper = state;
    struct weir_work work;
    (void)number;
    bench_pin(1);
    atomic_store(&sleeper->tid, bench_thread_id());
    while (weir_queue_get(sleeper->queue, &work) == WEIR_OK) {
        int64_t now = bench_now();
        BENCH_OK(weir_queue_done(sleeper->queue, &work));
        atomic_store(&sleeper->ran_ns, now);
    }
}

/* An add to a queue whose consumer sleeps on another processor. "ns", "p50_ns", "p99_ns": until the
 * consumer runs; "add_p50_ns": the add's own time. */
static void idle_add(struct bench_run *run)
{
    const size_t count = bench_scale(run, 3000);
    double *until_run = bench_alloc(count, sizeof(double));
    double *own = bench_alloc(count, sizeof(double));
    struct sleeper sleeper = {.queue = bench_queue_new()};
    struct bench_object object = {0};
    struct bench_crowd *consumer = bench_crowd_start(run, 1, consume, &sleeper);
    bench_pin(0);
    for (size_t i = 0; i < count; i++) {
        bench_sleep(WEIR_US(100));
        atomic_store(&sleeper.ran_ns, 0);
        int64_t start = bench_now();
        BENCH_OK(weir_queue_add(sleeper.queue, weir_key_item(&object.item)));
        own[i] = (double)(bench_now() - start);
        int64_t ran;
        while ((ran = atomic_load(&sleeper.ran_ns)) == 0) {
        }
        until_run[i] = (double)(ran - start);
    }
    weir_queue_shutdown(sleeper.queue);
    bench_crowd_join(consumer);
    bench_latencies(run, until_run, count);
    bench_metric(run, "add_p50_ns", bench_quantile(own, count, 0.5));
    weir_queue_free(sleeper.queue);
    bench_free(until_run);
    bench_free(own);
}

/* "wakes" of a consumer, counted as context switches of its thread, while an item waits for a time
 * that does not come in 300 ms. */
static void idle_wakes(struct bench_run *run)
{
    struct sleeper sleeper = {.queue = bench_queue_new()};
    BENCH_OK(weir_queue_add_after(sleeper.queue, weir_key_string("later"), WEIR_SECONDS(60)));
    struct bench_crowd *consumer = bench_crowd_start(run, 1, consume, &sleeper);
    while (atomic_load(&sleeper.tid) == 0) {
        bench_sleep(WEIR_MS(1));
    }
    bench_sleep(WEIR_MS(20));
    int64_t before = bench_thread_switches(atomic_load(&sleeper.tid));
    bench_sleep(WEIR_MS(300));
    int64_t after = bench_thread_switches(atomic_load(&sleeper.tid));
    weir_queue_shutdown(sleeper.queue);
    bench_crowd_join(consumer);
    bench_items(run, 1);
    bench_metric(run, "wakes", (double)(after - before));
    weir_queue_free(sleeper.queue);
}

const struct bench_measurement bench_wakes[] = {
    {"lateness", "weir", lateness, 0, 0},
    {"idle_add", "weir", idle_add, 0, 0},
    {"idle_wakes", "weir", idle_wakes, 0, 0},
    {0},
};

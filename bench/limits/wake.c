/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bench/limits/limits.h"

/* A bare futex where weir has a queue: bench/queue/wake.c step by step. */

#define DELAY_NS 2000000

static void wait_until(atomic_uint *word, unsigned value, int64_t limit_ns)
{
    struct timespec limit = {.tv_sec = limit_ns / 1000000000, .tv_nsec = limit_ns % 1000000000};
    syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, value, limit_ns < 0 ? NULL : &limit, NULL,
            FUTEX_BITSET_MATCH_ANY);
}

static void lateness(struct bench_run *run)
{
    const size_t count = bench_scale(run, 500);
    double *late = bench_alloc(count, sizeof(*late));
    atomic_uint word = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t limit = bench_now() + DELAY_NS;
        while (bench_now() < limit) {
            wait_until(&word, 0, limit);
        }
        late[i] = (double)(bench_now() - limit);
    }
    bench_latencies(run, late, count);
    bench_free(late);
}

struct sleeper {
    atomic_uint turn; /* odd: the consumer's; UINT_MAX - 1: the end */
    _Atomic int64_t ran_ns;
};

#define END (UINT32_MAX - 1)

static void consume(void *state, size_t number)
{
    struct sleeper *sleeper = state;
    (void)number;
    bench_pin(1);
    for (;;) {
        unsigned turn;
        while ((turn = atomic_load(&sleeper->turn)) % 2 == 0 && turn != END) {
            wait_until(&sleeper->turn, turn, -1);
        }
        if (turn == END) {
            return;
        }
        int64_t now = bench_now();
        atomic_store(&sleeper->turn, turn + 1);
        atomic_store(&sleeper->ran_ns, now);
    }
}

static void wake(struct sleeper *sleeper)
{
    syscall(SYS_futex, &sleeper->turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void idle_wake(struct bench_run *run)
{
    const size_t count = bench_scale(run, 3000);
    double *until_run = bench_alloc(count, sizeof(double));
    double *own = bench_alloc(count, sizeof(double));
    struct sleeper sleeper = {0};
    struct bench_crowd *consumer = bench_crowd_start(run, 1, consume, &sleeper);
    bench_pin(0);
    for (size_t i = 0; i < count; i++) {
        bench_sleep(100000);
        atomic_store(&sleeper.ran_ns, 0);
        int64_t start = bench_now();
        atomic_fetch_add(&sleeper.turn, 1);
        wake(&sleeper);
        own[i] = (double)(bench_now() - start);
        int64_t ran;
        while ((ran = atomic_load(&sleeper.ran_ns)) == 0) {
        }
        until_run[i] = (double)(ran - start);
    }
    atomic_store(&sleeper.turn, END);
    wake(&sleeper);
    bench_crowd_join(consumer);
    bench_latencies(run, until_run, count);
    bench_metric(run, "add_p50_ns", bench_quantile(own, count, 0.5));
    bench_free(until_run);
    bench_free(own);
}

const struct bench_measurement bench_futex[] = {
    {"lateness", "futex", lateness, 0, 0},
    {"idle_add", "futex", idle_wake, 0, 0},
    {0},
};

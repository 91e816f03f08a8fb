/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall */
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bench/support/bench.h"

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
    const size_t count = BENCH_DELAYS;
    double *late = bench_alloc(count, sizeof(*late));
    atomic_uint word = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t limit = bench_now() + DELAY_NS;
        while (bench_now() < limit) {
            wait_until(&word, 0, limit);
        }
        late[i] = (double)(bench_now() - limit);
    }
    bench_metric(run, "p50_ns", bench_quantile(late, count, 0.5));
    bench_metric(run, "p99_ns", bench_quantile(late, count, 0.99));
    free(late);
}

struct consumer {
    atomic_uint turn; /* odd: the consumer's; END: there is no further one */
    _Atomic int64_t ran_ns;
};

#define END (UINT32_MAX - 1)

static void consume(void *state, size_t number)
{
    struct consumer *consumer = state;
    (void)number;
    bench_pin(1);
    for (;;) {
        unsigned turn;
        while ((turn = atomic_load(&consumer->turn)) % 2 == 0 && turn != END) {
            wait_until(&consumer->turn, turn, -1);
        }
        if (turn == END) {
            return;
        }
        int64_t now = bench_now();
        atomic_store(&consumer->turn, turn + 1);
        atomic_store(&consumer->ran_ns, now);
    }
}

static void wake(struct consumer *consumer)
{
    syscall(SYS_futex, &consumer->turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void idle_add(struct bench_run *run)
{
    const size_t count = BENCH_IDLE_ADDS;
    double *until_run = bench_alloc(count, sizeof(double));
    double *call = bench_alloc(count, sizeof(double));
    struct consumer consumer = {0};
    struct bench_threads *thread = bench_threads_start(1, consume, &consumer);
    bench_pin(0);
    for (size_t i = 0; i < count; i++) {
        bench_sleep(100000);
        atomic_store(&consumer.ran_ns, 0);
        int64_t start = bench_now();
        atomic_fetch_add(&consumer.turn, 1);
        wake(&consumer);
        call[i] = (double)(bench_now() - start);
        int64_t ran;
        while ((ran = atomic_load(&consumer.ran_ns)) == 0) {
        }
        until_run[i] = (double)(ran - start);
    }
    atomic_store(&consumer.turn, END);
    wake(&consumer);
    bench_threads_join(thread);
    bench_metric(run, "until_run_ns", bench_quantile(until_run, count, 0.5));
    bench_metric(run, "call_ns", bench_quantile(call, count, 0.5));
    free(until_run);
    free(call);
}

const struct bench_measurement bench_futex[] = {
    {"lateness/futex", lateness, 0, 0},
    {"idle_add/futex", idle_add, 0, 0},
    {0},
};

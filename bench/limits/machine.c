/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bench/limits/limits.h"

/* The price of one instruction or call that every queue is made of. */

static atomic_uint word;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void locked_rmw(void *state, size_t count)
{
    (void)state;
    for (size_t i = 0; i < count; i++) {
        atomic_fetch_add(&word, 1);
    }
}

static void mutex_pair(void *state, size_t count)
{
    (void)state;
    for (size_t i = 0; i < count; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
}

static void clock_read(void *state, size_t count)
{
    struct timespec time;
    for (size_t i = 0; i < count; i++) {
        clock_gettime(*(clockid_t *)state, &time);
    }
}

static void system_call(void *state, size_t count)
{
    (void)state;
    for (size_t i = 0; i < count; i++) {
        syscall(SYS_getppid);
    }
}

static void futex_wake(void *state, size_t count)
{
    (void)state;
    for (size_t i = 0; i < count; i++) {
        syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
}

static void malloc_free(void *state, size_t count)
{
    (void)state;
    for (size_t i = 0; i < count; i++) {
        void *volatile memory = malloc(64);
        free(memory);
    }
}

static void run_rmw(struct bench_run *run)
{
    bench_chunks(run, bench_scale(run, 50000000), locked_rmw, NULL);
}

static void run_mutex(struct bench_run *run)
{
    bench_chunks(run, bench_scale(run, 50000000), mutex_pair, NULL);
}

static void run_clock(struct bench_run *run)
{
    clockid_t clock = CLOCK_MONOTONIC;
    bench_chunks(run, bench_scale(run, 10000000), clock_read, &clock);
}

static void run_coarse(struct bench_run *run)
{
    clockid_t clock = CLOCK_MONOTONIC_COARSE;
    bench_chunks(run, bench_scale(run, 20000000), clock_read, &clock);
}

static void run_syscall(struct bench_run *run)
{
    bench_chunks(run, bench_scale(run, 1000000), system_call, NULL);
}

static void run_futex_wake(struct bench_run *run)
{
    bench_chunks(run, bench_scale(run, 1000000), futex_wake, NULL);
}

static void run_malloc(struct bench_run *run)
{
    bench_chunks(run, bench_scale(run, 20000000), malloc_free, NULL);
}

const struct bench_measurement bench_machine[] = {
    {"machine", "locked-rmw", run_rmw, 0, 0},
    {"machine", "mutex-pair", run_mutex, 0, 0},
    {"machine", "clock-monotonic", run_clock, 0, 0},
    {"machine", "clock-coarse", run_coarse, 0, 0},
    {"machine", "syscall", run_syscall, 0, 0},
    {"machine", "futex-wake-nobody", run_futex_wake, 0, 0},
    {"machine", "malloc-free-64", run_malloc, 0, 0},
    {0},
};

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/support/bench.h"

void bench_metric(struct bench_run *run, const char *name, double value)
{
    BENCH_CHECK(run->metric_count < sizeof(run->metrics) / sizeof(run->metrics[0]));
    run->metrics[run->metric_count].name = name;
    run->metrics[run->metric_count].value = value;
    run->metric_count++;
}

void bench_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    _Exit(1);
}

static int64_t read_clock(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int64_t bench_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t bench_cpu(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

void bench_sleep(int64_t ns)
{
    struct timespec left = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) != 0) {
    }
}

void bench_span(struct bench_run *run, int64_t start_ns, size_t count)
{
    bench_metric(run, "ns", (double)(bench_now() - start_ns) / (double)count);
}

void bench_parts(struct bench_run *run, size_t total, void (*body)(void *state, size_t count),
                 void *state)
{
    double times[BENCH_PARTS];
    size_t count = total / BENCH_PARTS;
    body(state, count);
    for (size_t i = 0; i < BENCH_PARTS; i++) {
        int64_t start = bench_now();
        body(state, count);
        times[i] = (double)(bench_now() - start) / (double)count;
    }
    bench_metric(run, "ns", bench_quantile(times, BENCH_PARTS, 0.5));
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_quantile(double *values, size_t count, double q)
{
    qsort(values, count, sizeof(*values), ascending);
    return values[(size_t)(q * (double)count)];
}

void *bench_alloc(size_t count, size_t size)
{
    size_t bytes = (count * size + 63) / 64 * 64;
    void *memory = aligned_alloc(64, bytes);
    if (memory == NULL) {
        bench_fail("out of memory");
    }
    return memset(memory, 0, bytes);
}

uint64_t bench_random(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * UINT64_C(2685821657736338717);
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* madvise */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "bench/support/run.h"

const struct bench_measurement *bench_measurement(const struct bench_run *run)
{
    return run->measurement;
}

bool bench_is(const struct bench_run *run, unsigned flag)
{
    return (run->measurement->flags & flag) != 0;
}

size_t bench_scale(const struct bench_run *run, size_t count)
{
    return run->quick ? count / 5 : count;
}

void bench_metric(struct bench_run *run, const char *name, double value)
{
    BENCH_CHECK(run->metric_count < BENCH_METRICS);
    run->metrics[run->metric_count++] = (struct bench_metric){name, value};
}

void bench_items(struct bench_run *run, size_t count)
{
    run->items = count;
}

void bench_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
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

int64_t bench_switches(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw + usage.ru_nivcsw;
}

double bench_clock_cost(void)
{
    double costs[1001];
    for (size_t i = 0; i < 1001; i++) {
        int64_t start = bench_now();
        costs[i] = (double)(bench_now() - start);
    }
    return bench_quantile(costs, 1001, 0.5);
}

void bench_span_start(struct bench_span *span)
{
    span->switches = bench_switches();
    span->cpu_ns = bench_cpu();
    span->start_ns = bench_now();
}

void bench_span_end(struct bench_run *run, const struct bench_span *span, size_t items)
{
    double count = (double)items;
    bench_metric(run, "ns", (double)(bench_now() - span->start_ns) / count);
    int64_t cpu = bench_cpu() - span->cpu_ns;
    bench_metric(run, "cpu_ns", (double)cpu / count);
    bench_metric(run, "switches", (double)(bench_switches() - span->switches) / count);
    run->items = items;
}

void bench_chunks(struct bench_run *run, size_t total, void (*body)(void *state, size_t count),
                  void *state)
{
    double times[BENCH_CHUNKS];
    size_t count = total / BENCH_CHUNKS;
    body(state, count);
    int64_t cpu = bench_cpu();
    for (size_t i = 0; i < BENCH_CHUNKS; i++) {
        int64_t start = bench_now();
        body(state, count);
        times[i] = (double)(bench_now() - start) / (double)count;
    }
    cpu = bench_cpu() - cpu;
    run->items = count * BENCH_CHUNKS;
    bench_metric(run, "ns", bench_quantile(times, BENCH_CHUNKS, 0.5));
    bench_metric(run, "cpu_ns", (double)cpu / (double)run->items);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_quantile(double *values, size_t count, double q)
{
    BENCH_CHECK(count > 0);
    qsort(values, count, sizeof(*values), ascending);
    size_t at = (size_t)(q * (double)count);
    return values[at < count ? at : count - 1];
}

void bench_latencies(struct bench_run *run, double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += values[i];
    }
    run->items = count;
    bench_metric(run, "ns", sum / (double)count);
    bench_metric(run, "p50_ns", bench_quantile(values, count, 0.5));
    bench_metric(run, "p99_ns", bench_quantile(values, count, 0.99));
    bench_metric(run, "max_ns", values[count - 1]);
}

static void *touch(void *memory, size_t size)
{
    if (memory == NULL) {
        bench_fail("out of memory");
    }
    for (size_t at = 0; at < size; at += 4096) {
        ((volatile char *)memory)[at] = 0;
    }
    return memory;
}

void *bench_alloc(size_t count, size_t size)
{
    return touch(calloc(count, size), count * size);
}

void *bench_alloc_huge(size_t count, size_t size)
{
    const size_t page = (size_t)2 << 20;
    if (count * size < page) {
        return bench_alloc(count, size);
    }
    size_t total = (count * size + page - 1) & ~(page - 1);
    void *memory = aligned_alloc(page, total);
    if (memory != NULL) {
        (void)madvise(memory, total, MADV_HUGEPAGE);
        memset(memory, 0, total);
    }
    return touch(memory, total);
}

void bench_free(void *memory)
{
    free(memory);
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

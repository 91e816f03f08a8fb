/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_BENCH_H
#define WEIR_BENCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The benchmark harness. A workload is a task with a figure; a subject is who does it: weir, one of
 * its peers, or the bare machine. Each sample is taken in a process of its own, so that neither
 * heap nor page cache of one decides the next; rounds are interleaved (A B C A B C …). A sample
 * that does not hand out exactly the items it put in ends with a message and no figure. README.md
 * has the method. */

/* A sample being taken. */
struct bench_run;

/* What a measurement does: work, and bench_chunks() or bench_metric() to report it. */
typedef void bench_fn(struct bench_run *run);

/* Flags of a measurement. */
enum {
    BENCH_FULL = 1,     /* Takes long: left out of quick runs. */
    BENCH_EMBEDDED = 2, /* Items are embedded nodes; else named by bytes. */
    BENCH_FUSED = 4,    /* done and get in one call. */
    BENCH_BATCH = 8,    /* Batch calls of BENCH_BATCH_SIZE items. */
    BENCH_HUGE = 16,    /* Embedded items lie in huge pages, where the system has them. */
};

#define BENCH_BATCH_SIZE 32
#define BENCH_HOT_KEYS 100

struct bench_measurement {
    const char *workload;
    const char *subject;
    bench_fn *run;
    size_t size; /* The workload's own: depth, count of items, threads a side. */
    unsigned flags;
};

/* Runs the command line: what main() of a benchmark program calls. tables end in NULL, each table
 * in a measurement without a workload; missing names what was left out of the build, ending in
 * NULL.
 */
int bench_main(int argc, char **argv, const struct bench_measurement *const *tables,
               const char *const *missing);

/* About the sample. */
const struct bench_measurement *bench_measurement(const struct bench_run *run);
bool bench_is(const struct bench_run *run, unsigned flag);
/* count, or a fifth of it in quick runs. */
size_t bench_scale(const struct bench_run *run, size_t count);

/* Reports a figure; smaller is better for all of them. Names are literals. */
void bench_metric(struct bench_run *run, const char *name, double value);
/* Says how many items the figures are of. */
void bench_items(struct bench_run *run, size_t count);

/* Single-threaded work: body does count items, once to warm up and then BENCH_CHUNKS times. Reports
 * "ns" of the median part, so that one preemption does not decide, and "cpu_ns". */
#define BENCH_CHUNKS 11
void bench_chunks(struct bench_run *run, size_t total, void (*body)(void *state, size_t count),
                  void *state);

/* Work of several threads or in several phases: reports "ns", "cpu_ns" and "switches" (context
 * switches) per item of what happened between the two calls. */
struct bench_span {
    int64_t start_ns;
    int64_t cpu_ns;
    int64_t switches;
};
void bench_span_start(struct bench_span *span);
void bench_span_end(struct bench_run *run, const struct bench_span *span, size_t items);

/* Ends the sample as failed, without a figure. */
void bench_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
#define BENCH_CHECK(condition)                                                                     \
    ((condition) ? (void)0 : bench_fail("%s:%d: not true: %s", __FILE__, __LINE__, #condition))
/* Both are counts of items. */
#define BENCH_CHECK_COUNT(got, expected)                                                           \
    ((got) == (expected) ? (void)0                                                                 \
                         : bench_fail("%s:%d: %zu items, expected %zu", __FILE__, __LINE__,        \
                                      (size_t)(got), (size_t)(expected)))

/* The time of CLOCK_MONOTONIC. */
int64_t bench_now(void);
/* Processor time that this process has used. */
int64_t bench_cpu(void);
/* Sleeps for at least ns. */
void bench_sleep(int64_t ns);
/* What two readings of the clock cost by themselves: the median. */
double bench_clock_cost(void);

/* Sorts values and returns the one that a share q of them does not exceed. */
double bench_quantile(double *values, size_t count, double q);
/* Reports lateness or latency: the mean as "ns", and "p50_ns", "p99_ns", "max_ns". */
void bench_latencies(struct bench_run *run, double *values, size_t count);

/* As calloc and free; ends the sample when there is no memory. Memory is touched, so that page
 * faults do not fall into the measured part. */
void *bench_alloc(size_t count, size_t size);
/* The same in huge pages, as far as it fills some and the system has them. */
void *bench_alloc_huge(size_t count, size_t size);
void bench_free(void *memory);

/* xorshift64*: the same numbers as the peers in Go use. state must not be 0. */
uint64_t bench_random(uint64_t *state);

/* Threads. run is called with each of count numbers from 0; when pinned, thread i on processor
 * i mod their count. */
struct bench_crowd;
struct bench_crowd *bench_crowd_start(struct bench_run *run, size_t count,
                                      void (*body)(void *state, size_t number), void *state);
/* Waits for all; frees the crowd. */
void bench_crowd_join(struct bench_crowd *crowd);
/* Ties the calling thread to a processor (number mod their count). */
void bench_pin(size_t number);
/* Counts the context switches of this process (getrusage), or of one thread of it. */
int64_t bench_switches(void);
int64_t bench_thread_switches(long tid);
long bench_thread_id(void);

#ifdef __cplusplus
}
#endif

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_BENCH_H
#define WEIR_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One process takes one sample: a subject (weir or a peer) does a workload once and reports its
 * figures. So the heap and the caches of one sample do not change the next. A sample that does not
 * hand out exactly the items it put in ends with a message and without a figure. */

/* Flags of a measurement. */
enum {
    BENCH_EMBEDDED = 1, /* Items are embedded nodes; otherwise keys of bytes. */
    BENCH_FUSED = 2,    /* One call does done and get. */
    BENCH_BATCH = 4,    /* Batch calls of BENCH_BATCH_SIZE items. */
};

/* Counts that several subjects of a workload share. The peers in Go have the same. */
#define BENCH_BATCH_SIZE 32
#define BENCH_HOT_KEYS 100
#define BENCH_HAND_OVERS 2000000
#define BENCH_DELAYS 500
#define BENCH_IDLE_ADDS 3000
#define BENCH_POOL_TASKS 500000

struct bench_run;

struct bench_measurement {
    const char *name; /* "WORKLOAD/SUBJECT", as in targets.json. */
    void (*take)(struct bench_run *run);
    size_t size; /* The workload's own: count of items or of threads. */
    unsigned flags;
};

/* A sample while it is taken. */
struct bench_run {
    size_t size;
    unsigned flags;
    size_t metric_count;
    struct {
        const char *name;
        double value;
    } metrics[4];
};

/* The measurements of each file. A table ends with a measurement without a name. */
extern const struct bench_measurement bench_cancel[];
extern const struct bench_measurement bench_cluster[];
extern const struct bench_measurement bench_cycles[];
extern const struct bench_measurement bench_delays[];
extern const struct bench_measurement bench_due[];
extern const struct bench_measurement bench_growth[];
extern const struct bench_measurement bench_looks[];
extern const struct bench_measurement bench_futex[];
extern const struct bench_measurement bench_glib[];
extern const struct bench_measurement bench_hand_over[];
extern const struct bench_measurement bench_libuv[];
extern const struct bench_measurement bench_memory[];
extern const struct bench_measurement bench_named[];
extern const struct bench_measurement bench_one_put[];
extern const struct bench_measurement bench_pages[];
extern const struct bench_measurement bench_parallel[];
extern const struct bench_measurement bench_pending[];
extern const struct bench_measurement bench_periodic[];
extern const struct bench_measurement bench_pool[];
extern const struct bench_measurement bench_processor[];
extern const struct bench_measurement bench_servers[];
extern const struct bench_measurement bench_sleepers[];
extern const struct bench_measurement bench_store[];
extern const struct bench_measurement bench_storms[];
extern const struct bench_measurement bench_wakes[];

/* Reports a figure. name is a literal. */
void bench_metric(struct bench_run *run, const char *name, double value);
/* Reports "ns": the time since start_ns for each of count items. */
void bench_span(struct bench_run *run, int64_t start_ns, size_t count);
/* Calls body(state, total / BENCH_PARTS) once to warm up and BENCH_PARTS times more. Reports "ns":
 * the time for an item in the median part, so that one preemption does not change it. */
#define BENCH_PARTS 11
void bench_parts(struct bench_run *run, size_t total, void (*body)(void *state, size_t count),
                 void *state);
/* Sorts values and returns the quantile q of them. */
double bench_quantile(double *values, size_t count, double q);

/* Ends the sample without a figure. */
void bench_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
#define BENCH_CHECK(condition)                                                                     \
    ((condition) ? (void)0 : bench_fail("%s:%d: not true: %s", __FILE__, __LINE__, #condition))
/* Fails the sample unless two counts of items are equal. */
#define BENCH_CHECK_COUNT(got, expected)                                                           \
    ((got) == (expected) ? (void)0                                                                 \
                         : bench_fail("%s:%d: %zu items, expected %zu", __FILE__, __LINE__,        \
                                      (size_t)(got), (size_t)(expected)))
/* Fails the sample unless the call of weir returns WEIR_OK. */
#define BENCH_OK(call)                                                                             \
    do {                                                                                           \
        int status_ = (int)(call);                                                                 \
        if (status_ != WEIR_OK) {                                                                  \
            bench_fail("%s:%d: %s: %s", __FILE__, __LINE__, #call, weir_status_name(status_));     \
        }                                                                                          \
    } while (0)

/* The time of CLOCK_MONOTONIC. */
int64_t bench_now(void);
/* The processor time that this process has used. */
int64_t bench_cpu(void);
void bench_sleep(int64_t ns);

/* Returns zeroed memory, aligned to a cache line, or ends the sample. All of it has been written
 * to, so that no page fault falls into the measured part. Ends with free(). */
void *bench_alloc(size_t count, size_t size);

/* xorshift64*: the peers in Go use the same numbers. state must not be 0. */
uint64_t bench_random(uint64_t *state);

/* Starts count threads, which call body with the numbers from 0. */
struct bench_threads;
struct bench_threads *bench_threads_start(size_t count, void (*body)(void *state, size_t number),
                                          void *state);
/* Waits until all have ended, and frees threads. */
void bench_threads_join(struct bench_threads *threads);
/* Ties the calling thread to a processor (number modulo their count). */
void bench_pin(size_t number);

#endif

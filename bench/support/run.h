/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_BENCH_RUN_H
#define WEIR_BENCH_RUN_H

#include "bench/support/bench.h"

/* The inside of a sample, for the harness only. Plain data: it crosses a pipe between a process and
 * its child, which is a copy of it, so that the pointers stay valid. */

#define BENCH_METRICS 12

struct bench_metric {
    const char *name;
    double value;
};

struct bench_run {
    const struct bench_measurement *measurement;
    struct bench_metric metrics[BENCH_METRICS];
    size_t metric_count;
    size_t items;
    bool quick;
    bool pin;
};

/* Starts a thread that sleeps as long as the process lives. Every sample has one: libc takes short
 * cuts in a process that never had a second thread, and nobody needs a queue in such a process. */
void bench_keep_company(void);

/* Prints a sample as one line of JSON. */
void bench_print_json(const struct bench_run *run, size_t round);

/* Gathers the samples of one workload and prints them as a table, with the ratio of each subject's
 * median to weir's. */
struct bench_table;
struct bench_table *bench_table_new(void);
void bench_table_free(struct bench_table *table);
void bench_table_put(struct bench_table *table, const struct bench_run *run);
/* Prints, and empties the table. */
void bench_table_print(struct bench_table *table);

#endif

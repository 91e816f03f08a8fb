/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_BENCH_JOBS_H
#define WEIR_BENCH_JOBS_H

#include "bench/support/bench.h"

/* What the workloads of jobs share. The peer in Go has the same counts. */
#define BENCH_JOBS_BODY 200
#define BENCH_JOBS_PUTS 12800
#define BENCH_JOBS_RUNS 10000
#define BENCH_JOBS_BATCH 100
#define BENCH_STORE_PUTS 3200

/* The value of the environment's WEIR_BENCH_<name>, or ends the sample. */
const char *bench_jobs_setting(const char *name);

/* A connection to HOST:PORT. */
int bench_jobs_connect(const char *address, size_t size);

/* The scripts that Redis has been asked to run since its start: each claim is one. */
double bench_jobs_redis_scripts(void);

#endif

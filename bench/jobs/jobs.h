/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_BENCH_JOBS_H
#define WEIR_BENCH_JOBS_H

#include <stdatomic.h>

#include <weir/jobs.h>

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

/* The store of the sample's folder; options: what follows its path in the URL. */
weir_broker *bench_jobs_open(const char *options);

/* A weir_job_fn; arg: a size_t, which counts the jobs. */
int bench_jobs_count(const struct weir_job *job, void *arg);

/* Starts a consumer of the tube "bench" with one worker. */
weir_consumer *bench_jobs_start(weir_broker *broker, weir_handler_fn *handler, void *arg);

/* When runs began. */
struct bench_jobs_runs {
    size_t last; /* the number, from 0, of that which last_ns is of */
    atomic_size_t count;
    _Atomic(int64_t) first_ns;
    _Atomic(int64_t) last_ns; /* 0: not yet */
};

/* A handler; arg: struct bench_jobs_runs. */
int bench_jobs_note_run(weir_context *context, const struct weir_job *job, void *arg);
/* Waits for last_ns. */
void bench_jobs_await(const struct bench_jobs_runs *runs);

#endif

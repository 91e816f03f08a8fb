/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_HANDLER_H
#define WEIRI_CLI_HANDLER_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <weir/consumer.h>

#include "cli/resident.h"

/* A job's handler that is a program. Its exit status determines the next action for the job. */

struct handler {
    char *path;          /* Of the program. */
    char **argv;         /* Its words, NULL at the end. */
    bool verbose;        /* Report every failed run. */
    bool bury[256];      /* Exit statuses after which a job is buried. */
    int64_t deadline_ns; /* Of a run; 0: none. */
    int64_t grace_ns;
    struct residents residents;
    const sigset_t *mask;
    const char *broker;      /* URL, for the program. */
    weir_consumer *consumer; /* Ended when the program cannot be run any more. */
    atomic_int broken;       /* Why it cannot: an errno; 0 while it can. */
    atomic_int lacking;      /* The last shortage that was reported: an errno. */
};

/* Reads `1,3,64-78`. Returns 0 or an exit status, after saying why. */
int handler_read_statuses(const char *name, const char *text, struct handler *handler);

/* Reads `lines` or `frames`. The same. */
int handler_read_mode(const char *name, const char *text, struct handler *handler);

/* Runs the program for a job, on any thread. Returns the status for the consumer. */
int handler_run(struct handler *handler, weir_context *context, const struct weir_job *job);

/* Reports a failed run on standard error. */
void handler_report(const struct handler *handler, const struct weir_job *job,
                    enum weir_run_outcome outcome, int status, int64_t delay_ns);

#endif

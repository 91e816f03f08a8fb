/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_MONITOR_H
#define WEIRI_CLI_MONITOR_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "cli/worker.h"

/* Beside the workers of `weir work`: a thread that takes the signals and shows progress. There are
 * no signal handlers: the signals are blocked in all threads and read from a descriptor. */

struct monitor {
    struct worker *worker;
    weir_broker *broker;
    bool progress; /* Show the progress. */
    bool terminal; /* Standard error is one. */

    /* Signals that asked for an end; relaxed, since it orders nothing. */
    atomic_uint stops;

    int signals; /* Descriptor of the signals. */
    int end;     /* Descriptor that ends the monitor. */
    pthread_t thread;
};

/* Blocks SIGINT, SIGTERM, SIGHUP and SIGPIPE in this thread and those it starts; ret_mask receives
 * the mask before, for children. Also makes children waitable if our parent ignored SIGCHLD, and
 * lets no message wait for long. */
void monitor_block_signals(sigset_t *ret_mask);

/* Starts the thread; the members up to terminal are set. The first signal asks the worker to end,
 * the next one cancels what runs. On failure there is nothing to stop. */
enum weir_status monitor_start(struct monitor *monitor);

/* Ends it. */
void monitor_stop(struct monitor *monitor);

#endif

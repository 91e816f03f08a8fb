/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_MONITOR_H
#define WEIRI_CLI_MONITOR_H

#include <pthread.h>
#include <stdbool.h>

#include "cli/signals.h"
#include "cli/worker.h"

/* Beside the workers of `weir work`: a thread that takes the signals and shows progress. */

struct monitor {
    struct worker *worker;
    weir_broker *broker;
    bool progress; /* Show the progress. */
    bool terminal; /* Standard error is one. */

    struct signals signals;

    int end; /* Descriptor that ends the monitor. */
    pthread_t thread;
};

/* Starts the thread; the members up to signals are set. The first signal asks the worker to end,
 * the next one cancels what runs. On failure there is nothing to stop. */
enum weir_status monitor_start(struct monitor *monitor);

/* Ends it. */
void monitor_stop(struct monitor *monitor);

#endif

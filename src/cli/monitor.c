/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/monitor.h"

#include <inttypes.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <weir/clock.h>

#include "cli/report.h"

/* The time between two updates of the progress on a terminal, and between lines elsewhere. */
#define TERMINAL_MS 250
#define LINES_MS 1000

static int add_counts(const struct weir_tube_counts *counts, void *arg)
{
    struct weir_tube_counts *sum = arg;
    sum->ready += counts->ready;
    sum->delayed += counts->delayed;
    sum->buried += counts->buried;
    return 0;
}

static void show_progress(const struct monitor *monitor)
{
    const struct tally *tally = &monitor->worker->tally;
    const struct work_tubes *tubes = &monitor->worker->tubes;
    struct weir_tube_counts counts = {.ready = 0};
    for (size_t i = 0; i < tubes->count; i++) {
        if (weir_broker_tubes(monitor->broker, tubes->all[i].tube, add_counts, &counts, NULL) !=
            WEIR_OK) {
            return;
        }
    }
    report_progress(monitor->terminal,
                    "%s: %" PRIuFAST64 " done (%.0f/s), %" PRIuFAST64 " running, %" PRIu64
                    " ready, %" PRIu64 " delayed, %" PRIuFAST64 " retries, %" PRIu64 " buried",
                    tubes->label, atomic_load(&tally->done), tally_rate(tally),
                    atomic_load(&tally->running), counts.ready, counts.delayed,
                    atomic_load(&tally->retried), counts.buried);
}

static void take_signal(struct monitor *monitor)
{
    int number = signals_read(&monitor->signals);
    if (number == 0 ||
        !signals_count(&monitor->signals, number, weir_clock_now(weir_clock_monotonic()))) {
        return;
    }
    unsigned stops = monitor->signals.stops;
    uint_fast64_t running = atomic_load(&monitor->worker->tally.running);
    worker_stop(monitor->worker, stops > 1);
    if (stops == 1) {
        (void)report(0,
                     "stopping; %" PRIuFAST64 " running jobs go on to their end, or are ended by "
                     "one more signal",
                     running);
    } else if (stops == 2) {
        (void)report(0, "ending %" PRIuFAST64 " running jobs", running);
    }
}

static void *watch(void *arg)
{
    struct monitor *monitor = arg;
    int timeout = !monitor->progress ? -1 : monitor->terminal ? TERMINAL_MS : LINES_MS;
    struct pollfd pollers[] = {{.fd = monitor->signals.fd, .events = POLLIN},
                               {.fd = monitor->end, .events = POLLIN}};
    while (pollers[1].revents == 0) {
        int count = poll(pollers, 2, timeout);
        if (count > 0 && pollers[0].revents != 0) {
            take_signal(monitor);
        }
        if (count == 0) {
            show_progress(monitor);
        }
    }
    return NULL;
}

enum weir_status monitor_start(struct monitor *monitor)
{
    monitor->end = eventfd(0, EFD_CLOEXEC);
    if (monitor->signals.fd < 0 || monitor->end < 0) {
        return WEIR_EIO;
    }
    return pthread_create(&monitor->thread, NULL, watch, monitor) == 0 ? WEIR_OK : WEIR_ETHREAD;
}

void monitor_stop(struct monitor *monitor)
{
    (void)eventfd_write(monitor->end, 1);
    (void)pthread_join(monitor->thread, NULL);
    report_progress_end();
}

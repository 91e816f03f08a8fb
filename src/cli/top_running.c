/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/top_running.h"

#include <inttypes.h>
#include <stdio.h>

#include <weir/duration.h>

#define WIDTH 57 /* Of all columns but the first. */

static int add(const struct weir_job *job, void *arg)
{
    struct top_running *running = arg;
    size_t i = running->count;
    if (i == TOP_RUNNING_MAX) {
        return 1;
    }
    (void)snprintf(running->rows[i].tube, sizeof(running->rows[i].tube), "%s", job->tube);
    (void)snprintf(running->rows[i].id, sizeof(running->rows[i].id), "%.31s", job->id);
    running->rows[i].attempt = job->attempts;
    running->rows[i].progress = job->progress;
    running->rows[i].owner = job->owner;
    running->rows[i].started_ns = job->started_ns;
    running->count++;
    return 0;
}

void top_running_read(struct top_running *running, weir_broker *broker,
                      const struct top_sample *view)
{
    running->count = 0;
    for (size_t i = 0; i < view->count && running->count < TOP_RUNNING_MAX; i++) {
        if (view->rows[i].counts.reserved > 0) {
            /* A tube that cannot be read has no rows; the counts' reading has said why. */
            const struct weir_job_filter first = {.tube = view->rows[i].counts.tube,
                                                  .state = WEIR_JOB_RESERVED,
                                                  .first = TOP_RUNNING_MAX - running->count,
                                                  .no_bodies = 1};
            (void)!weir_broker_list(broker, &first, add, running, NULL);
        }
    }
}

void top_running_line(const struct top_running *running, int i, int screen, int64_t now_ns,
                      char *line, size_t size)
{
    int width = screen - WIDTH > 8 ? screen - WIDTH : 8;
    if (i < 0) {
        (void)snprintf(line, size, "%-*.*s %12s %7s %9s %10s  %s", width, width, "TUBE", "ID",
                       "ATTEMPT", "PROCESS", "FOR", "PROGRESS");
        return;
    }
    char process[24] = "";
    char elapsed[32] = "";
    char progress[32] = "";
    int64_t run_ns = now_ns - running->rows[i].started_ns;
    if (running->rows[i].owner > 0) {
        (void)snprintf(process, sizeof(process), "%" PRId64, running->rows[i].owner);
    }
    if (running->rows[i].started_ns > 0 && run_ns >= 0) {
        (void)weir_duration_format(run_ns - run_ns % WEIR_SECONDS(1), elapsed, sizeof(elapsed));
    }
    if (running->rows[i].progress >= 0) {
        (void)snprintf(progress, sizeof(progress), "%" PRId32 " %%", running->rows[i].progress);
    }
    (void)snprintf(line, size, "%-*.*s %12s %7" PRIu32 " %9s %10s  %s", width, width,
                   running->rows[i].tube, running->rows[i].id, running->rows[i].attempt, process,
                   elapsed, progress);
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "metrics/pool_families.h"

#include <stddef.h>

#include "metrics/families.h"

static const char *const ends[WEIRI_RUN_ENDS] = {
    [WEIRI_RUN_SUCCEEDED] = "success", [WEIRI_RUN_FAILED] = "error",
    [WEIRI_RUN_PANICKED] = "panic",    [WEIRI_RUN_TIMED_OUT] = "timeout",
    [WEIRI_RUN_CANCELED] = "canceled", [WEIRI_RUN_STOPPED] = "stop",
};

static void capacity(struct weiri_text *text, const char *family,
                     const struct weiri_named_sample *named)
{
    if (named->sample.pool.capacity != 0) {
        weiri_line_count(text, family, named->name, NULL, named->sample.pool.capacity);
    } else {
        weiri_line_begin(text, family, "", named->name, NULL);
        weiri_text_add(text, "+Inf\n");
    }
}

static void runs(struct weiri_text *text, const char *family,
                 const struct weiri_named_sample *named)
{
    for (size_t i = 0; i < WEIRI_RUN_ENDS; i++) {
        struct weiri_label outcome = {"outcome", ends[i]};
        weiri_line_count(text, family, named->name, &outcome, named->sample.pool.runs[i]);
    }
}

/* In order of the names. */
static const struct weiri_family families[] = {
    {"weir_pool_capacity", "Most envelopes that the pool may hold; +Inf where there is no limit.",
     "gauge", capacity, 0},
    {"weir_pool_dropped_total",
     "Runs that were asked for and not made: dropped by a stop, a drain or a cancellation.",
     "counter", NULL, offsetof(struct weiri_pool_sample, dropped)},
    {"weir_pool_exhausted_total",
     "Retries that were asked for and forbidden by the envelope's most attempts.", "counter", NULL,
     offsetof(struct weiri_pool_sample, exhausted)},
    {"weir_pool_hook_errors_total", "Before and after hooks that ended with an error.", "counter",
     NULL, offsetof(struct weiri_pool_sample, hook_errors)},
    {"weir_pool_in_flight",
     "Envelopes that the pool holds: queued, waiting or running, each counted once.", "gauge", NULL,
     offsetof(struct weiri_pool_sample, in_flight)},
    {"weir_pool_late_runs_total", "Runs that succeeded after their deadline.", "counter", NULL,
     offsetof(struct weiri_pool_sample, late)},
    {"weir_pool_overdue_runs_total",
     "Runs that the watchdog told of, since they went on past their time limit.", "counter", NULL,
     offsetof(struct weiri_pool_sample, overdue)},
    {"weir_pool_retries_total", "Retries that failure hooks asked for and that were made.",
     "counter", NULL, offsetof(struct weiri_pool_sample, retries)},
    {"weir_pool_running", "Envelopes that are being run.", "gauge", NULL,
     offsetof(struct weiri_pool_sample, running)},
    {"weir_pool_runs_total", "Runs that ended, by how they ended.", "counter", runs, 0},
    {"weir_pool_skipped_firings_total", "Firings of periodic envelopes that their policy left out.",
     "counter", NULL, offsetof(struct weiri_pool_sample, skipped)},
    {"weir_pool_workers", "Threads that run envelopes.", "gauge", NULL,
     offsetof(struct weiri_pool_sample, workers)},
};

void weiri_pool_families_write(struct weiri_text *text, const struct weiri_named_sample *samples,
                               size_t count)
{
    weiri_families_write(text, families, sizeof(families) / sizeof(families[0]), samples, count);
}

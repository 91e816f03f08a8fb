/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_HTTP_SAMPLES_H
#define WEIRI_HTTP_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include <weir/broker.h>

/* Counts over time, kept in memory: of all tubes together for the last minutes, hour and day, and
 * of each tube for the last hour. So a page has something to draw without a Prometheus.
 * Thread-safe. */
struct samples;

/* The most tubes that have samples of their own. Further ones are in the sum alone. */
#define SAMPLES_TUBES_MAX 256

/* NULL: out of memory. */
struct samples *samples_new(void);
void samples_free(struct samples *samples);

/* Adds what the tubes have at a time. A tube that is not among them any more keeps its samples. */
void samples_add(struct samples *samples, int64_t now_ns, const struct weir_tube_counts *tubes,
                 size_t count);

/* Resolutions of the sum of all tubes. */
enum samples_step {
    SAMPLES_SECOND,  /* Each second, for six minutes. */
    SAMPLES_TEN,     /* Each ten seconds, for an hour. */
    SAMPLES_MINUTES, /* Each five minutes, for thirty hours. */
    SAMPLES_STEPS
};

/* The samples as columns: {"step": seconds, "at": [...], "delayed": [...], ...}, the oldest first,
 * at in Unix seconds. tube: NULL: of all tubes together; else step is not asked. Returns owned;
 * NULL: out of memory. *ret_known: whether the tube has samples. */
json_t *samples_json(struct samples *samples, const char *tube, enum samples_step step,
                     bool *ret_known);

#endif

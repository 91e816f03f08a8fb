/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_HTTP_SAMPLER_H
#define WEIRI_HTTP_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "http/events.h"
#include "http/samples.h"
#include "http/tubes.h"

/* Reads the counts again and again: each reading is a sample, and what has changed an event. */
struct sampler {
    struct readings *readings;
    struct samples *samples;
    struct events *events;
    struct tubes tubes; /* The last reading, to be freed. */
    bool failed;        /* The last reading did. */
    int64_t next_ns;    /* Not before; of the monotonic clock. */
};

/* Reads once, if it is time: at least 50 times as long after the last reading as that took. */
void sampler_run(struct sampler *sampler);

/* The event of what has changed, both in order of names; NULL: nothing, or no memory. To be freed.
 */
char *sampler_event(const struct tubes *before, const struct tubes *after);

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SAMPLE_H
#define WEIRI_SAMPLE_H

#include <stdint.h>

#include "metrics/histogram.h"

/* The numbers of sources at one moment. */

struct weiri_queue_sample {
    struct weiri_histogram queue_duration;
    struct weiri_histogram work_duration;
    weiri_wide unfinished_ns;
    int64_t longest_ns;
    uint64_t depth;
    uint64_t adds;
    uint64_t retries;
};

/* How a run can end, and why one is not made: each a label's value (metrics/pool_families.c). */
enum weiri_run_end {
    WEIRI_RUN_SUCCEEDED,
    WEIRI_RUN_FAILED,
    WEIRI_RUN_PANICKED,
    WEIRI_RUN_TIMED_OUT,
    WEIRI_RUN_CANCELED,
    WEIRI_RUN_STOPPED,
    WEIRI_RUN_ENDS
};

struct weiri_pool_sample {
    uint64_t workers;
    uint64_t running;
    uint64_t in_flight;
    uint64_t capacity; /* 0: no limit */
    uint64_t runs[WEIRI_RUN_ENDS];
    uint64_t late;
    uint64_t retries;
    uint64_t exhausted;
    uint64_t hook_errors;
    uint64_t skipped;
    uint64_t dropped;
    uint64_t overdue;
};

union weiri_sample {
    struct weiri_queue_sample queue;
    struct weiri_pool_sample pool;
};

/* A sample with its source's name. */
struct weiri_named_sample {
    const char *name;
    union weiri_sample sample;
};

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_TALLY_H
#define WEIRI_CLI_TALLY_H

#include <stdatomic.h>
#include <stdint.h>

#include <weir/consumer.h>

#include "cli/histogram.h"

/* The counts of `weir work` so far. Written by its workers and read by the main thread, without
 * locks: no counter depends on another. */
struct tally {
    /* Of weir_clock_monotonic(); set before the workers start, and after they have ended; until
     * then the end is now. */
    int64_t started_ns;
    _Atomic int64_t ended_ns;
    atomic_uint_fast64_t running;
    atomic_uint_fast64_t done;
    atomic_uint_fast64_t retried;
    atomic_uint_fast64_t buried;
    atomic_uint_fast64_t lost;
    struct histogram run_ns;
};

/* Counts a run that has ended. */
void tally_add(struct tally *tally, enum weir_run_outcome outcome, int64_t run_ns);

/* Seconds from the start to the end, and jobs done in one of them. */
double tally_seconds(const struct tally *tally);
double tally_rate(const struct tally *tally);

/* Reports the totals on standard error. */
void tally_report(const struct tally *tally, const char *tube);

/* Writes the totals as one object in a line to a file (NULL: standard output). Returns 0 or an exit
 * status, after saying why. */
int tally_write(const struct tally *tally, const char *tube, const char *path);

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_HISTOGRAM_H
#define WEIRI_CLI_HISTOGRAM_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Counts of durations in buckets that grow with the value, as HdrHistogram has them: exact below
 * 2^HISTOGRAM_BITS nanoseconds, above it each power of two is split into that many buckets, so that
 * a value read is at most 1/2^HISTOGRAM_BITS (0.8 %) above the one recorded, from a nanosecond to
 * 292 years, in a fixed 58 KiB.
 *
 * Recording is lock-free and may go on during reads. A reader then sees a part of it. */

#define HISTOGRAM_BITS 7
#define HISTOGRAM_BUCKETS ((size_t)(64 - HISTOGRAM_BITS) << HISTOGRAM_BITS)

struct histogram {
    /* All relaxed: the counts order nothing else. */
    atomic_uint_fast64_t counts[HISTOGRAM_BUCKETS];
    atomic_int_fast64_t largest;
};

/* A histogram of zero bytes is empty. A value below zero counts as zero. */
void histogram_record(struct histogram *histogram, int64_t value);

uint64_t histogram_count(const struct histogram *histogram);

/* The least value that is not exceeded by `parts` in a thousand (0 to 1000) of the recorded values;
 * 0 if there are none. */
int64_t histogram_permille(const struct histogram *histogram, unsigned parts);

#endif

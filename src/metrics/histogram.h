/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_HISTOGRAM_H
#define WEIRI_HISTOGRAM_H

#include <stdint.h>

/* Sums of nanoseconds: a million items that wait for five hours fill 64 bits. */
__extension__ typedef unsigned __int128 weiri_wide;

/* How long something took, by buckets: Kubernetes' ten and two more. */
#define WEIRI_BUCKETS 12

struct weiri_histogram {
    weiri_wide sum_ns;
    uint64_t counts[WEIRI_BUCKETS + 1]; /* of each bucket alone; the last has no bound */
};

/* The bounds, inclusive, in nanoseconds. Those of Kubernetes are made by multiplying 1e-08 seconds
 * by ten again and again in doubles, where two of them come out a little low: 10 and 100
 * microseconds are above their bounds. */
extern const int64_t weiri_bucket_bounds[WEIRI_BUCKETS];
/* The same as Kubernetes prints them, and "+Inf". */
extern const char *const weiri_bucket_names[WEIRI_BUCKETS + 1];

/* The bucket of a duration, which is not negative. */
unsigned weiri_bucket_of(int64_t duration_ns);

static inline void weiri_histogram_observe(struct weiri_histogram *histogram, int64_t duration_ns)
{
    histogram->sum_ns += (uint64_t)duration_ns;
    histogram->counts[weiri_bucket_of(duration_ns)]++;
}

#endif

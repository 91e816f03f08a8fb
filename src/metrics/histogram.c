/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "metrics/histogram.h"

#include <weir/duration.h>

const int64_t weiri_bucket_bounds[WEIRI_BUCKETS] = {
    10,
    100,
    1000,
    9999,
    99999,
    WEIR_MS(1),
    WEIR_MS(10),
    WEIR_MS(100),
    WEIR_SECONDS(1),
    WEIR_SECONDS(10),
    WEIR_SECONDS(100),
    WEIR_SECONDS(1000),
};

const char *const weiri_bucket_names[WEIRI_BUCKETS + 1] = {
    "1e-08",
    "1e-07",
    "1e-06",
    "9.999999999999999e-06",
    "9.999999999999999e-05",
    "0.001",
    "0.01",
    "0.1",
    "1",
    "10",
    "100",
    "1000",
    "+Inf",
};

/* By the number of binary digits of a duration: the first bucket that can hold it. Each bound is
 * more than twice the one before, so at most one bound lies among the numbers with as many digits.
 * The bucket is therefore this one or the next. */
static const uint8_t first_bucket[65] = {
    0,  0,  0,  0,  0, /* to 15; the bound 10 is among them */
    1,  1,  1,         /* to 127: 100 */
    2,  2,  2,         /* to 1,023: 1,000 */
    3,  3,  3,  3,     /* to 16,383: 9,999 */
    4,  4,  4,         /* to 131,071: 99,999 */
    5,  5,  5,         /* to 1,048,575: 1 ms */
    6,  6,  6,  6,     /* to 16,777,215: 10 ms */
    7,  7,  7,         /* to 134,217,727: 100 ms */
    8,  8,  8,         /* to 1,073,741,823: 1 s */
    9,  9,  9,  9,     /* to 17.2 s: 10 s */
    10, 10, 10,        /* to 137 s: 100 s */
    11, 11, 11,        /* to 1,100 s: 1000 s */
    12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12,
};

unsigned weiri_bucket_of(int64_t duration_ns)
{
    uint64_t duration = (uint64_t)duration_ns;
    unsigned digits = duration == 0 ? 0 : 64u - (unsigned)__builtin_clzll(duration);
    unsigned bucket = first_bucket[digits];
    return bucket < WEIRI_BUCKETS && duration_ns > weiri_bucket_bounds[bucket] ? bucket + 1
                                                                               : bucket;
}

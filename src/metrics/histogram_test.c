/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "metrics/histogram.h"

#include <stdlib.h>

#include "support/harness.h"

/* The bucket as Prometheus' clients find it: seconds as a double, compared with the bounds. */
static unsigned bucket_by_doubles(int64_t duration_ns)
{
    int64_t whole = duration_ns / 1000000000;
    int64_t rest_ns = duration_ns % 1000000000;
    double seconds = (double)whole + (double)rest_ns / 1e9;
    double bound = 10e-9;
    unsigned bucket = 0;
    while (bucket < WEIRI_BUCKETS && seconds > bound) {
        bound *= 10;
        bucket++;
    }
    return bucket;
}

TEST(names, "the bounds are the doubles that their names say")
{
    double bound = 10e-9;
    for (unsigned i = 0; i < WEIRI_BUCKETS; i++) {
        CHECK(strtod(weiri_bucket_names[i], NULL) == bound);
        bound *= 10;
    }
    CHECK_STRING(weiri_bucket_names[WEIRI_BUCKETS], "+Inf");
}

TEST(bounds, "a duration is in the bucket that its seconds as a double say, also next to a bound")
{
    CHECK_INT(weiri_bucket_of(0), ==, 0);
    CHECK_INT(weiri_bucket_of(10), ==, 0);
    CHECK_INT(weiri_bucket_of(10000), ==, 4);
    CHECK_INT(weiri_bucket_of(100000), ==, 5);
    CHECK_INT(weiri_bucket_of(INT64_MAX), ==, WEIRI_BUCKETS);
    for (unsigned i = 0; i < WEIRI_BUCKETS; i++) {
        for (int64_t beside = -3; beside <= 3; beside++) {
            int64_t duration_ns = weiri_bucket_bounds[i] + beside;
            CHECK_INT(weiri_bucket_of(duration_ns), ==, bucket_by_doubles(duration_ns));
        }
    }
    for (unsigned digits = 0; digits < 63; digits++) {
        for (int64_t beside = -1; beside <= 1; beside++) {
            int64_t duration_ns = ((int64_t)1 << digits) + beside;
            CHECK_INT(weiri_bucket_of(duration_ns), ==, bucket_by_doubles(duration_ns));
        }
    }
}

TEST(random_durations, "the same for any duration")
{
    for (unsigned i = 0; i < 100000; i++) {
        int64_t duration_ns = (int64_t)(test_random() >> (1 + test_random_below(63)));
        CHECK_INT(weiri_bucket_of(duration_ns), ==, bucket_by_doubles(duration_ns));
    }
}

TEST(sums, "a sum is exact past 64 bits")
{
    struct weiri_histogram histogram = {0};
    for (int i = 0; i < 4; i++) {
        weiri_histogram_observe(&histogram, INT64_MAX);
    }
    CHECK(histogram.sum_ns == (weiri_wide)INT64_MAX * 4);
    CHECK_INT(histogram.counts[WEIRI_BUCKETS], ==, 4);
}

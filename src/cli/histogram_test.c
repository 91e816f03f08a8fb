/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/histogram.h"

#include <stdlib.h>

#include "support/harness.h"

static struct histogram histogram;

/* No more than 1/128 above the value, and never below it. */
static void check_close(int64_t found, int64_t value)
{
    CHECK_INT(found, >=, value);
    CHECK_INT(found - value, <=, value / 128);
}

TEST(empty, "an empty histogram has no values and every share of it is 0")
{
    CHECK_INT(histogram_count(&histogram), ==, 0);
    CHECK_INT(histogram_permille(&histogram, 500), ==, 0);
    CHECK_INT(histogram_permille(&histogram, 1000), ==, 0);
}

TEST(small_values, "values below 128 are kept exactly")
{
    for (int64_t value = 1; value <= 100; value++) {
        histogram_record(&histogram, value);
    }
    CHECK_INT(histogram_count(&histogram), ==, 100);
    CHECK_INT(histogram_permille(&histogram, 10), ==, 1);
    CHECK_INT(histogram_permille(&histogram, 500), ==, 50);
    CHECK_INT(histogram_permille(&histogram, 990), ==, 99);
    CHECK_INT(histogram_permille(&histogram, 1000), ==, 100);
}

TEST(every_octave, "a value from any octave comes back at most 1/128 too large")
{
    for (unsigned shift = 0; shift < 63; shift++) {
        struct histogram *one = calloc(1, sizeof(*one));
        CHECK(one != NULL);
        int64_t value = (INT64_C(1) << shift) + (int64_t)test_random_below(UINT64_C(1) << shift);
        histogram_record(one, value);
        /* With one value the largest hides the rounding. A larger one beside it shows it. */
        histogram_record(one, INT64_MAX);
        check_close(histogram_permille(one, 500), value);
        free(one);
    }
}

TEST(limits, "zero, negative and the largest value have a place")
{
    histogram_record(&histogram, 0);
    histogram_record(&histogram, -5);
    histogram_record(&histogram, INT64_MIN);
    CHECK_INT(histogram_permille(&histogram, 1000), ==, 0);
    histogram_record(&histogram, INT64_MAX);
    CHECK_INT(histogram_count(&histogram), ==, 4);
    CHECK_INT(histogram_permille(&histogram, 750), ==, 0);
    CHECK_INT(histogram_permille(&histogram, 1000), ==, INT64_MAX);
}

static int compare(const void *a, const void *b)
{
    const int64_t *x = a;
    const int64_t *y = b;
    return *x < *y ? -1 : *x > *y ? 1 : 0;
}

TEST(against_sorting, "every share of random values is that of the sorted values, but for rounding")
{
    enum {
        COUNT = 10000
    };
    static int64_t values[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        values[i] = (int64_t)(test_random() >> (1 + test_random_below(60)));
        histogram_record(&histogram, values[i]);
    }
    qsort(values, COUNT, sizeof(values[0]), compare);
    for (unsigned parts = 1; parts <= 1000; parts++) {
        size_t rank = ((size_t)COUNT * parts + 999) / 1000;
        check_close(histogram_permille(&histogram, parts), values[rank - 1]);
    }
}

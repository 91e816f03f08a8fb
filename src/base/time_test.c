/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/time.h"

#include "support/harness.h"

TEST(addition, "sums past the ends of the range are held there")
{
    CHECK_INT(weiri_time_add(2, 3), ==, 5);
    CHECK_INT(weiri_time_add(-2, -3), ==, -5);
    CHECK_INT(weiri_time_add(INT64_MAX, 0), ==, INT64_MAX);
    CHECK_INT(weiri_time_add(INT64_MAX, 1), ==, INT64_MAX);
    CHECK_INT(weiri_time_add(INT64_MAX, INT64_MAX), ==, INT64_MAX);
    CHECK_INT(weiri_time_add(1, INT64_MAX), ==, INT64_MAX);
    CHECK_INT(weiri_time_add(INT64_MIN, -1), ==, INT64_MIN);
    CHECK_INT(weiri_time_add(INT64_MIN, INT64_MIN), ==, INT64_MIN);
    CHECK_INT(weiri_time_add(INT64_MIN, INT64_MAX), ==, -1);
}

TEST(subtraction, "differences past the ends of the range are held there")
{
    CHECK_INT(weiri_time_sub(2, 3), ==, -1);
    CHECK_INT(weiri_time_sub(0, INT64_MAX), ==, -INT64_MAX);
    CHECK_INT(weiri_time_sub(0, INT64_MIN), ==, INT64_MAX);
    CHECK_INT(weiri_time_sub(INT64_MAX, -1), ==, INT64_MAX);
    CHECK_INT(weiri_time_sub(INT64_MIN, 1), ==, INT64_MIN);
    CHECK_INT(weiri_time_sub(INT64_MIN, INT64_MIN), ==, 0);
    CHECK_INT(weiri_time_sub(-2, INT64_MAX), ==, INT64_MIN);
}

TEST(shifting, "value times a power of two stops at its limit, whatever the power")
{
    CHECK_INT(weiri_time_shift(5, 0, 1000), ==, 5);
    CHECK_INT(weiri_time_shift(5, 3, 1000), ==, 40);
    CHECK_INT(weiri_time_shift(5, 7, 640), ==, 640);
    CHECK_INT(weiri_time_shift(5, 7, 639), ==, 639);
    CHECK_INT(weiri_time_shift(5, 8, 1000), ==, 1000);
    CHECK_INT(weiri_time_shift(1, 62, INT64_MAX), ==, INT64_C(1) << 62);
    CHECK_INT(weiri_time_shift(1, 63, INT64_MAX), ==, INT64_MAX);
    CHECK_INT(weiri_time_shift(1, 64, INT64_MAX), ==, INT64_MAX);
    CHECK_INT(weiri_time_shift(1, UINT64_MAX, 77), ==, 77);
    CHECK_INT(weiri_time_shift(INT64_MAX, 1, INT64_MAX), ==, INT64_MAX);
    CHECK_INT(weiri_time_shift(0, 5, 1000), ==, 0);
    CHECK_INT(weiri_time_shift(-5, 5, 1000), ==, 0);
    CHECK_INT(weiri_time_shift(0, UINT64_MAX, 1000), ==, 0);
}

TEST(saturation, "random sums agree with wider arithmetic")
{
    __extension__ typedef __int128 wide;
    for (uint64_t i = 0; i < test_scaled(100000); i++) {
        int64_t a = (int64_t)test_random() >> test_random_below(64);
        int64_t b = (int64_t)test_random() >> test_random_below(64);
        wide sum = (wide)a + b;
        wide difference = (wide)a - b;
        sum = sum > INT64_MAX ? INT64_MAX : sum < INT64_MIN ? INT64_MIN : sum;
        difference = difference > INT64_MAX   ? INT64_MAX
                     : difference < INT64_MIN ? INT64_MIN
                                              : difference;
        CHECK_INT(weiri_time_add(a, b), ==, sum);
        CHECK_INT(weiri_time_sub(a, b), ==, difference);
    }
}

TEST(clocks, "the monotonic clock does not go back, and the wall clock shows this century")
{
    int64_t before = weiri_monotonic_now();
    for (int i = 0; i < 1000; i++) {
        int64_t now = weiri_monotonic_now();
        CHECK_INT(now, >=, before);
        before = now;
    }
    CHECK_INT(weiri_wall_now(), >, INT64_C(1700000000) * 1000000000);
    before = weiri_monotonic_now();
    CHECK_INT(weiri_boot_now(), >=, before); /* but for the time that the machine slept, the same */
}

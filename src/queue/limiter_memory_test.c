/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/limiters.h"

/* The memory of limiters is bounded. In client-go it grows without bound (flaw W9). */

static int64_t when(weir_limiter *limiter, const char *name, int64_t now_ns)
{
    int64_t delay_ns = -1;
    CHECK_STATUS(weir_limiter_when(limiter, weir_key_string(name), now_ns, &delay_ns), WEIR_OK);
    return delay_ns;
}

static uint64_t count_of(weir_limiter *limiter, const char *name)
{
    return weir_limiter_num_requeues(limiter, weir_key_string(name));
}

TEST(w9_options, "the memory of failures is bounded in number and age, as the options say")
{
    struct weir_limiter_options options = limiter_options();
    options.items_max = 2;
    options.forget_after_ns = 63;
    weir_limiter *limiter;
    CHECK_STATUS(weir_limiter_exponential_new(1, 1000, &options, &limiter, NULL), WEIR_OK);
    CHECK_INT(when(limiter, "a", 0), ==, 1);
    CHECK_INT(when(limiter, "b", 1), ==, 1);
    CHECK_INT(when(limiter, "a", 2), ==, 2);
    CHECK_INT(when(limiter, "c", 3), ==, 1);
    CHECK_INT(count_of(limiter, "b"), ==, 0);
    CHECK_INT(count_of(limiter, "a"), ==, 2);
    CHECK_INT(when(limiter, "a", 2 + 62), ==, 4);
    CHECK_INT(when(limiter, "a", 2 + 62 + 63), ==, 1);
    weir_limiter_free(limiter);
}

TEST(w9_default_age, "by default failures count on while the longest wait is waited out")
{
    struct weir_limiter_options options = limiter_options();
    weir_limiter *limiter;
    int64_t week = 7 * WEIR_SECONDS(86400);
    CHECK_STATUS(weir_limiter_exponential_new(week, week, &options, &limiter, NULL), WEIR_OK);
    CHECK_INT(when(limiter, "a", 0), ==, week);
    CHECK_INT(when(limiter, "a", 2 * week - 1), ==, week);
    CHECK_INT(count_of(limiter, "a"), ==, 2);
    CHECK_INT(when(limiter, "a", 4 * week), ==, week);
    CHECK_INT(count_of(limiter, "a"), ==, 1);
    weir_limiter_free(limiter);
    CHECK_STATUS(weir_limiter_default_new(&options, &limiter, NULL), WEIR_OK);
    CHECK_INT(when(limiter, "a", 0), ==, WEIR_MS(5));
    CHECK_INT(when(limiter, "a", WEIR_SECONDS(86400) - 1), ==, WEIR_MS(10));
    CHECK_INT(when(limiter, "a", WEIR_SECONDS(2 * 86400)), ==, WEIR_MS(5));
    weir_limiter_free(limiter);
}

TEST(w9_never, "without an age nothing is forgotten from one end of time to the other")
{
    struct weir_limiter_options options = limiter_options();
    options.forget_after_ns = WEIR_FOREVER;
    weir_limiter *limiter;
    CHECK_STATUS(weir_limiter_exponential_new(1, 1000, &options, &limiter, NULL), WEIR_OK);
    CHECK_INT(when(limiter, "a", INT64_MIN), ==, 1);
    CHECK_INT(when(limiter, "b", 0), ==, 1);
    CHECK_INT(when(limiter, "b", INT64_MAX), ==, 2);
    CHECK_INT(when(limiter, "c", INT64_MAX), ==, 1);
    CHECK_INT(count_of(limiter, "a"), ==, 1);
    CHECK_INT(when(limiter, "a", INT64_MAX), ==, 2);
    weir_limiter_free(limiter);
}

TEST(buckets, "a bucket that the bounds forget is full again, and no other one")
{
    struct weir_limiter_options options = limiter_options();
    options.items_max = 2;
    options.forget_after_ns = WEIR_SECONDS(3);
    weir_limiter *limiter;
    CHECK_STATUS(weir_limiter_item_bucket_new(0.1, 1, &options, &limiter, NULL), WEIR_OK);
    CHECK_INT(when(limiter, "a", 0), ==, 0);
    CHECK_INT(when(limiter, "b", 1), ==, 0);
    CHECK_INT(when(limiter, "a", 2), ==, WEIR_SECONDS(10) - 2);
    CHECK_INT(when(limiter, "c", 3), ==, 0); /* in place of b */
    CHECK_INT(when(limiter, "a", 4), ==, WEIR_SECONDS(20) - 4);
    CHECK_INT(when(limiter, "b", 5), ==, 0);
    CHECK_INT(when(limiter, "a", WEIR_SECONDS(3) + 3), ==, WEIR_SECONDS(27) - 3);
    CHECK_INT(when(limiter, "a", WEIR_SECONDS(6) + 3), ==, 0);
    weir_limiter_free(limiter);
}

TEST(buckets_default_age, "by default a bucket that was emptied is not forgotten before it is full")
{
    struct weir_limiter_options options = limiter_options();
    weir_limiter *limiter;
    int64_t week = 7 * WEIR_SECONDS(86400);
    CHECK_STATUS(weir_limiter_item_bucket_new(2.0 / (7 * 86400), 2, &options, &limiter, NULL),
                 WEIR_OK);
    CHECK_INT(when(limiter, "a", 0), ==, 0);
    CHECK_INT(when(limiter, "a", 0), ==, 0);
    CHECK_INT(when(limiter, "a", 0), >, week / 2 - 1000);
    CHECK_INT(when(limiter, "b", 2 * week - 1), ==, 0);
    size_t before = test_allocated_bytes();
    CHECK_INT(when(limiter, "a", 2 * week - 1), ==, 0); /* remembered: it filled meanwhile */
    CHECK_INT(when(limiter, "a", 2 * week - 1), ==, 0);
    CHECK_INT(when(limiter, "a", 2 * week - 1), >, week / 2 - 1000);
    CHECK_INT(test_allocated_bytes(), ==, before);
    weir_limiter_free(limiter);
    /* One that takes all time to fill. */
    CHECK_STATUS(weir_limiter_item_bucket_new(1e-300, 1, &options, &limiter, NULL), WEIR_OK);
    CHECK_INT(when(limiter, "a", 0), ==, 0);
    CHECK_INT(when(limiter, "a", INT64_MAX), ==, WEIR_FOREVER);
    weir_limiter_free(limiter);
}

/* V12, the whole limiter: a million distinct items that are never forgotten. */
TEST(w9_million, "a million items that never succeed stay within the documented memory")
{
    weir_limiter *limiter;
    struct weir_limiter_options options = limiter_options();
    CHECK_STATUS(weir_limiter_default_new(&options, &limiter, NULL), WEIR_OK);
    size_t peak = 0;
    for (uint32_t i = 0; i < 1200000; i++) {
        int64_t delay_ns;
        CHECK_STATUS(weir_limiter_when(limiter, weir_key_bytes(&i, sizeof(i)), i, &delay_ns),
                     WEIR_OK);
        peak = test_allocated_bytes() > peak ? test_allocated_bytes() : peak;
    }
    CHECK_INT(peak, <=, (size_t)1048576 * 82);
    uint32_t oldest = 0;
    uint32_t newest = 1199999;
    CHECK_INT(weir_limiter_num_requeues(limiter, weir_key_bytes(&oldest, sizeof(oldest))), ==, 0);
    CHECK_INT(weir_limiter_num_requeues(limiter, weir_key_bytes(&newest, sizeof(newest))), ==, 1);
    weir_limiter_free(limiter);
}

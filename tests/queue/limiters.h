/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_LIMITERS_H
#define WEIR_TEST_LIMITERS_H

#include <weir/limiter.h>

#include "support/harness.h"

/* The supplied limiters, made with the test's memory. */

static inline struct weir_limiter_options limiter_options(void)
{
    struct weir_limiter_options options = {0};
    options.allocator = *test_allocator();
    return options;
}

static inline weir_limiter *exponential(int64_t base_ns, int64_t max_ns)
{
    struct weir_limiter_options options = limiter_options();
    weir_limiter *limiter;
    CHECK_STATUS(weir_limiter_exponential_new(base_ns, max_ns, &options, &limiter, NULL), WEIR_OK);
    return limiter;
}

static inline weir_limiter *fast_slow(int64_t fast_ns, int64_t slow_ns, uint64_t count)
{
    struct weir_limiter_options options = limiter_options();
    weir_limiter *limiter;
    CHECK_STATUS(weir_limiter_fast_slow_new(fast_ns, slow_ns, count, &options, &limiter, NULL),
                 WEIR_OK);
    return limiter;
}

static inline weir_limiter *bucket(double qps, uint64_t burst)
{
    weir_limiter *limiter;
    CHECK_STATUS(weir_limiter_bucket_new(qps, burst, test_allocator(), &limiter, NULL), WEIR_OK);
    return limiter;
}

static inline weir_limiter *item_bucket(double qps, uint64_t burst)
{
    struct weir_limiter_options options = limiter_options();
    weir_limiter *limiter;
    CHECK_STATUS(weir_limiter_item_bucket_new(qps, burst, &options, &limiter, NULL), WEIR_OK);
    return limiter;
}

static inline weir_limiter *max_of(weir_limiter *a, weir_limiter *b)
{
    weir_limiter *parts[] = {a, b};
    weir_limiter *limiter;
    CHECK_STATUS(weir_limiter_max_of_new(parts, 2, test_allocator(), &limiter, NULL), WEIR_OK);
    return limiter;
}

static inline weir_limiter *max_wait(weir_limiter *inner, int64_t max_ns)
{
    weir_limiter *limiter;
    CHECK_STATUS(weir_limiter_with_max_wait_new(inner, max_ns, test_allocator(), &limiter, NULL),
                 WEIR_OK);
    return limiter;
}

static inline weir_limiter *jitter(weir_limiter *inner, double fraction, uint64_t seed)
{
    weir_limiter *limiter;
    CHECK_STATUS(
        weir_limiter_with_jitter_new(inner, fraction, seed, test_allocator(), &limiter, NULL),
        WEIR_OK);
    return limiter;
}

#endif

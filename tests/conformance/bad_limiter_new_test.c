/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/bad_input.h"
#include "conformance/own_limiter.h"
#include "queue/limiters.h"

#include <math.h>

/* Bad input to what makes limiters. */

/* What a constructor does, given the rest; limiter: one to wrap. */
typedef enum weir_status make_fn(const struct weir_limiter_options *options,
                                 const struct weir_allocator *allocator, weir_limiter *limiter,
                                 weir_limiter **ret_limiter);

/* Where the constructors write what was wrong. */
static struct weir_error *wanted = &said;

static enum weir_status new_exponential(const struct weir_limiter_options *options,
                                        const struct weir_allocator *allocator,
                                        weir_limiter *limiter, weir_limiter **ret_limiter)
{
    (void)allocator;
    (void)limiter;
    return weir_limiter_exponential_new(1, 2, options, ret_limiter, wanted);
}

static enum weir_status new_fast_slow(const struct weir_limiter_options *options,
                                      const struct weir_allocator *allocator, weir_limiter *limiter,
                                      weir_limiter **ret_limiter)
{
    (void)allocator;
    (void)limiter;
    return weir_limiter_fast_slow_new(1, 2, 3, options, ret_limiter, wanted);
}

static enum weir_status new_default(const struct weir_limiter_options *options,
                                    const struct weir_allocator *allocator, weir_limiter *limiter,
                                    weir_limiter **ret_limiter)
{
    (void)allocator;
    (void)limiter;
    return weir_limiter_default_new(options, ret_limiter, wanted);
}

static enum weir_status new_item_bucket(const struct weir_limiter_options *options,
                                        const struct weir_allocator *allocator,
                                        weir_limiter *limiter, weir_limiter **ret_limiter)
{
    (void)allocator;
    (void)limiter;
    return weir_limiter_item_bucket_new(10, 100, options, ret_limiter, wanted);
}

static enum weir_status new_bucket(const struct weir_limiter_options *options,
                                   const struct weir_allocator *allocator, weir_limiter *limiter,
                                   weir_limiter **ret_limiter)
{
    (void)options;
    (void)limiter;
    return weir_limiter_bucket_new(10, 100, allocator, ret_limiter, wanted);
}

static enum weir_status new_max_of(const struct weir_limiter_options *options,
                                   const struct weir_allocator *allocator, weir_limiter *limiter,
                                   weir_limiter **ret_limiter)
{
    (void)options;
    return weir_limiter_max_of_new(&limiter, 1, allocator, ret_limiter, wanted);
}

static enum weir_status new_max_wait(const struct weir_limiter_options *options,
                                     const struct weir_allocator *allocator, weir_limiter *limiter,
                                     weir_limiter **ret_limiter)
{
    (void)options;
    return weir_limiter_with_max_wait_new(limiter, 5, allocator, ret_limiter, wanted);
}

static enum weir_status new_jitter(const struct weir_limiter_options *options,
                                   const struct weir_allocator *allocator, weir_limiter *limiter,
                                   weir_limiter **ret_limiter)
{
    (void)options;
    return weir_limiter_with_jitter_new(limiter, 0.5, 1, allocator, ret_limiter, wanted);
}

static enum weir_status new_own(const struct weir_limiter_options *options,
                                const struct weir_allocator *allocator, weir_limiter *limiter,
                                weir_limiter **ret_limiter)
{
    static unsigned destroyed;
    (void)options;
    (void)limiter;
    unsigned before = destroyed;
    enum weir_status status =
        weir_limiter_new(&own_ops, &destroyed, allocator, ret_limiter, wanted);
    CHECK_INT(destroyed, ==, before); /* self is not taken */
    return status;
}

/* Refused: the result is untouched, and the caller keeps the limiter that was to be wrapped. */
static enum weir_status try_make(make_fn *fn, const struct weir_limiter_options *options,
                                 const struct weir_allocator *allocator)
{
    weir_limiter *inner = bucket(10, 100);
    weir_limiter *untouched = (weir_limiter *)&rows;
    weir_limiter *limiter = untouched;
    enum weir_status status = spoken(fn(options, allocator, inner, &limiter));
    CHECK((limiter == untouched) == (status != WEIR_OK));
    if (status == WEIR_OK) {
        weir_limiter_free(limiter);
    }
    bool was_taken =
        status == WEIR_OK && (fn == new_max_of || fn == new_max_wait || fn == new_jitter);
    if (!was_taken) {
        weir_limiter_free(inner);
    }
    return status;
}

static enum weir_status without_memory(make_fn *fn)
{
    struct weir_limiter_options options = limiter_options();
    weir_limiter *inner = bucket(10, 100);
    weir_limiter *untouched = (weir_limiter *)&rows;
    weir_limiter *limiter = untouched;
    test_fail_allocation(1, true);
    enum weir_status status = fn(&options, test_allocator(), inner, &limiter);
    test_fail_allocation(0, false);
    CHECK(limiter == untouched);
    weir_limiter_free(inner);
    return status;
}

static enum weir_status without_result(make_fn *fn)
{
    struct weir_limiter_options options = limiter_options();
    weir_limiter *inner = bucket(10, 100);
    enum weir_status status = fn(&options, test_allocator(), inner, NULL);
    weir_limiter_free(inner);
    return status;
}

static enum weir_status without_words(make_fn *fn)
{
    struct weir_limiter_options options = limiter_options();
    weir_limiter *inner = bucket(10, 100);
    wanted = NULL;
    enum weir_status status = fn(&options, test_allocator(), inner, NULL);
    wanted = &said;
    CHECK_STATUS(status, WEIR_EINVAL);
    weir_limiter_free(inner);
    return WEIR_OK;
}

static enum weir_status with_half_an_allocator(make_fn *fn)
{
    struct weir_limiter_options options = limiter_options();
    options.allocator.resize = NULL;
    struct weir_allocator allocator = *test_allocator();
    allocator.release = NULL;
    return try_make(fn, &options, &allocator);
}

static enum weir_status with_items_max(make_fn *fn)
{
    struct weir_limiter_options options = limiter_options();
    options.items_max = ((size_t)1 << 30) + 1;
    CHECK_STATUS(try_make(fn, &options, NULL), WEIR_ERANGE);
    options.items_max = SIZE_MAX;
    return try_make(fn, &options, NULL);
}

static enum weir_status with_forget_after(make_fn *fn)
{
    struct weir_limiter_options options = limiter_options();
    options.forget_after_ns = INT64_MAX;
    CHECK_STATUS(try_make(fn, &options, NULL), WEIR_OK);
    options.forget_after_ns = -1;
    CHECK_STATUS(try_make(fn, &options, NULL), WEIR_ERANGE);
    options.forget_after_ns = INT64_MIN;
    return try_make(fn, &options, NULL);
}

/* The rows of a constructor with options, and of one with an allocator. */
#define OPTIONS_ROWS(function, fn)                                                                 \
    ROW(function, options, null, WEIR_OK)                                                          \
    {                                                                                              \
        return try_make(fn, NULL, NULL);                                                           \
    }                                                                                              \
    ROW(function, options, allocator, WEIR_EINVAL)                                                 \
    {                                                                                              \
        return with_half_an_allocator(fn);                                                         \
    }                                                                                              \
    ROW(function, options, items_max, WEIR_ERANGE)                                                 \
    {                                                                                              \
        return with_items_max(fn);                                                                 \
    }                                                                                              \
    ROW(function, options, forget_after_ns, WEIR_ERANGE)                                           \
    {                                                                                              \
        return with_forget_after(fn);                                                              \
    }

#define ALLOCATOR_ROWS(function, fn)                                                               \
    ROW(function, allocator, null, WEIR_OK)                                                        \
    {                                                                                              \
        return try_make(fn, NULL, NULL);                                                           \
    }                                                                                              \
    ROW(function, allocator, partial, WEIR_EINVAL)                                                 \
    {                                                                                              \
        return with_half_an_allocator(fn);                                                         \
    }

/* What every constructor has. */
#define RESULT_ROWS(function, fn)                                                                  \
    ROW(function, memory, none, WEIR_ENOMEM)                                                       \
    {                                                                                              \
        return without_memory(fn);                                                                 \
    }                                                                                              \
    ROW(function, ret_limiter, null, WEIR_EINVAL)                                                  \
    {                                                                                              \
        return without_result(fn);                                                                 \
    }                                                                                              \
    ROW(function, ret_error, null, WEIR_OK)                                                        \
    {                                                                                              \
        return without_words(fn);                                                                  \
    }

OPTIONS_ROWS(weir_limiter_exponential_new, new_exponential)
OPTIONS_ROWS(weir_limiter_fast_slow_new, new_fast_slow)
OPTIONS_ROWS(weir_limiter_item_bucket_new, new_item_bucket)
OPTIONS_ROWS(weir_limiter_default_new, new_default)
ALLOCATOR_ROWS(weir_limiter_new, new_own)
ALLOCATOR_ROWS(weir_limiter_bucket_new, new_bucket)
ALLOCATOR_ROWS(weir_limiter_max_of_new, new_max_of)
ALLOCATOR_ROWS(weir_limiter_with_max_wait_new, new_max_wait)
ALLOCATOR_ROWS(weir_limiter_with_jitter_new, new_jitter)
RESULT_ROWS(weir_limiter_exponential_new, new_exponential)
RESULT_ROWS(weir_limiter_fast_slow_new, new_fast_slow)
RESULT_ROWS(weir_limiter_item_bucket_new, new_item_bucket)
RESULT_ROWS(weir_limiter_default_new, new_default)
RESULT_ROWS(weir_limiter_new, new_own)
RESULT_ROWS(weir_limiter_bucket_new, new_bucket)
RESULT_ROWS(weir_limiter_max_of_new, new_max_of)
RESULT_ROWS(weir_limiter_with_max_wait_new, new_max_wait)
RESULT_ROWS(weir_limiter_with_jitter_new, new_jitter)

/* ---- weir_limiter_new ---- */

static enum weir_status with_ops(const struct weir_limiter_ops *ops)
{
    unsigned destroyed = 0;
    weir_limiter *untouched = (weir_limiter *)&rows;
    weir_limiter *limiter = untouched;
    enum weir_status status =
        spoken(weir_limiter_new(ops, &destroyed, test_allocator(), &limiter, &said));
    CHECK((limiter == untouched) == (status != WEIR_OK));
    CHECK_INT(destroyed, ==, 0);
    if (status == WEIR_OK) {
        weir_limiter_free(limiter);
    }
    return status;
}

ROW(weir_limiter_new, ops, null, WEIR_EINVAL)
{
    return with_ops(NULL);
}

ROW(weir_limiter_new, ops, incomplete, WEIR_EINVAL)
{
    struct weir_limiter_ops ops = own_ops;
    ops.give_back = NULL;
    ops.undo = NULL;
    CHECK_STATUS(with_ops(&ops), WEIR_OK);
    ops.when = NULL;
    CHECK_STATUS(with_ops(&ops), WEIR_EINVAL);
    ops = own_ops;
    ops.forget = NULL;
    CHECK_STATUS(with_ops(&ops), WEIR_EINVAL);
    ops = own_ops;
    ops.num_requeues = NULL;
    CHECK_STATUS(with_ops(&ops), WEIR_EINVAL);
    ops = own_ops;
    ops.destroy = NULL;
    return with_ops(&ops);
}

/* ---- Numbers ---- */

static enum weir_status new_of_times(int64_t base_ns, int64_t max_ns)
{
    struct weir_limiter_options options = limiter_options();
    weir_limiter *limiter = NULL;
    enum weir_status status =
        spoken(weir_limiter_exponential_new(base_ns, max_ns, &options, &limiter, &said));
    weir_limiter_free(limiter);
    return status;
}

ROW(weir_limiter_exponential_new, base_ns, least, WEIR_ERANGE)
{
    CHECK_STATUS(new_of_times(-1, 1), WEIR_ERANGE);
    return new_of_times(INT64_MIN, INT64_MAX);
}

ROW(weir_limiter_exponential_new, base_ns, most, WEIR_ERANGE)
{
    CHECK_STATUS(new_of_times(INT64_MAX, INT64_MAX), WEIR_OK);
    return new_of_times(INT64_MAX, INT64_MAX - 1);
}

ROW(weir_limiter_exponential_new, max_ns, least, WEIR_ERANGE)
{
    CHECK_STATUS(new_of_times(0, -1), WEIR_ERANGE);
    return new_of_times(0, INT64_MIN);
}

ROW(weir_limiter_exponential_new, max_ns, most, WEIR_OK)
{
    return new_of_times(0, INT64_MAX);
}

static enum weir_status new_of_speeds(int64_t fast_ns, int64_t slow_ns, uint64_t fast_count)
{
    struct weir_limiter_options options = limiter_options();
    weir_limiter *limiter = NULL;
    enum weir_status status =
        spoken(weir_limiter_fast_slow_new(fast_ns, slow_ns, fast_count, &options, &limiter, &said));
    weir_limiter_free(limiter);
    return status;
}

ROW(weir_limiter_fast_slow_new, fast_ns, least, WEIR_ERANGE)
{
    CHECK_STATUS(new_of_speeds(-1, 1, 1), WEIR_ERANGE);
    return new_of_speeds(INT64_MIN, 1, 1);
}

ROW(weir_limiter_fast_slow_new, fast_ns, most, WEIR_OK)
{
    return new_of_speeds(INT64_MAX, 0, 1);
}

ROW(weir_limiter_fast_slow_new, slow_ns, least, WEIR_ERANGE)
{
    CHECK_STATUS(new_of_speeds(1, -1, 1), WEIR_ERANGE);
    return new_of_speeds(1, INT64_MIN, 1);
}

ROW(weir_limiter_fast_slow_new, slow_ns, most, WEIR_OK)
{
    return new_of_speeds(0, INT64_MAX, 1);
}

ROW(weir_limiter_fast_slow_new, fast_count, zero, WEIR_OK)
{
    return new_of_speeds(1, 2, 0);
}

ROW(weir_limiter_fast_slow_new, fast_count, most, WEIR_OK)
{
    return new_of_speeds(1, 2, UINT64_MAX);
}

static enum weir_status new_of_tokens(double qps, uint64_t burst)
{
    weir_limiter *limiter = NULL;
    enum weir_status status =
        spoken(weir_limiter_bucket_new(qps, burst, test_allocator(), &limiter, &said));
    weir_limiter_free(limiter);
    return status;
}

ROW(weir_limiter_bucket_new, qps, negative, WEIR_ERANGE)
{
    CHECK_STATUS(new_of_tokens(0, 1), WEIR_ERANGE);
    CHECK_STATUS(new_of_tokens(-0.0, 1), WEIR_ERANGE);
    CHECK_STATUS(new_of_tokens(0x1p-1074, 1), WEIR_OK);
    return new_of_tokens(-1, 1);
}

ROW(weir_limiter_bucket_new, qps, not_finite, WEIR_ERANGE)
{
    CHECK_STATUS(new_of_tokens((double)INFINITY, 1), WEIR_ERANGE);
    CHECK_STATUS(new_of_tokens((double)-INFINITY, 1), WEIR_ERANGE);
    return new_of_tokens((double)NAN, 1);
}

ROW(weir_limiter_bucket_new, burst, zero, WEIR_ERANGE)
{
    return new_of_tokens(1, 0);
}

ROW(weir_limiter_bucket_new, burst, most, WEIR_ERANGE)
{
    CHECK_STATUS(new_of_tokens(1, UINT64_C(1) << 53), WEIR_OK);
    CHECK_STATUS(new_of_tokens(1, (UINT64_C(1) << 53) + 1), WEIR_ERANGE);
    return new_of_tokens(1, UINT64_MAX);
}

static enum weir_status new_of_each(double qps, uint64_t burst)
{
    struct weir_limiter_options options = limiter_options();
    weir_limiter *limiter = NULL;
    enum weir_status status =
        spoken(weir_limiter_item_bucket_new(qps, burst, &options, &limiter, &said));
    weir_limiter_free(limiter);
    return status;
}

ROW(weir_limiter_item_bucket_new, qps, negative, WEIR_ERANGE)
{
    CHECK_STATUS(new_of_each(0, 1), WEIR_ERANGE);
    CHECK_STATUS(new_of_each(-0.0, 1), WEIR_ERANGE);
    CHECK_STATUS(new_of_each(0x1p-1074, 1), WEIR_OK);
    return new_of_each(-1, 1);
}

ROW(weir_limiter_item_bucket_new, qps, not_finite, WEIR_ERANGE)
{
    CHECK_STATUS(new_of_each((double)INFINITY, 1), WEIR_ERANGE);
    CHECK_STATUS(new_of_each((double)-INFINITY, 1), WEIR_ERANGE);
    return new_of_each((double)NAN, 1);
}

ROW(weir_limiter_item_bucket_new, burst, zero, WEIR_ERANGE)
{
    return new_of_each(1, 0);
}

ROW(weir_limiter_item_bucket_new, burst, most, WEIR_ERANGE)
{
    CHECK_STATUS(new_of_each(1, UINT64_C(1) << 53), WEIR_OK);
    CHECK_STATUS(new_of_each(1, (UINT64_C(1) << 53) + 1), WEIR_ERANGE);
    return new_of_each(1, UINT64_MAX);
}

/* ---- Those that take limiters ---- */

ROW(weir_limiter_max_of_new, limiters, null, WEIR_EINVAL)
{
    weir_limiter *limiter = NULL;
    enum weir_status status =
        spoken(weir_limiter_max_of_new(NULL, 1, test_allocator(), &limiter, &said));
    CHECK(limiter == NULL);
    return status;
}

ROW(weir_limiter_max_of_new, limiters, one_null, WEIR_EINVAL)
{
    weir_limiter *parts[] = {bucket(1, 1), NULL};
    weir_limiter *limiter = NULL;
    enum weir_status status =
        spoken(weir_limiter_max_of_new(parts, 2, test_allocator(), &limiter, &said));
    CHECK(limiter == NULL);
    weir_limiter_free(parts[0]);
    return status;
}

ROW(weir_limiter_max_of_new, limiters, twice, WEIR_EINVAL)
{
    weir_limiter *one = bucket(1, 1);
    weir_limiter *parts[] = {one, one};
    weir_limiter *limiter = NULL;
    enum weir_status status =
        spoken(weir_limiter_max_of_new(parts, 2, test_allocator(), &limiter, &said));
    CHECK(limiter == NULL);
    weir_limiter_free(one);
    return status;
}

ROW(weir_limiter_max_of_new, count, zero, WEIR_EINVAL)
{
    weir_limiter *part = bucket(1, 1);
    weir_limiter *limiter = NULL;
    enum weir_status status =
        spoken(weir_limiter_max_of_new(&part, 0, test_allocator(), &limiter, &said));
    CHECK(limiter == NULL);
    weir_limiter_free(part);
    return status;
}

static enum weir_status wrap_max(bool is_null, int64_t max_ns)
{
    weir_limiter *inner = bucket(1, 1);
    weir_limiter *limiter = NULL;
    enum weir_status status = spoken(weir_limiter_with_max_wait_new(
        is_null ? NULL : inner, max_ns, test_allocator(), &limiter, &said));
    weir_limiter_free(limiter != NULL ? limiter : inner);
    return status;
}

ROW(weir_limiter_with_max_wait_new, limiter, null, WEIR_EINVAL)
{
    return wrap_max(true, 1);
}

ROW(weir_limiter_with_max_wait_new, max_wait_ns, least, WEIR_ERANGE)
{
    CHECK_STATUS(wrap_max(false, -1), WEIR_ERANGE);
    return wrap_max(false, INT64_MIN);
}

ROW(weir_limiter_with_max_wait_new, max_wait_ns, most, WEIR_OK)
{
    CHECK_STATUS(wrap_max(false, 0), WEIR_OK);
    return wrap_max(false, INT64_MAX);
}

static enum weir_status wrap_jitter(bool is_null, double fraction, uint64_t seed)
{
    weir_limiter *inner = bucket(1, 1);
    weir_limiter *limiter = NULL;
    enum weir_status status = spoken(weir_limiter_with_jitter_new(
        is_null ? NULL : inner, fraction, seed, test_allocator(), &limiter, &said));
    weir_limiter_free(limiter != NULL ? limiter : inner);
    return status;
}

ROW(weir_limiter_with_jitter_new, limiter, null, WEIR_EINVAL)
{
    return wrap_jitter(true, 1, 1);
}

ROW(weir_limiter_with_jitter_new, fraction, negative, WEIR_ERANGE)
{
    CHECK_STATUS(wrap_jitter(false, 0, 1), WEIR_OK);
    return wrap_jitter(false, -0x1p-1074, 1);
}

ROW(weir_limiter_with_jitter_new, fraction, not_finite, WEIR_ERANGE)
{
    CHECK_STATUS(wrap_jitter(false, (double)INFINITY, 1), WEIR_ERANGE);
    return wrap_jitter(false, (double)NAN, 1);
}

ROW(weir_limiter_with_jitter_new, seed, zero, WEIR_OK)
{
    return wrap_jitter(false, 1, 0);
}

ROW(weir_limiter_with_jitter_new, seed, most, WEIR_OK)
{
    return wrap_jitter(false, 1, UINT64_MAX);
}

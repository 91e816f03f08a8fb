/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/limiters.h"

/* The scenarios of client-go's default_rate_limiters_test.go, as in client_go_queue_test.c. */

/* An item fails five times, another one twice, the first is forgotten. */
static void check_forgetting(struct fixture *f, weir_limiter *limiter, const int64_t expected[5])
{
    for (unsigned i = 0; i < 5; i++) {
        CHECK_INT(when(f, limiter, 0), ==, expected[i]);
    }
    CHECK_INT(failures(f, limiter, 0), ==, 5);
    CHECK_INT(when(f, limiter, 1), ==, expected[0]);
    CHECK_INT(when(f, limiter, 1), ==, expected[1]);
    CHECK_INT(failures(f, limiter, 1), ==, 2);
    weir_limiter_forget(limiter, key_of(f, 0));
    CHECK_INT(failures(f, limiter, 0), ==, 0);
    CHECK_INT(when(f, limiter, 0), ==, expected[0]);
    CHECK_INT(failures(f, limiter, 1), ==, 2);
}

TEST_EACH(item_exponential_failure_rate_limiter,
          "TestItemExponentialFailureRateLimiter: waits double per item until it is forgotten")
{
    static const int64_t expected[] = {WEIR_MS(1), WEIR_MS(2), WEIR_MS(4), WEIR_MS(8), WEIR_MS(16)};
    struct fixture f;
    setup(&f, kind);
    weir_limiter *limiter = exponential(WEIR_MS(1), WEIR_SECONDS(1));
    check_forgetting(&f, limiter, expected);
    weir_limiter_free(limiter);
    teardown(&f);
}

TEST_EACH(item_exponential_failure_rate_limiter_over_flow,
          "TestItemExponentialFailureRateLimiterOverFlow: the longest wait, whatever the count")
{
    static const struct {
        int64_t base_ns;
        int64_t max_ns;
        unsigned failures;
        int64_t expected_ns;
    } rows[] = {
        {WEIR_MS(1), WEIR_SECONDS(1000), 5, WEIR_MS(32)},
        {WEIR_MS(1), WEIR_SECONDS(1000), 1000, WEIR_SECONDS(1000)},
        {WEIR_SECONDS(60), WEIR_SECONDS(3600000), 2, WEIR_SECONDS(240)},
        {WEIR_SECONDS(60), WEIR_SECONDS(3600000), 1000, WEIR_SECONDS(3600000)},
    };
    struct fixture f;
    setup(&f, kind);
    for (unsigned row = 0; row < 4; row++) {
        weir_limiter *limiter = exponential(rows[row].base_ns, rows[row].max_ns);
        for (unsigned i = 0; i < rows[row].failures; i++) {
            (void)when(&f, limiter, row);
        }
        CHECK_INT(when(&f, limiter, row), ==, rows[row].expected_ns);
        weir_limiter_free(limiter);
    }
    teardown(&f);
}

TEST_EACH(item_fast_slow_rate_limiter,
          "TestItemFastSlowRateLimiter: the first failures wait shortly, the later ones long")
{
    static const int64_t expected[] = {WEIR_MS(5), WEIR_MS(5), WEIR_MS(5), WEIR_SECONDS(10),
                                       WEIR_SECONDS(10)};
    struct fixture f;
    setup(&f, kind);
    weir_limiter *limiter = fast_slow(WEIR_MS(5), WEIR_SECONDS(10), 3);
    check_forgetting(&f, limiter, expected);
    weir_limiter_free(limiter);
    teardown(&f);
}

TEST_EACH(max_of_rate_limiter,
          "TestMaxOfRateLimiter: the longest wait and the largest count win, all are forgotten")
{
    static const int64_t expected[] = {WEIR_MS(5), WEIR_MS(5), WEIR_MS(5), WEIR_SECONDS(3),
                                       WEIR_SECONDS(3)};
    struct fixture f;
    setup(&f, kind);
    weir_limiter *limiter =
        max_of(fast_slow(WEIR_MS(5), WEIR_SECONDS(3), 3), exponential(WEIR_MS(1), WEIR_SECONDS(1)));
    check_forgetting(&f, limiter, expected);
    weir_limiter_free(limiter);
    teardown(&f);
}

/* A limiter of one's own, as in the model: it counts all items together, and answers shortly a
 * hundred times. */
static enum weir_status step_when(void *self, struct weir_key key, int64_t now_ns,
                                  int64_t *ret_delay_ns)
{
    (void)key;
    (void)now_ns;
    unsigned *asked = self;
    *ret_delay_ns = (*asked)++ < 100 ? WEIR_MS(5) : WEIR_SECONDS(1000);
    return WEIR_OK;
}

static void step_forget(void *self, struct weir_key key)
{
    (void)self;
    (void)key;
}

static uint64_t step_count(void *self, struct weir_key key)
{
    (void)self;
    (void)key;
    return 0;
}

static void step_destroy(void *self)
{
    (void)self;
}

TEST_EACH(with_max_wait_rate_limiter,
          "TestWithMaxWaitRateLimiter: waits of a limiter of one's own are cut at the longest")
{
    static const struct weir_limiter_ops ops = {.when = step_when,
                                                .forget = step_forget,
                                                .num_requeues = step_count,
                                                .destroy = step_destroy};
    struct fixture f;
    setup(&f, kind);
    unsigned asked = 0;
    weir_limiter *own;
    CHECK_STATUS(weir_limiter_new(&ops, &asked, test_allocator(), &own, NULL), WEIR_OK);
    weir_limiter *limiter = max_wait(own, WEIR_SECONDS(500));
    for (unsigned i = 0; i < 200; i++) {
        CHECK_INT(when(&f, limiter, i % ITEMS), ==, i < 100 ? WEIR_MS(5) : WEIR_SECONDS(500));
    }
    CHECK_INT(asked, ==, 200);
    weir_limiter_free(limiter);
    teardown(&f);
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/limiters.h"

/* The scenarios of client-go's delaying_queue_test.go and rate_limiting_queue_test.go, as in
 * client_go_queue_test.c. */

TEST_EACH(simple_queue, "TestSimpleQueue: a delayed item comes at its time and once")
{
    struct fixture f;
    setup(&f, kind);
    add_after(&f, 0, WEIR_MS(50));
    CHECK_INT(weir_queue_len(f.queue), ==, 0);
    pass(&f, WEIR_MS(60));
    CHECK_INT(weir_queue_len(f.queue), ==, 1);
    get_and_done(&f, 0);
    pass(&f, WEIR_SECONDS(10));
    CHECK_INT(weir_queue_len(f.queue), ==, 0);
    teardown(&f);
}

TEST_EACH(deduping, "TestDeduping: of two delays the shorter counts, in either order")
{
    struct fixture f;
    setup(&f, kind);
    static const int64_t delays[2][2] = {{50, 70}, {50, 30}};
    for (unsigned i = 0; i < 2; i++) {
        add_after(&f, 0, WEIR_MS(delays[i][0]));
        add_after(&f, 0, WEIR_MS(delays[i][1]));
        CHECK_INT(weir_queue_len(f.queue), ==, 0);
        pass(&f, i == 0 ? WEIR_MS(60) : WEIR_MS(40));
        CHECK_INT(weir_queue_len(f.queue), ==, 1);
        get_and_done(&f, 0);
        pass(&f, WEIR_MS(20));
        CHECK_INT(weir_queue_len(f.queue), ==, 0);
    }
    teardown(&f);
}

TEST_EACH(add_two_fire_early, "TestAddTwoFireEarly: the shorter delay comes first, whenever added")
{
    struct fixture f;
    setup(&f, kind);
    add_after(&f, 0, WEIR_SECONDS(1));
    add_after(&f, 1, WEIR_MS(50));
    CHECK_INT(weir_queue_len(f.queue), ==, 0);
    pass(&f, WEIR_MS(60));
    struct weir_work second = get(&f, 1);
    add_after(&f, 2, WEIR_SECONDS(2));
    pass(&f, WEIR_SECONDS(1));
    struct weir_work first = get(&f, 0);
    CHECK_NOTHING_READY(&f);
    pass(&f, WEIR_SECONDS(2));
    struct weir_work third = get(&f, 2);
    done(&f, &first);
    done(&f, &second);
    done(&f, &third);
    teardown(&f);
}

TEST_EACH(copy_shifting, "TestCopyShifting: many due at once come in order of their times")
{
    struct fixture f;
    setup(&f, kind);
    add_after(&f, 0, WEIR_SECONDS(1));
    add_after(&f, 1, WEIR_MS(500));
    add_after(&f, 2, WEIR_MS(250));
    CHECK_INT(weir_queue_len(f.queue), ==, 0);
    pass(&f, WEIR_SECONDS(2));
    CHECK_INT(weir_queue_len(f.queue), ==, 3);
    get_and_done(&f, 2);
    get_and_done(&f, 1);
    get_and_done(&f, 0);
    teardown(&f);
}

TEST_EACH(rate_limiting_queue,
          "TestRateLimitingQueue: delays double per item until it is forgotten")
{
    weir_limiter *limiter = exponential(WEIR_MS(1), WEIR_SECONDS(1));
    struct fixture f;
    setup_with(&f, kind, limiter);
    check_wait(&f, 0, WEIR_MS(1));
    check_wait(&f, 0, WEIR_MS(2));
    CHECK_INT(requeues(&f, 0), ==, 2);
    check_wait(&f, 1, WEIR_MS(1));
    check_wait(&f, 1, WEIR_MS(2));
    forget(&f, 0);
    CHECK_INT(requeues(&f, 0), ==, 0);
    check_wait(&f, 0, WEIR_MS(1));
    teardown(&f);
    weir_limiter_free(limiter);
}

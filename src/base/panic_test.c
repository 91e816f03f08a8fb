/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/panic.h"

#include <stddef.h>

#include "support/harness.h"

static void panic(void *arg)
{
    weiri_panic("file.c", 123, arg);
}

TEST(message, "a panic names the place and the invariant, and aborts")
{
    char what[] = "all is well";
    test_must_abort(panic, what, "weir: broken invariant at file.c:123: all is well\n");
}

TEST(long_message, "a message longer than its buffer is cut")
{
    static char what[5000];
    memset(what, 'x', sizeof(what) - 1);
    test_must_abort(panic, what, "weir: broken invariant at file.c:123: xxxxxxxxxx");
}

static void assert_zero(void *arg)
{
    const int *number = arg;
    WEIRI_ASSERT(*number == 0);
}

TEST(assertions, "an assertion that holds does nothing, one that does not names its condition")
{
    int number = 0;
    assert_zero(&number);
    number = 1;
    test_must_abort(assert_zero, &number, "panic_test.c");
    test_must_abort(assert_zero, &number, ": *number == 0\n");
}

static void debug_assert_zero(void *arg)
{
    const int *number = arg;
    WEIRI_DEBUG_ASSERT(*number == 0);
}

TEST(debug_assertions, "a debug assertion is checked where NDEBUG is not set, and nothing else")
{
    int number = 1;
#ifdef NDEBUG
    debug_assert_zero(&number);
#else
    test_must_abort(debug_assert_zero, &number, ": *number == 0\n");
#endif
    number = 0;
    debug_assert_zero(&number);
}

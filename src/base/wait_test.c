/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/wait.h"

#include <weir/duration.h>

#include "base/time.h"
#include "support/harness.h"

TEST(end, "a sleep ends at its limit or after the bound, whichever comes first")
{
    int64_t before_ns = weiri_monotonic_now();
    CHECK_INT(weiri_wait_end(INT64_MIN), ==, INT64_MIN);
    CHECK_INT(weiri_wait_end(0), ==, 0);
    CHECK_INT(weiri_wait_end(before_ns + WEIR_MS(1)), ==, before_ns + WEIR_MS(1));
    CHECK_INT(weiri_wait_end(INT64_MAX), >=, before_ns + WEIRI_WAIT_MAX_NS);
    int64_t far_ns = weiri_wait_end(before_ns + 2 * WEIRI_WAIT_MAX_NS);
    CHECK_INT(far_ns, >=, before_ns + WEIRI_WAIT_MAX_NS);
    CHECK_INT(far_ns, <=, weiri_monotonic_now() + WEIRI_WAIT_MAX_NS);
}

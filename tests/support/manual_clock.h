/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_MANUAL_CLOCK_H
#define WEIR_TEST_MANUAL_CLOCK_H

#include <weir/clock.h>

#include "support/harness.h"

static inline weir_clock *manual_clock(int64_t start_ns)
{
    weir_clock *clock;
    CHECK_STATUS(weir_clock_manual_new(start_ns, test_allocator(), &clock), WEIR_OK);
    return clock;
}

#endif

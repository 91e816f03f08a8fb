/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_SUPPORT_ONE_PROCESSOR_H
#define WEIR_TEST_SUPPORT_ONE_PROCESSOR_H

#include <sched.h>

#include "support/harness.h"

/* Ties the calling thread, and those that it starts from now on, to the processor it runs on. To be
 * included with _GNU_SOURCE. */
static inline void test_keep_to_one_processor(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    int here = sched_getcpu();
    CHECK_INT(here, >=, 0);
    CPU_SET((size_t)here, &one);
    CHECK_INT(sched_setaffinity(0, sizeof(one), &one), ==, 0);
}

#endif

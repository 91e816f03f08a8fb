/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* sched_setaffinity */

#include "base/processors.h"

#include <sched.h>
#include <unistd.h>

#include "support/harness.h"

TEST(allowed, "what counts is what the thread may run on")
{
    CHECK_INT(weiri_processors(), >=, 1);
    CHECK_INT(weiri_processors(), <=, sysconf(_SC_NPROCESSORS_CONF));
    cpu_set_t one;
    CPU_ZERO(&one);
    int here = sched_getcpu();
    CHECK_INT(here, >=, 0);
    CPU_SET((size_t)here, &one);
    CHECK_INT(sched_setaffinity(0, sizeof(one), &one), ==, 0);
    CHECK_INT(weiri_processors(), ==, 1);
}

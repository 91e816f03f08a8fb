/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* sched_setaffinity */

#include "base/processors.h"

#include <unistd.h>

#include "support/harness.h"
#include "support/one_processor.h"

TEST(allowed, "what counts is what the thread may run on")
{
    CHECK_INT(weiri_processors(), >=, 1);
    CHECK_INT(weiri_processors(), <=, sysconf(_SC_NPROCESSORS_CONF));
    test_keep_to_one_processor();
    CHECK_INT(weiri_processors(), ==, 1);
}

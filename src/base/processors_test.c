/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* sched_setaffinity */

#include "base/processors.h"

#include <errno.h>
#include <unistd.h>

#include "support/forbid_call.h"
#include "support/harness.h"
#include "support/one_processor.h"

TEST(allowed, "what counts is what the thread may run on")
{
    CHECK_INT(weiri_processors(), >=, 1);
    CHECK_INT(weiri_processors(), <=, sysconf(_SC_NPROCESSORS_CONF));
    test_keep_to_one_processor();
    CHECK_INT(weiri_processors(), ==, 1);
}

/* On a thread of its own, where the call stays refused. */
static void count_refused(void *unused)
{
    (void)unused;
    test_forbid_call(SYS_sched_getaffinity, SECCOMP_RET_ERRNO | EINVAL);
    CHECK_INT(weiri_processors(), ==, sysconf(_SC_NPROCESSORS_ONLN));
}

TEST(refused, "if there are more than the set can hold, all count")
{
    test_join(test_start(count_refused, NULL));
}

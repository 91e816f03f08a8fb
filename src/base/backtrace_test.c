/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/backtrace.h"

#include "support/harness.h"

TEST(frames, "the addresses of the stack are stored, as many as fit")
{
    void *frames[64];
    int count = weiri_backtrace(frames, 64);
    CHECK_INT(count, >=, 2);
    CHECK_INT(count, <=, 64);
    void *first[2] = {NULL, NULL};
    CHECK_INT(weiri_backtrace(first, 1), ==, 1);
    CHECK(first[0] != NULL);
    CHECK(first[1] == NULL);
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/forked.h"

#include <sys/wait.h>
#include <unistd.h>

#include "support/harness.h"

TEST(marks, "a process' mark stays, and each child has one of its own")
{
    uint64_t mark = weiri_forked_mark();
    CHECK_INT(mark, ==, weiri_forked_mark());
    CHECK(!weiri_forked_since(mark));
    pid_t child = fork();
    if (child == 0) {
        CHECK(weiri_forked_since(mark));
        uint64_t own = weiri_forked_mark();
        CHECK_INT(own, >, mark);
        pid_t grandchild = fork();
        if (grandchild == 0) {
            CHECK(weiri_forked_since(mark) && weiri_forked_since(own));
            test_end_child();
        }
        int status;
        CHECK_INT(waitpid(grandchild, &status, 0), ==, grandchild);
        CHECK(status == 0 && !weiri_forked_since(own));
        test_end_child();
    }
    int status;
    CHECK_INT(waitpid(child, &status, 0), ==, child);
    CHECK(status == 0 && !weiri_forked_since(mark));
}

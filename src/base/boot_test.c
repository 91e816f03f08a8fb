/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/boot.h"

#include <sys/wait.h>
#include <unistd.h>

#include "support/harness.h"

TEST(same, "a boot has one name, in all processes")
{
    char name[WEIRI_BOOT_SIZE];
    weiri_boot_name(name);
    CHECK_INT(strlen(name), ==, 36);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        char again[WEIRI_BOOT_SIZE];
        weiri_boot_name(again);
        _exit(strcmp(name, again) == 0 ? 0 : 1);
    }
    int status;
    CHECK_INT(waitpid(child, &status, 0), ==, child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

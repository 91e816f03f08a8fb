/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/report.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/harness.h"

/* Logs the messages in turn, and returns how many lines that made. */
static int count_lines(const char *const *messages, size_t count, int turns)
{
    char said[8192];
    int saved = dup(STDERR_FILENO);
    int file = open("said", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(saved >= 0 && file >= 0 && dup2(file, STDERR_FILENO) == STDERR_FILENO);
    for (int turn = 0; turn < turns; turn++) {
        for (size_t i = 0; i < count; i++) {
            report_log(WEIR_LOG_WARNING, messages[i], NULL);
        }
    }
    CHECK(dup2(saved, STDERR_FILENO) == STDERR_FILENO);
    ssize_t size = pread(file, said, sizeof(said), 0);
    CHECK(size >= 0 && (size_t)size < sizeof(said));
    (void)close(saved);
    (void)close(file);
    int lines = 0;
    for (ssize_t i = 0; i < size; i++) {
        lines += said[i] == '\n';
    }
    return lines;
}

TEST(repeats, "messages of a log that take turns are one line each; new ones are told")
{
    static const char *const first[] = {"tubes: node a is away", "mail: node a is away"};
    static const char *const second[] = {"tubes: node b is away", "tubes: node a is away"};
    CHECK_INT(count_lines(first, 2, 20), ==, 2);
    CHECK_INT(count_lines(second, 2, 20), ==, 1);
}

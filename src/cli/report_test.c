/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* pipe2, F_SETPIPE_SZ */
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

TEST(full, "lines that standard error does not take are dropped, and counted once it takes one")
{
    char text[70000] = "";
    int ends[2];
    int saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 100);
    CHECK(saved >= 0 && pipe2(ends, O_CLOEXEC) == 0);
    CHECK_INT(fcntl(ends[0], F_SETFL, O_NONBLOCK), ==, 0);
    CHECK_INT(fcntl(ends[1], F_SETPIPE_SZ, 65536), ==, 65536);
    CHECK_INT(write(ends[1], text, 65536), ==, 65536);
    CHECK_INT(dup2(ends[1], STDERR_FILENO), ==, STDERR_FILENO);
    report_never_wait();
    for (int i = 0; i < 3; i++) {
        (void)report(0, "dropped %d", i);
    }
    CHECK_INT(read(ends[0], text, 65536), ==, 65536);
    (void)report(0, "written");
    (void)report(0, "written, too");
    CHECK_INT(dup2(saved, STDERR_FILENO), ==, STDERR_FILENO);
    ssize_t size = read(ends[0], text, sizeof(text) - 1);
    CHECK_INT(size, >, 0);
    text[size] = '\0';
    CHECK_STRING(text, "weir: standard error took nothing; lines dropped here: 3\n"
                       "weir: written\nweir: written, too\n");
    (void)close(saved);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* posix_openpt, ptsname_r */
#include "integration/terminal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct terminal terminal_open(void)
{
    char name[64];
    struct terminal terminal = {posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), -1};
    CHECK(terminal.ours >= 0);
    CHECK_INT(grantpt(terminal.ours), ==, 0);
    CHECK_INT(unlockpt(terminal.ours), ==, 0);
    CHECK_INT(ptsname_r(terminal.ours, name, sizeof(name)), ==, 0);
    terminal.theirs = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    CHECK(terminal.theirs >= 0);
    return terminal;
}

pid_t start_on_terminal(struct terminal *terminal, int on_terminal, const char *const argv[])
{
    *terminal = terminal_open();
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        bool is_set = true;
        for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
            bool is_asked = on_terminal == TERMINAL_ALL || on_terminal == fd;
            is_set = is_set && (!is_asked || dup2(terminal->theirs, fd) >= 0);
        }
        if (is_set) {
            (void)execv(WEIR_PROGRAM, (char *const *)argv);
        }
        _exit(99);
    }
    (void)close(terminal->theirs);
    return pid;
}

void read_terminal(const struct terminal *terminal, char *text, const char *part)
{
    size_t size = strlen(text);
    ssize_t count = 1;
    while (count > 0 && size < TEXT_MAX && (part == NULL || strstr(text, part) == NULL)) {
        /* Fails with EIO once the other end is closed for good. */
        count = read(terminal->ours, text + size, TEXT_MAX - size);
        size += count > 0 ? (size_t)count : 0;
        text[size] = '\0';
    }
}

int end_on_terminal(const struct terminal *terminal, pid_t pid)
{
    (void)close(terminal->ours);
    int status = 0;
    CHECK_INT(waitpid(pid, &status, 0), ==, pid);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_SUPPORT_KILLED_AT_H
#define WEIR_TEST_SUPPORT_KILLED_AT_H

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/harness.h"

/* A process that strace kills at its nth system call of a name. */
struct killed_at {
    pid_t worker;
    pid_t tracer;
};

enum {
    KILLED_AT_UNTRACED = 77
};

/* Waits to be traced. False: no process does. */
static inline bool killed_at_await_tracer(void)
{
    for (int i = 0; i < 60000; i++) {
        char text[2048];
        int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
        ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
        (void)close(fd);
        if (size <= 0) {
            return false;
        }
        text[size] = '\0';
        const char *tracer = strstr(text, "TracerPid:");
        if (tracer != NULL && strtol(tracer + 10, NULL, 10) != 0) {
            return true;
        }
        (void)poll(NULL, 0, 1); /* nothing tells of it */
    }
    return false;
}

/* Begins work(arg) in a process. */
static inline struct killed_at killed_at_begin(void (*work)(void *arg), void *arg, const char *name,
                                               int nth)
{
    struct killed_at killed = {fork(), -1};
    CHECK(killed.worker >= 0);
    if (killed.worker == 0) {
        if (!killed_at_await_tracer()) {
            _exit(KILLED_AT_UNTRACED);
        }
        work(arg);
        _exit(0);
    }
    killed.tracer = fork();
    CHECK(killed.tracer >= 0);
    if (killed.tracer == 0) {
        char pid[24];
        char trace[64];
        char inject[96];
        (void)snprintf(pid, sizeof(pid), "%ld", (long)killed.worker);
        (void)snprintf(trace, sizeof(trace), "trace=%s", name);
        (void)snprintf(inject, sizeof(inject), "inject=%s:signal=SIGKILL:when=%d", name, nth);
        int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);
        (void)dup2(quiet, STDERR_FILENO);
        (void)execlp("strace", "strace", "-qq", "-o", "/dev/null", "-p", pid, "-e", trace, "-e",
                     inject, (char *)NULL);
        _exit(127);
    }
    return killed;
}

/* Waits for its end. Returns whether it was killed. */
static inline bool killed_at_end(struct killed_at killed)
{
    int status;
    int ignored;
    CHECK_INT(waitpid(killed.worker, &status, 0), ==, killed.worker);
    CHECK_INT(waitpid(killed.tracer, &ignored, 0), ==, killed.tracer);
    if (WIFEXITED(status) && WEXITSTATUS(status) == KILLED_AT_UNTRACED) {
        test_skip("strace cannot trace here");
    }
    if (WIFEXITED(status)) {
        CHECK_INT(WEXITSTATUS(status), ==, 0);
        return false;
    }
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    return true;
}

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "support/internal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef TEST_COVERAGE
void __gcov_dump(void);

/* A process that aborts leaves no counts of the lines it ran: they are written on the way. */
static void write_counts(int signal)
{
    (void)signal;
    __gcov_dump();
}
#endif

_Noreturn void test_end_child(void)
{
#ifdef TEST_COVERAGE
    __gcov_dump();
#endif
    _exit(0);
}

_Noreturn static void run_child(void (*fn)(void *arg), void *arg, int output)
{
    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    if (dup2(output, STDERR_FILENO) < 0) {
        harness_die("dup2");
    }
#ifdef TEST_COVERAGE
    (void)signal(SIGABRT, write_counts);
#endif
    fn(arg);
    _exit(0);
}

void test_must_abort(void (*fn)(void *arg), void *arg, const char *text)
{
    int ends[2];
    if (pipe(ends) != 0) {
        test_fail(__FILE__, __LINE__, "pipe");
    }
    (void)fflush(NULL);
    pid_t child = fork();
    if (child < 0) {
        test_fail(__FILE__, __LINE__, "fork");
    }
    if (child == 0) {
        run_child(fn, arg, ends[1]);
    }
    (void)close(ends[1]);
    char output[4096];
    size_t length = 0;
    ssize_t got;
    while (length < sizeof(output) - 1 &&
           (got = read(ends[0], output + length, sizeof(output) - 1 - length)) > 0) {
        length += (size_t)got;
    }
    output[length] = '\0';
    (void)close(ends[0]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT) {
        test_fail(__FILE__, __LINE__, "did not abort (wait status %d), but wrote: %s", status,
                  output);
    }
    if (strstr(output, text) == NULL) {
        test_fail(__FILE__, __LINE__, "aborted with \"%s\", expected \"%s\"", output, text);
    }
}

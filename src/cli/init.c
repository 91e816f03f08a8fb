/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/init.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "cli/report.h"

/* Reaps all that have ended. Returns how the child did, as the exit status of a shell; -1: it runs.
 */
static int reap(pid_t child)
{
    int code = -1;
    int status = 0;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == child) {
            code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
    }
    return code;
}

_Noreturn static void serve(pid_t child)
{
    sigset_t all;
    int code = -1;
    (void)sigfillset(&all);
    while (code < 0) {
        int number = sigwaitinfo(&all, NULL);
        if (number > 0 && number != SIGCHLD) {
            (void)kill(child, number);
        }
        code = reap(child);
    }
    _exit(code);
}

void init_start(void)
{
    static const char *const names[] = {"LISTEN_PID", "WATCHDOG_PID"}; /* meant for process 1 */
    char number[16];
    sigset_t all;
    sigset_t before;
    if (getpid() != 1) {
        return;
    }
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, &before);
    (void)signal(SIGCHLD, SIG_DFL); /* else no end of a child would be told */
    pid_t child = fork();
    if (child > 0) {
        serve(child);
    }
    (void)setpgid(0, 0); /* a terminal's signals come through process 1, once */
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    (void)snprintf(number, sizeof(number), "%d", (int)getpid());
    for (size_t i = 0; i < 2; i++) {
        const char *value = getenv(names[i]);
        if (value != NULL && strcmp(value, "1") == 0) {
            (void)setenv(names[i], number, 1);
        }
    }
    if (child < 0) {
        (void)report(EX_OSERR, "no process beside process 1: %s; orphans are not reaped",
                     strerror(errno));
    }
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_SESSION_H
#define WEIRI_CLI_SESSION_H

#include <stdbool.h>
#include <sys/types.h>

/* A session is a program and all that it starts, in whatever process groups, except for what makes
 * a session of its own. Its number is the program's pid, which no other process gets before the
 * program is reaped and all members have ended. */

/* What /proc tells of a living process. */
struct process {
    int group;
    int session;
    unsigned long long started; /* in clock ticks since the boot */
};

/* Reads it. False: it has ended, or nothing is known. */
bool process_read(pid_t pid, struct process *ret_process);

/* Sends a signal (0: none) to each living member of the session of an unreaped child, and returns
 * whether there is one. Where /proc tells nothing, to the leader's group; true then. */
bool session_signal(pid_t session, int number);

#endif

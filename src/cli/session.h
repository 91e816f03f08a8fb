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

/* Reads it. False: all its threads have ended, or nothing is known. */
bool process_read(pid_t pid, struct process *ret_process);

/* What there is of a session. */
enum session_left {
    SESSION_GONE,    /* nothing */
    SESSION_UNKNOWN, /* /proc tells nothing, and its group has a member, if only a zombie */
    SESSION_FOREIGN, /* members that this process may not send signals */
    SESSION_LEFT     /* a member that the signal has reached */
};

/* Sends a signal (0: none) to each living member of the session of an unreaped child. Where /proc
 * tells nothing, to the leader's group. */
enum session_left session_signal(pid_t session, int number);

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_GUARD_H
#define WEIRI_CLI_GUARD_H

#include <sys/types.h>

/* A process that ends what a worker leaves behind when it is killed. Else programs of its jobs
 * would run on beside those of the next worker.
 *
 * The guard knows the worker's programs, each of which leads a session (session.h), by pid and
 * start time. All have a random word in their environment as well (WEIR_GUARD), and so has what
 * they start. The guard waits for the worker's end, and kills what is in these sessions or has the
 * word, until there is nothing. It does not find a process that has left its session and has no
 * word, nor a program that dropped the word before the worker could tell of it (decision 0060). One
 * of another user, which it may not kill, it waits for. */

/* Starts the guard. Called before there are threads and before a store is open. Without one (no
 * processes left) nothing is guarded. */
void guard_start(void);
/* Its pid; 0: there is none. */
int guard_pid(void);
/* Tells it of a child that leads a session, and of that child's end before it is reaped. */
void guard_add(pid_t pid);
void guard_remove(pid_t pid);
/* Ends it, and leaves all others alone. */
void guard_stop(void);

#endif

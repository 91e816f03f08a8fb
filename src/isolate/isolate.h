/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_ISOLATE_H
#define WEIRI_ISOLATE_H

#include <stdbool.h>

#include <weir/isolation.h>
#include <weir/status.h>

/* Runs a function in a process of its own, within limits. Three processes take part:
 *
 *   the program     forks the supervisor, then waits for the supervisor's end or for stop_fd
 *   the supervisor  forks the task's process, kills it on request, waits for it, and kills all
 *                   processes below it
 *   the task        calls the function
 *
 * The supervisor is needed because only a parent learns how a process ended. In the program other
 * code may take that away: it may ignore SIGCHLD, or wait for any child. */

#define WEIRI_ISOLATED_TEXT_SIZE 256
#define WEIRI_ISOLATED_FRAMES 64

struct weiri_isolated_call {
    const struct weir_isolation *isolation; /* checked by weiri_isolation_check(); borrowed */
    int stop_fd;           /* borrowed; the task is killed when it is readable; -1: never */
    int (*run)(void *arg); /* called in the task's process; returns the status */
    void *arg;
};

enum weiri_isolated_end {
    WEIRI_ISOLATED_RETURNED, /* status is what run() returned */
    WEIRI_ISOLATED_STOPPED,  /* it was killed because of stop_fd; status is WEIR_ECANCELED */
    WEIRI_ISOLATED_REFUSED,  /* it did not begin; status is WEIR_ENOMEM or WEIR_EIO */
    WEIRI_ISOLATED_LOST      /* it panicked, crashed, exited or was killed; status WEIR_EPANIC */
};

struct weiri_isolated_result {
    enum weiri_isolated_end end;
    int status;
    int signal;                          /* the signal that ended the task; else 0 */
    int exit_status;                     /* of a task that exited; else -1 */
    char text[WEIRI_ISOLATED_TEXT_SIZE]; /* REFUSED and LOST: why; RETURNED: what the task
                                            explained; else "" */
    int frame_count;                     /* of a panic or a crash; else 0 */
    void *frames[WEIRI_ISOLATED_FRAMES]; /* addresses in the task are addresses in the program */
};

/* WEIR_EINVAL, WEIR_ERANGE: a member is not as described. */
WEIR_NODISCARD enum weir_status weiri_isolation_check(const struct weir_isolation *isolation,
                                                      struct weir_error *ret_error);

/* Calls run(arg) in a process of its own, and returns when that process and all below it have
 * ended. */
void weiri_isolated_run(const struct weiri_isolated_call *call,
                        struct weiri_isolated_result *ret_result);

/* Fills a result for a task that did not begin because a system call failed; errno says why. */
void weiri_isolated_refuse(struct weiri_isolated_result *ret_result, const char *system_call);

/* Keeps what the result is to explain, cut to its size. For the function that runs in the task's
 * process. */
void weiri_isolated_explain(const char *text);

/* Ends the task's process with a panic. For the function that runs in it. */
_Noreturn void weiri_isolated_panic(const char *text);

#endif

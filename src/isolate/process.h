/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_ISOLATE_PROCESS_H
#define WEIRI_ISOLATE_PROCESS_H

#include <signal.h>
#include <sys/types.h>

#include "isolate/isolate.h"

/* The messages between the three processes. The program sends signals to the supervisor. The task
 * and the supervisor write results into a pipe. The program reads it when the supervisor has ended,
 * and takes the first result. So the result of a task that returned counts, even if the task was
 * killed after that. */

#define WEIRI_SIGNAL_BEGIN SIGUSR1 /* fork the task */
#define WEIRI_SIGNAL_KILL SIGUSR2  /* kill the task */

/* The result of a task that is lost. The caller adds the reason. */
#define WEIRI_RESULT_LOST                                                                          \
    (struct weiri_isolated_result)                                                                 \
    {                                                                                              \
        .end = WEIRI_ISOLATED_LOST, .status = WEIR_EPANIC, .exit_status = -1                       \
    }

/* Fills a result for a task that a signal ends, but for the frames. Takes no lock and no memory. */
void weiri_result_set_signal(struct weiri_isolated_result *ret_result, int signal);
/* Writes a result. A failure is ignored: the program has ended then. Async-signal-safe. */
void weiri_result_write(int pipe, const struct weiri_isolated_result *result);
/* Writes that the task did not begin because a system call failed, with errno, and exits. */
_Noreturn void weiri_result_refuse(int pipe, const char *system_call);

/* The supervisor's and the task's main functions. */
_Noreturn void weiri_supervisor_main(int pipe, pid_t program,
                                     const struct weiri_isolated_call *call);
_Noreturn void weiri_task_main(int pipe, pid_t supervisor, const struct weiri_isolated_call *call);

/* Sets the limits of the calling process; exits with weiri_result_refuse() where that fails. */
void weiri_limits_set(int pipe, const struct weir_isolation *isolation);

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_CHILD_H
#define WEIRI_CLI_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <weir/status.h>

#include "cli/capture.h"
#include "cli/control.h"

/* Runs a program as a child and waits for it.
 *
 * The child leads a session of its own, without a terminal (session.h), which the guard knows
 * (guard.h). It reads its input from a file in memory (so a child that does not read cannot block
 * us), shares our standard output, and has no other descriptors than its standard error, which is
 * passed on to ours (capture.h), and its control channel (control.h). It is waited for through a
 * pidfd, so there is no SIGCHLD handler and no mistaken pid.
 */

struct child_request {
    const char *path;         /* Of the program; argv[0] is as the user typed it. */
    char *const *argv;        /* NULL at the end. */
    char *const *environment; /* NULL at the end. */
    const void *input;        /* Its standard input. */
    size_t input_size;
    int64_t grace_ns;     /* Time between TERM and KILL. */
    const sigset_t *mask; /* Signals that are blocked in it. */
};

struct child_end {
    bool exited; /* By itself; else a signal ended it. */
    int number;  /* Its exit status, or that signal. */
    /* WEIR_OK: it ended before the context and the deadline did. Else why its session was ended:
     * the status of weir_context_check(), WEIR_ETIMEDOUT or WEIR_ECANCELED. */
    enum weir_status ended_by;
    size_t tail_size;
    char tail[CAPTURE_TAIL_SIZE]; /* The last bytes of its standard error. */
};

/* A child that was started. */
struct child {
    pid_t pid;
    int pidfd; /* -1: there was no descriptor left for one */
    struct capture capture;
    struct control control;
    struct control_run *run; /* the one it does, borrowed; NULL: none */
    int wake;                /* readable: child_wait() returns early; -1: nothing */
};

/* Raises the limit on descriptors to the need of count children at once, or as far as allowed. The
 * children inherit it. */
void child_raise_limit(uint32_t count);

/* A descriptor that is readable once the run's context has ended; -1: there may be too few. A
 * worker keeps it after the run, so without the limit above none would be left for children. */
int child_wake(const struct control_run *run);

/* The steps of child_run(), for one that outlives a run. */

/* Starts it with these as standard input and output (-1: ours). Returns 0 or an errno. */
int child_start(const struct child_request *request, int input, int output, struct child *child);
/* Waits for its end, for wait_ns at most (0 or less: not at all), passes on what it writes, and
 * does what it tells of its run. True: it has ended; false: not yet, maybe before that time. Its
 * zombie stays, so that no other session gets its number. */
bool child_wait(struct child *child, int64_t wait_ns);
/* Asks the whole session to end, by TERM. Returns whether there was any of it. */
bool child_ask(const struct child *child);
/* Ends the whole session, as below, and waits until nothing is left of it but what this process may
 * not end, which it tells of. */
void child_end_session(struct child *child, int64_t grace_ns);
/* Waits for its end and frees it; what it wrote is passed on within the grace once the run that it
 * did has ended. Returns 0 or an errno. */
int child_finish(struct child *child, int64_t grace_ns, struct child_end *ret_end);

/* Runs it to its end. When the context or the run's deadline ends first, the whole session gets
 * TERM and, once grace_ns has passed with one of them still alive, KILL. Returns 0, or an errno: it
 * was not started. */
int child_run(const struct child_request *request, struct control_run *run,
              struct child_end *ret_end);

#endif

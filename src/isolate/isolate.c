/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The program's side of an isolated task. */
#define _GNU_SOURCE /* pipe2, P_PIDFD, sigdescr_np, strerrordesc_np */
#include "isolate/isolate.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/backtrace.h"
#include "base/error.h"
#include "isolate/process.h"

_Static_assert(sizeof(struct weiri_isolated_result) <= PIPE_BUF, "it is written at once");

enum weir_status weiri_isolation_check(const struct weir_isolation *isolation,
                                       struct weir_error *ret_error)
{
    if ((isolation->flags & ~(uint32_t)WEIR_ISOLATION_CORE) != 0) {
        return weiri_fail(ret_error, WEIR_EINVAL, "isolation.flags is 0x%x: expected 0 or 0x%x",
                          (unsigned)isolation->flags, (unsigned)WEIR_ISOLATION_CORE);
    }
    return weiri_check_number("isolation.cpu_limit_ns", isolation->cpu_limit_ns, 0, INT64_MAX,
                              ret_error);
}

/* In the supervisor and the task no lock of the program's may be taken: other threads may have held
 * it at the fork. So none of these translates a message. */
void weiri_isolated_refuse(struct weiri_isolated_result *ret_result, const char *system_call)
{
    int error = errno;
    const char *words = strerrordesc_np(error);
    *ret_result = WEIRI_RESULT_LOST;
    ret_result->end = WEIRI_ISOLATED_REFUSED;
    ret_result->status = error == ENOMEM ? WEIR_ENOMEM : WEIR_EIO;
    (void)snprintf(ret_result->text, sizeof(ret_result->text), "not begun: %s: %s", system_call,
                   words != NULL ? words : "unknown error");
}

void weiri_result_set_signal(struct weiri_isolated_result *ret_result, int signal)
{
    const char *words = sigdescr_np(signal);
    *ret_result = WEIRI_RESULT_LOST;
    ret_result->signal = signal;
    (void)snprintf(ret_result->text, sizeof(ret_result->text), "ended by signal %d (%s)", signal,
                   words != NULL ? words : "unknown");
}

void weiri_result_write(int pipe, const struct weiri_isolated_result *result)
{
    while (write(pipe, result, sizeof(*result)) < 0 && errno == EINTR) {
    }
}

_Noreturn void weiri_result_refuse(int pipe, const char *system_call)
{
    struct weiri_isolated_result result;
    weiri_isolated_refuse(&result, system_call);
    weiri_result_write(pipe, &result);
    _exit(1);
}

/* All signals are blocked across the fork, so that none of the program's handlers runs in the
 * supervisor. sigprocmask() changes the mask of the calling thread alone. */
static pid_t fork_supervisor(const struct weiri_isolated_call *call, const int *ends)
{
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before); /* NOLINT(concurrency-mt-unsafe) */
    pid_t program = getpid();
    pid_t supervisor = fork();
    if (supervisor == 0) {
        (void)close(ends[0]);
        weiri_supervisor_main(ends[1], program, call);
    }
    (void)sigprocmask(SIG_SETMASK, &before, NULL); /* NOLINT(concurrency-mt-unsafe) */
    return supervisor;
}

/* Starts the supervisor. Returns its pidfd, or -1 with a refusal in *ret_result. */
static int start_supervisor(const struct weiri_isolated_call *call, const int *ends,
                            struct weiri_isolated_result *ret_result)
{
    void *frame[1];
    (void)weiri_backtrace(frame, 1); /* the crash handler must not make the first call */
    pid_t supervisor = fork_supervisor(call, ends);
    if (supervisor < 0) {
        weiri_isolated_refuse(ret_result, "fork");
        return -1;
    }
    /* The supervisor waits for WEIRI_SIGNAL_BEGIN, so its number still means the supervisor. */
    int pidfd = pidfd_open(supervisor, 0);
    if (pidfd < 0) {
        weiri_isolated_refuse(ret_result, "pidfd_open");
        (void)kill(supervisor, SIGKILL);
        (void)waitpid(supervisor, NULL, 0);
        return -1;
    }
    (void)pidfd_send_signal(pidfd, WEIRI_SIGNAL_BEGIN, NULL, 0);
    return pidfd;
}

/* Waits for the supervisor's end. Makes the supervisor kill the task when stop_fd is readable;
 * returns whether it did. */
static bool wait_supervisor(int pidfd, int stop_fd)
{
    bool is_stopped = false;
    struct pollfd fds[] = {{.fd = pidfd, .events = POLLIN}, {.fd = stop_fd, .events = POLLIN}};
    while (fds[0].revents == 0) {
        if (poll(fds, 2, -1) > 0 && fds[0].revents == 0 && fds[1].revents != 0) {
            (void)pidfd_send_signal(pidfd, WEIRI_SIGNAL_KILL, NULL, 0);
            is_stopped = true;
            fds[1].fd = -1; /* ignored by poll() */
        }
    }
    siginfo_t info;
    /* ECHILD: the program ignores SIGCHLD, or waits for any child. */
    while (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED) != 0 && errno == EINTR) {
    }
    return is_stopped;
}

void weiri_isolated_run(const struct weiri_isolated_call *call,
                        struct weiri_isolated_result *ret_result)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        weiri_isolated_refuse(ret_result, "pipe2");
        return;
    }
    int pidfd = start_supervisor(call, ends, ret_result);
    (void)close(ends[1]);
    if (pidfd >= 0) {
        bool is_stopped = wait_supervisor(pidfd, call->stop_fd);
        (void)close(pidfd);
        *ret_result = WEIRI_RESULT_LOST;
        if (read(ends[0], ret_result, sizeof(*ret_result)) != (ssize_t)sizeof(*ret_result)) {
            (void)snprintf(ret_result->text, sizeof(ret_result->text),
                           "its process and its supervisor's were killed");
        }
        if (is_stopped && ret_result->signal == SIGKILL) {
            ret_result->end = WEIRI_ISOLATED_STOPPED;
            ret_result->status = WEIR_ECANCELED;
        }
    }
    (void)close(ends[0]);
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The keeper of an isolated task. It is a copy of the program, of which it uses nothing. */
#define _GNU_SOURCE /* close_range, pidfd_open, signalfd */
#include "pool/isolate.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the kernel sends the keeper when the program ends. Like all others it is blocked, so it is
 * kept until the keeper looks, whatever the program does with it. */
#define PROGRAM_ENDS SIGHUP

static _Noreturn void fail(int socket, const char *what)
{
    struct weiri_message message = {.word = WEIRI_WORD_FAILED, .error = errno};
    (void)snprintf(message.text, sizeof(message.text), "%s", what);
    weiri_isolate_say(socket, &message);
    _exit(1);
}

/* Keeps no descriptor but the socket: whoever waits for the end of a pipe or a connection of the
 * program's must not wait for the keeper. */
static void close_others(int socket)
{
    if (socket > 0) {
        (void)close_range(0, (unsigned)socket - 1, 0);
    }
    (void)close_range((unsigned)socket + 1, UINT_MAX, 0);
}

/* Not reaped, so its number and its group's are its own. */
static void kill_group(pid_t task)
{
    (void)kill(-task, SIGKILL);
    (void)kill(task, SIGKILL); /* it may have left its group */
}

static _Noreturn void fail_after_fork(int socket, pid_t task, const char *what)
{
    int why = errno;
    kill_group(task);
    errno = why;
    fail(socket, what);
}

/* A descriptor that tells of each signal that the program's end may have sent. */
static int open_signals(void)
{
    sigset_t ends;
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, PROGRAM_ENDS);
    return signalfd(-1, &ends, SFD_CLOEXEC);
}

/* Takes a signal. The program's threads may end one by one, each with a signal; the last one's is
 * sent when the keeper has another parent already. */
static bool has_ended(pid_t program, int signals)
{
    struct signalfd_siginfo info;
    (void)!read(signals, &info, sizeof(info));
    return getppid() != program;
}

static _Noreturn void keep(int socket, pid_t program, pid_t task)
{
    int pidfd = pidfd_open(task, 0);
    if (pidfd < 0) {
        fail_after_fork(socket, task, "pidfd_open");
    }
    int signals = open_signals();
    if (signals < 0) {
        fail_after_fork(socket, task, "signalfd");
    }
    struct pollfd pollers[] = {{.fd = socket, .events = POLLIN},
                               {.fd = pidfd, .events = POLLIN},
                               {.fd = signals, .events = POLLIN}};
    do {
        (void)poll(pollers, 3, -1);
        if (pollers[2].revents != 0 && has_ended(program, signals)) {
            kill_group(task);
        }
        struct weiri_message message;
        if (pollers[0].revents != 0) {
            kill_group(task);
            if (!weiri_isolate_hear(socket, false, &message)) {
                pollers[0].fd = -1; /* nobody is there any more */
            }
        }
    } while (pollers[1].revents == 0);
    kill_group(task); /* what it has left behind */
    siginfo_t info;
    if (waitid(P_PID, (id_t)task, &info, WEXITED) != 0) {
        fail(socket, "waitid");
    }
    bool has_exited = info.si_code == CLD_EXITED;
    const struct weiri_message message = {
        .word = WEIRI_WORD_ENDED,
        .signal = has_exited ? 0 : info.si_status,
        .exit_status = has_exited ? info.si_status : -1,
    };
    weiri_isolate_say(socket, &message);
    _exit(0);
}

void weiri_keeper_main(int socket, pid_t program, const weir_context *context)
{
    /* Whatever the terminal or a shell sends to the program's group is not for the keeper, which
     * ends with its program (or rather with the worker that made it). */
    sigset_t all;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL); /* NOLINT(concurrency-mt-unsafe): one thread */
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* while there is no task to be seen to */
    (void)sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    struct weiri_message message;
    if (getppid() != program || !weiri_isolate_hear(socket, true, &message)) {
        _exit(1);
    }
    (void)prctl(PR_SET_PDEATHSIG, PROGRAM_ENDS);
    if (getppid() != program) {
        _exit(1);
    }
    pid_t keeper = getpid();
    pid_t task = fork();
    if (task == 0) {
        weiri_task_main(socket, keeper, context);
    }
    if (task < 0) {
        fail(socket, "fork");
    }
    (void)setpgid(task, task); /* whoever of the two comes first */
    close_others(socket);
    keep(socket, program, task);
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The process of an isolated task. */
#define _GNU_SOURCE /* NSIG */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/backtrace.h"
#include "base/panic.h"
#include "isolate/process.h"

#define CRASH_STACK_SIZE 65536

/* Of the task's process, which has one thread when they are set. Processes that the task forks have
 * copies of them, and another pid. */
static pid_t task_pid;
static int task_pipe;
static char crash_stack[CRASH_STACK_SIZE];
static struct weiri_isolated_result crash;
static char explanation[WEIRI_ISOLATED_TEXT_SIZE];

/* Reports where the task crashed, and raises the signal again: it is not handled any more. */
static void on_crash(int signal)
{
    if (getpid() == task_pid) {
        weiri_result_set_signal(&crash, signal);
        crash.frame_count = weiri_backtrace(crash.frames, WEIRI_ISOLATED_FRAMES);
        weiri_result_write(task_pipe, &crash);
    }
    (void)raise(signal);
}

/* As exec does: handlers are of no use here, since they change the copy of the program's memory. */
static void reset_signals(void)
{
    for (int signal = 1; signal < NSIG; signal++) {
        struct sigaction action;
        if (sigaction(signal, NULL, &action) == 0 &&
            (action.sa_handler != SIG_IGN || signal == SIGCHLD)) {
            (void)sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
        }
    }
}

static void watch_crashes(void)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS};
    const stack_t stack = {.ss_sp = crash_stack, .ss_size = sizeof(crash_stack)};
    (void)sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK | (int)SA_RESETHAND};
    for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++) {
        (void)sigaction(crashes[i], &action, NULL);
    }
}

static void unblock_signals(void)
{
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL); /* NOLINT(concurrency-mt-unsafe): one thread */
}

static void set_input(int pipe)
{
    int fd = open("/dev/null", O_RDONLY);
    if (fd < 0 || dup2(fd, STDIN_FILENO) < 0) {
        weiri_result_refuse(pipe, "/dev/null");
    }
    if (fd != STDIN_FILENO) {
        (void)close(fd);
    }
}

/* A result from a process that the task has forked would be taken for the task's own. */
static void assert_is_task(void)
{
    if (getpid() != task_pid) {
        weiri_panic(__FILE__, __LINE__,
                    "a process that a task forks has to end with exec or _exit()");
    }
}

void weiri_isolated_explain(const char *text)
{
    (void)snprintf(explanation, sizeof(explanation), "%s", text);
}

void weiri_isolated_panic(const char *text)
{
    assert_is_task();
    struct weiri_isolated_result result = WEIRI_RESULT_LOST;
    strncpy(result.text, text, sizeof(result.text) - 1);
    result.frame_count = weiri_backtrace(result.frames, WEIRI_ISOLATED_FRAMES);
    weiri_result_write(task_pipe, &result);
    _exit(0);
}

void weiri_task_main(int pipe, pid_t supervisor, const struct weiri_isolated_call *call)
{
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != supervisor) { /* it ended before prctl() */
        _exit(1);
    }
    task_pid = getpid();
    task_pipe = pipe;
    set_input(pipe);
    reset_signals();
    watch_crashes();
    unblock_signals();
    weiri_limits_set(pipe, call->isolation);
    int status = call->run(call->arg);
    assert_is_task();
    struct weiri_isolated_result result = {
        .end = WEIRI_ISOLATED_RETURNED, .status = status, .exit_status = -1};
    memcpy(result.text, explanation, sizeof(result.text));
    weiri_result_write(pipe, &result);
    _exit(0);
}

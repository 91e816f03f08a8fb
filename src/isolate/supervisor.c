/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The supervisor of an isolated task: a fork of the program. It uses none of the program's objects,
 * and takes no lock and no memory, since other threads may have held those at the fork. */
#define _GNU_SOURCE /* close_range, getdents64 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isolate/process.h"

/* The kernel sends this signal to the supervisor when the thread that forked it ends. */
#define SIGNAL_PARENT_ENDED SIGHUP

/* Closes every descriptor but the pipe: readers of a pipe or a connection of the program's must not
 * wait for the supervisor. */
static void close_others(int pipe)
{
    if (pipe > 0) {
        (void)close_range(0, (unsigned)pipe - 1, 0);
    }
    (void)close_range((unsigned)pipe + 1, UINT_MAX, 0);
}

/* Kills the task and its group. The task is not reaped yet, so both numbers still mean it. */
static void kill_task(pid_t task)
{
    (void)kill(-task, SIGKILL);
    (void)kill(task, SIGKILL); /* it may have joined another group */
}

/* Reaps the children that have ended, except for the task. True: the task has ended. */
static bool reap_others(pid_t task)
{
    siginfo_t info = {.si_pid = 0};
    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
        if (info.si_pid == task) {
            return true;
        }
        (void)waitid(P_PID, (id_t)info.si_pid, &info, WEXITED);
        info.si_pid = 0;
    }
    return false;
}

/* Kills a process and reaps it, if it is a child of the supervisor. False: it is none, or it may
 * not be killed. A child's number means that child until it is reaped. */
static bool end_child(pid_t pid)
{
    siginfo_t info;
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           kill(pid, SIGKILL) == 0 && waitid(P_PID, (id_t)pid, &info, WEXITED) == 0;
}

/* Tries end_child() on each process that /proc lists. False: no child was killed. */
static bool end_listed_children(int proc)
{
    bool has_ended_one = false;
    _Alignas(struct dirent64) char entries[4096];
    (void)lseek(proc, 0, SEEK_SET);
    ssize_t size = getdents64(proc, entries, sizeof(entries));
    while (size > 0) {
        for (ssize_t at = 0; at < size;) {
            const struct dirent64 *entry = (const void *)(entries + at);
            pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10); /* 0: not a process */
            has_ended_one = (pid > 0 && end_child(pid)) || has_ended_one;
            at += entry->d_reclen;
        }
        size = getdents64(proc, entries, sizeof(entries));
    }
    return has_ended_one;
}

static bool has_children(void)
{
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* Kills all processes below the supervisor. The supervisor is a subreaper: children of a process
 * that ends become its own. While a process that can be killed is left, it or its topmost ancestor
 * is a child of the supervisor when a pass begins, so the pass ends one. */
static void end_descendants(void)
{
    if (!has_children()) {
        return;
    }
    int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (proc >= 0) {
        while (end_listed_children(proc)) {
        }
        (void)close(proc);
    }
}

/* Waits for the task's end. Kills the task if the program asks for it or ends. */
static _Noreturn void supervise(int pipe, pid_t program, pid_t task)
{
    sigset_t all;
    (void)sigfillset(&all);
    while (!reap_others(task)) {
        int signal = sigwaitinfo(&all, NULL); /* also SIGCHLD */
        /* A program's thread may end without the program. */
        if (signal == WEIRI_SIGNAL_KILL ||
            (signal == SIGNAL_PARENT_ENDED && getppid() != program)) {
            kill_task(task);
        }
    }
    kill_task(task); /* the rest of its group */
    siginfo_t info;
    (void)waitid(P_PID, (id_t)task, &info, WEXITED);
    end_descendants();
    struct weiri_isolated_result result = WEIRI_RESULT_LOST;
    if (info.si_code == CLD_EXITED) {
        result.exit_status = info.si_status;
        (void)snprintf(result.text, sizeof(result.text), "exited with status %d", info.si_status);
    } else {
        weiri_result_set_signal(&result, info.si_status);
    }
    weiri_result_write(pipe, &result);
    _exit(0);
}

/* Until WEIRI_SIGNAL_BEGIN the kernel kills the supervisor with its parent. */
static void await_begin(pid_t program)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t begin;
    (void)sigemptyset(&begin);
    (void)sigaddset(&begin, WEIRI_SIGNAL_BEGIN);
    while (getppid() == program && sigwaitinfo(&begin, NULL) < 0) {
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGNAL_PARENT_ENDED);
    if (getppid() != program) { /* it ended before the first or the second prctl() */
        _exit(1);
    }
}

/* All signals are blocked (isolate.c) and stay so: supervise() takes them one by one. */
void weiri_supervisor_main(int pipe, pid_t program, const struct weiri_isolated_call *call)
{
    (void)setpgid(0, 0); /* signals to the program's group, as of a terminal, are not for it */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    (void)sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    await_begin(program);
    pid_t supervisor = getpid();
    pid_t task = fork();
    if (task == 0) {
        weiri_task_main(pipe, supervisor, call);
    }
    if (task < 0) {
        weiri_result_refuse(pipe, "fork");
    }
    (void)setpgid(task, task); /* the task does the same: one of the two comes first */
    close_others(pipe);
    supervise(pipe, program, task);
}

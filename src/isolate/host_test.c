/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Isolated tasks: the state that the child inherits, and calls that the program may make meanwhile.
 */
#define _GNU_SOURCE /* NSIG */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isolate/task.h"
#include "support/forbid_call.h"

static void ignore(int signal)
{
    (void)signal;
}

static int check_start(struct task *task)
{
    (void)task;
    sigset_t blocked;
    CHECK_INT(sigprocmask(SIG_SETMASK, NULL, &blocked), ==, 0);
    for (int signal = 1; signal < NSIG; signal++) {
        CHECK(sigismember(&blocked, signal) != 1);
    }
    struct sigaction action;
    CHECK_INT(sigaction(SIGUSR1, NULL, &action), ==, 0);
    CHECK(action.sa_handler == SIG_DFL);
    CHECK_INT(sigaction(SIGUSR2, NULL, &action), ==, 0);
    CHECK(action.sa_handler == SIG_IGN);
    char byte;
    CHECK_INT(read(STDIN_FILENO, &byte, 1), ==, 0);
    CHECK_INT(getpgrp(), ==, getpid());
    return WEIR_EUSER;
}

/* Sets what the child must not inherit. */
static void set_signals(void)
{
    sigset_t all;
    (void)sigfillset(&all);
    CHECK_INT(sigprocmask(SIG_SETMASK, &all, NULL), ==, 0);
    CHECK_INT(sigaction(SIGUSR1, &(struct sigaction){.sa_handler = ignore}, NULL), ==, 0);
    CHECK_INT(sigaction(SIGUSR2, &(struct sigaction){.sa_handler = SIG_IGN}, NULL), ==, 0);
}

TEST(inherits, "the child has no signal blocked or handled, and nothing to read on standard input")
{
    int pipes[2];
    CHECK_INT(pipe(pipes), ==, 0);
    CHECK_INT(dup2(pipes[0], STDIN_FILENO), ==, STDIN_FILENO);
    (void)close(pipes[0]);
    CHECK(write(pipes[1], "x", 1) == 1);
    set_signals();
    struct task task = task_run_body(check_start);
    task_check_returned(&task, WEIR_EUSER);
    sigset_t blocked;
    CHECK_INT(sigprocmask(SIG_SETMASK, NULL, &blocked), ==, 0);
    CHECK_INT(sigismember(&blocked, SIGTERM), ==, 1); /* the program's mask is as it was */
    char byte = 0;
    CHECK(read(STDIN_FILENO, &byte, 1) == 1);
    (void)close(pipes[1]);
}

/* Becomes a program that prints its blocked signals. */
static int execute(struct task *task)
{
    CHECK_INT(dup2(task->pipes[1], STDOUT_FILENO), ==, STDOUT_FILENO);
    (void)execlp("grep", "grep", "SigBlk", "/proc/self/status", (char *)NULL);
    return WEIR_EUSER;
}

TEST(executed, "a program that the task executes has no signal blocked")
{
    set_signals();
    struct task task = task_of(execute);
    CHECK_INT(pipe(task.pipes), ==, 0);
    task_run(&task);
    task_check_lost(&task, 0, 0);
    char text[64] = "";
    CHECK(read(task.pipes[0], text, sizeof(text) - 1) > 0);
    CHECK_STRING(text, "SigBlk:\t0000000000000000\n");
    (void)close(task.pipes[0]);
    (void)close(task.pipes[1]);
}

static int crash(struct task *task)
{
    (void)task;
    (void)raise(SIGSEGV);
    return WEIR_OK;
}

TEST(children_ignored, "a program that ignores SIGCHLD hears how its task ended all the same")
{
    CHECK_INT(sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_IGN}, NULL), ==, 0);
    struct task task = task_run_body(crash);
    task_check_lost(&task, SIGSEGV, -1);
}

static atomic_bool reaper_ends;

static void reap_all(void *arg)
{
    (void)arg;
    while (!atomic_load(&reaper_ends)) {
        (void)waitpid(-1, NULL, 0); /* without a child it fails at once */
    }
}

TEST(children_reaped, "so does one in which a thread waits for any child there is")
{
    struct test_thread *reaper = test_start(reap_all, NULL);
    for (int i = 0; i < 20; i++) {
        struct task task = task_run_body(crash);
        task_check_lost(&task, SIGSEGV, -1);
    }
    atomic_store(&reaper_ends, true);
    test_join(reaper);
}

static int open_files(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    CHECK(folder != NULL);
    while (readdir(folder) != NULL) {
        count++;
    }
    (void)closedir(folder);
    return count;
}

TEST(nothing_left, "after many runs there is no zombie, and no descriptor more than before")
{
    int before = open_files();
    for (int i = 0; i < 20; i++) {
        (void)task_run_body(crash);
        CHECK_INT(open_files(), ==, before);
        errno = 0;
        CHECK_INT(waitpid(-1, NULL, WNOHANG), ==, -1);
        CHECK_INT(errno, ==, ECHILD);
    }
}

struct refusal {
    unsigned call;
    unsigned error;
    enum weir_status status;
    const char *text;
};

/* On a thread of its own, whose calls of this kind fail from now on. */
static void refuse(void *arg)
{
    const struct refusal *refusal = arg;
    test_forbid_call(refusal->call, SECCOMP_RET_ERRNO | refusal->error);
    struct task task = task_of(crash);
    task.isolation.memory_limit = 1;
    task_run(&task);
    CHECK_INT(task.result.end, ==, WEIRI_ISOLATED_REFUSED);
    CHECK_STATUS(task.result.status, refusal->status);
    CHECK_STRING(task.result.text, refusal->text);
    CHECK_INT(task.result.signal, ==, 0);
    CHECK_INT(task.result.exit_status, ==, -1);
}

TEST(refused, "what the system refuses is the status and the text, and nothing is left of it")
{
    static struct refusal refusals[] = {
        {SYS_pipe2, EMFILE, WEIR_EIO, "not begun: pipe2: Too many open files"},
        {SYS_clone, EAGAIN, WEIR_EIO, "not begun: fork: Resource temporarily unavailable"},
        {SYS_clone, ENOMEM, WEIR_ENOMEM, "not begun: fork: Cannot allocate memory"},
        {SYS_pidfd_open, EMFILE, WEIR_EIO, "not begun: pidfd_open: Too many open files"},
        {SYS_dup2, EBADF, WEIR_EIO, "not begun: /dev/null: Bad file descriptor"},
        {SYS_prlimit64, EPERM, WEIR_EIO, "not begun: setrlimit: Operation not permitted"},
    };
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        test_join(test_start(refuse, &refusals[i]));
    }
}

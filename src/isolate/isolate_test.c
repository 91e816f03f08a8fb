/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Isolated tasks: the results that the program gets. */
#include "isolate/isolate.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isolate/task.h"

static int return_number(struct task *task)
{
    int number = task->number;
    task->number = -1; /* in the child's memory */
    return number;
}

TEST(returns, "the status of an isolated task is what it returned; its memory is a copy")
{
    static const int numbers[] = {WEIR_OK, WEIR_EUSER + 5, WEIR_ESTOP, WEIR_EPANIC, -1};
    struct task task = task_of(return_number);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        task.number = numbers[i];
        task_run(&task);
        task_check_returned(&task, numbers[i]);
        CHECK_INT(task.number, ==, numbers[i]);
    }
}

static int end_by_signal(struct task *task)
{
    (void)raise(task->number);
    return WEIR_OK;
}

TEST(signals, "a signal that ends the child is reported with its number and name")
{
    static const int numbers[] = {SIGSEGV, SIGABRT, SIGBUS,  SIGFPE,  SIGILL,
                                  SIGKILL, SIGTERM, SIGUSR1, SIGXCPU, SIGSYS};
    struct task task = task_of(end_by_signal);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        task.number = numbers[i];
        task_run(&task);
        task_check_lost(&task, numbers[i], -1);
        char expected[32];
        (void)snprintf(expected, sizeof(expected), "ended by signal %d (", numbers[i]);
        CHECK(strncmp(task.result.text, expected, strlen(expected)) == 0);
    }
}

/* Writes to an address where nothing is ever mapped. It is not NULL, which a sanitizer would catch.
 */
static int write_to_nowhere(struct task *task)
{
    (void)task;
    int *volatile nowhere = (int *)(uintptr_t)4096; /* NOLINT(performance-no-int-to-ptr) */
    *nowhere = 1;
    return WEIR_OK;
}

static int overflow(int depth) /* NOLINT(misc-no-recursion): that is the point */
{
    volatile char frame[4096];
    frame[0] = (char)depth;
    return depth < 0 ? 0 : overflow(depth + 1) + frame[0];
}

static int overflow_stack(struct task *task)
{
    return overflow(task->number);
}

TEST(crashes, "a wild pointer and an endless stack end the child, which reports its stack")
{
    struct task wild = task_run_body(write_to_nowhere);
    task_check_lost(&wild, SIGSEGV, -1);
    CHECK_STRING(wild.result.text, "ended by signal 11 (Segmentation fault)");
    CHECK_INT(wild.result.frame_count, >=, 4);
    struct task deep = task_run_body(overflow_stack);
    task_check_lost(&deep, SIGSEGV, -1);
}

static int leave(struct task *task)
{
    _exit(task->number);
}

TEST(exits, "a child that exits is lost, also where it says that all is well")
{
    struct task task = task_of(leave);
    for (int number = 0; number <= 255; number += 51) {
        task.number = number;
        task_run(&task);
        task_check_lost(&task, 0, number);
        CHECK_INT(task.result.frame_count, ==, 0);
    }
    CHECK_STRING(task.result.text, "exited with status 255");
}

static int panic_with_long_text(struct task *task)
{
    char text[2 * WEIRI_ISOLATED_TEXT_SIZE];
    memset(text, 'x', sizeof(text) - 1);
    text[task->number] = '\0';
    weiri_isolated_panic(text);
}

TEST(panics, "a panic is reported with its message, as far as that fits, and the stack")
{
    struct task task = task_of(panic_with_long_text);
    task.number = 3;
    task_run(&task);
    task_check_lost(&task, 0, -1);
    CHECK_STRING(task.result.text, "xxx");
    CHECK_INT(task.result.frame_count, >=, 4);
    task.number = 2 * WEIRI_ISOLATED_TEXT_SIZE - 1;
    task_run(&task);
    CHECK_INT(strlen(task.result.text), ==, WEIRI_ISOLATED_TEXT_SIZE - 1);
}

static int sleep_on(struct task *task)
{
    CHECK(write(task->pipes[1], "x", 1) == 1);
    for (;;) {
        (void)pause();
    }
}

TEST(stopped, "a child is killed when the descriptor is readable, also from the beginning")
{
    struct task task = task_of(sleep_on);
    CHECK_INT(pipe(task.pipes), ==, 0);
    task.stop_fd = task.pipes[0]; /* the child makes it readable by itself */
    task_run(&task);
    CHECK_INT(task.result.end, ==, WEIRI_ISOLATED_STOPPED);
    CHECK_STATUS(task.result.status, WEIR_ECANCELED);
    task_run(&task);
    CHECK_INT(task.result.end, ==, WEIRI_ISOLATED_STOPPED);
    (void)close(task.pipes[0]);
    (void)close(task.pipes[1]);
}

static int kill_self(struct task *task)
{
    (void)task;
    (void)raise(SIGKILL);
    return WEIR_OK;
}

TEST(killed_by_others, "a child that something else kills is lost, not stopped")
{
    struct task task = task_of(kill_self);
    CHECK_INT(pipe(task.pipes), ==, 0);
    task.stop_fd = task.pipes[0];
    task_run(&task);
    task_check_lost(&task, SIGKILL, -1);
    (void)close(task.pipes[0]);
    (void)close(task.pipes[1]);
}

/* Forks a child that does something forbidden to it. Returns the signal that ended the child. */
static int await_fork(struct task *task, int (*body)(struct task *))
{
    pid_t child = fork();
    if (child == 0) {
        (void)close(STDERR_FILENO);
        CHECK_INT(dup(task->pipes[1]), ==, STDERR_FILENO);
        return body(task);
    }
    int status;
    CHECK_INT(waitpid(child, &status, 0), ==, child);
    CHECK(WIFSIGNALED(status));
    return WTERMSIG(status);
}

static int fork_that_returns(struct task *task)
{
    return await_fork(task, return_number);
}

static int fork_that_panics(struct task *task)
{
    return await_fork(task, panic_with_long_text);
}

static int fork_that_crashes(struct task *task)
{
    return await_fork(task, write_to_nowhere);
}

/* Runs a task, and checks that its own child ends with this signal. Returns the child's output. */
static void run_fork(int (*body)(struct task *), int signal, char *ret_text, size_t size)
{
    struct task task = task_of(body);
    CHECK_INT(pipe(task.pipes), ==, 0);
    task_run(&task);
    task_check_returned(&task, signal);
    CHECK_INT(task.result.frame_count, ==, 0);
    (void)close(task.pipes[1]);
    ssize_t length = read(task.pipes[0], ret_text, size - 1);
    CHECK(length >= 0);
    ret_text[length] = '\0';
    (void)close(task.pipes[0]);
}

TEST(forks, "a process that the task forks is never taken for the task: it may not return or panic")
{
    char text[512];
    run_fork(fork_that_returns, SIGABRT, text, sizeof(text));
    CHECK(strstr(text, "has to end with exec or _exit()") != NULL);
    run_fork(fork_that_panics, SIGABRT, text, sizeof(text));
    CHECK(strstr(text, "has to end with exec or _exit()") != NULL);
    run_fork(fork_that_crashes, SIGSEGV, text, sizeof(text));
}

TEST(bad_options, "isolation options are checked")
{
    static const struct {
        struct weir_isolation isolation;
        enum weir_status status;
    } cases[] = {
        {{0}, WEIR_OK},
        {{.flags = 2}, WEIR_EINVAL},
        {{.cpu_limit_ns = -1}, WEIR_ERANGE},
        {{.cpu_limit_ns = INT64_MIN}, WEIR_ERANGE},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CHECK_STATUS(weiri_isolation_check(&cases[i].isolation, NULL), cases[i].status);
    }
}

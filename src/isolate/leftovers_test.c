/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Isolated tasks: the processes that they leave behind end with them. */
#define _GNU_SOURCE /* pidfd_open */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isolate/task.h"
#include "support/forbid_call.h"

#define PROCESSES 3

static _Noreturn void sleep_on(void)
{
    for (;;) {
        (void)pause();
    }
}

/* Runs a task. Each of its processes has the pipe open, and writes a byte when it is ready. All
 * must have ended when the run has, so the pipe ends after their bytes. */
static void run_and_check(struct task *task, int processes)
{
    if (task->stop_fd < 0) {
        CHECK_INT(pipe(task->pipes), ==, 0);
    }
    task_run(task);
    (void)close(task->pipes[1]);
    CHECK_INT(fcntl(task->pipes[0], F_SETFL, O_NONBLOCK), ==, 0);
    char byte;
    for (int i = 0; i < processes; i++) {
        CHECK_INT(read(task->pipes[0], &byte, 1), ==, 1);
    }
    CHECK_INT(read(task->pipes[0], &byte, 1), ==, 0);
    (void)close(task->pipes[0]);
}

static void tell_ready(const struct task *task)
{
    CHECK(write(task->pipes[1], "x", 1) == 1);
}

/* Waits until another process has written that it is ready, without reading its byte. */
static void await_ready(const struct task *task)
{
    struct pollfd ready = {.fd = task->pipes[0], .events = POLLIN};
    CHECK_INT(poll(&ready, 1, -1), ==, 1);
}

static int leave_in_group(struct task *task)
{
    if (fork() == 0) {
        sleep_on();
    }
    tell_ready(task);
    return WEIR_OK;
}

TEST(group, "what a task leaves behind in its group ends with it")
{
    struct task task = task_of(leave_in_group);
    run_and_check(&task, 1);
    task_check_returned(&task, WEIR_OK);
}

/* On a thread of its own, which cannot list processes, nor can the supervisor that it forks. */
static void run_without_proc(void *arg)
{
    struct task *task = arg;
    test_forbid_call(SYS_getdents64, SECCOMP_RET_ERRNO | ENOENT);
    task_run(task);
}

TEST(without_proc, "where processes cannot be listed the group ends all the same")
{
    struct task task = task_of(leave_in_group);
    CHECK_INT(pipe(task.pipes), ==, 0);
    test_join(test_start(run_without_proc, &task));
    task_check_returned(&task, WEIR_OK);
    (void)close(task.pipes[1]);
    char bytes[2];
    CHECK_INT(read(task.pipes[0], bytes, 1), ==, 1);
    CHECK_INT(read(task.pipes[0], bytes, 1), ==, 0);
    (void)close(task.pipes[0]);
}

/* As a daemon does. */
static int leave_in_session(struct task *task)
{
    if (fork() == 0) {
        CHECK(setsid() > 0);
        if (fork() == 0) {
            tell_ready(task);
            sleep_on();
        }
        if (task->number == 0) {
            _exit(0);
        }
        sleep_on();
    }
    await_ready(task);
    if (task->stop_fd >= 0) {
        sleep_on();
    }
    return WEIR_OK;
}

TEST(session,
     "so does what has gone into a session of its own, whether its parent has ended or not")
{
    for (int number = 0; number <= 1; number++) {
        struct task task = task_of(leave_in_session);
        task.number = number;
        run_and_check(&task, 1);
        task_check_returned(&task, WEIR_OK);
    }
}

TEST(session_of_killed, "so does that of a task that is killed")
{
    struct task task = task_of(leave_in_session);
    CHECK_INT(pipe(task.pipes), ==, 0);
    task.stop_fd = task.pipes[0]; /* readable when the process left behind is ready */
    run_and_check(&task, 1);
    CHECK_INT(task.result.end, ==, WEIRI_ISOLATED_STOPPED);
}

/* A process that adopts what is below it, as the supervisor does. */
static int leave_adopter(struct task *task)
{
    if (fork() == 0) {
        CHECK(setsid() > 0);
        CHECK_INT(prctl(PR_SET_CHILD_SUBREAPER, 1), ==, 0);
        for (int i = 0; i < task->number; i++) {
            if (fork() == 0) {
                CHECK(setsid() > 0);
                if (fork() != 0) {
                    _exit(0);
                }
                tell_ready(task);
                sleep_on();
            }
        }
        sleep_on();
    }
    int ready;
    do {
        await_ready(task);
        CHECK_INT(ioctl(task->pipes[0], FIONREAD, &ready), ==, 0);
    } while (ready < task->number);
    return WEIR_OK;
}

TEST(adopter, "so do processes that another of the task's has adopted")
{
    struct task task = task_of(leave_adopter);
    task.number = 20;
    run_and_check(&task, task.number);
    task_check_returned(&task, WEIR_OK);
}

/* Each process lives only until it has forked the next. */
static int leave_chain(struct task *task)
{
    if (fork() == 0) {
        CHECK(setsid() > 0);
        tell_ready(task);
        for (;;) {
            if (fork() != 0) {
                _exit(0);
            }
        }
    }
    await_ready(task);
    return WEIR_OK;
}

TEST(chain, "so does one that goes on in new processes all the time")
{
    for (int i = 0; i < 20; i++) {
        struct task task = task_of(leave_chain);
        run_and_check(&task, 1);
        task_check_returned(&task, WEIR_OK);
    }
}

static int count_zombies(struct task *task)
{
    for (int i = 0; i < task->number; i++) {
        pid_t child = fork();
        if (child == 0) {
            pid_t orphan = fork();
            if (orphan == 0) {
                _exit(0);
            }
            CHECK(write(task->pipes[1], &orphan, sizeof(orphan)) == sizeof(orphan));
            _exit(0);
        }
        CHECK_INT(waitpid(child, NULL, 0), ==, child);
        pid_t orphan;
        CHECK(read(task->pipes[0], &orphan, sizeof(orphan)) == sizeof(orphan));
        while (kill(orphan, 0) == 0) { /* while it is there, if only as a zombie */
        }
    }
    return WEIR_OK;
}

TEST(reaped, "orphans of a task that end are reaped while it runs")
{
    struct task task = task_of(count_zombies);
    task.number = 20;
    run_and_check(&task, 0);
    task_check_returned(&task, WEIR_OK);
}

static int kill_supervisor(struct task *task)
{
    (void)task;
    (void)kill(getppid(), SIGKILL);
    sleep_on();
}

TEST(supervisor_killed, "when the supervisor is killed, its task is lost, and killed with it")
{
    struct task task = task_of(kill_supervisor);
    CHECK_INT(pipe(task.pipes), ==, 0);
    task_run(&task);
    task_check_lost(&task, 0, -1);
    CHECK_STRING(task.result.text, "its process and its supervisor's were killed");
    (void)close(task.pipes[1]);
    char byte;
    CHECK_INT(read(task.pipes[0], &byte, 1), ==, 0); /* when the task has ended */
    (void)close(task.pipes[0]);
}

/* Writes its number, its supervisor's and that of a process that it has started, which is no longer
 * of its group. Does not end by itself. */
static int name_processes(struct task *task)
{
    int own[2];
    CHECK_INT(pipe(own), ==, 0);
    pid_t left = fork();
    if (left == 0) {
        CHECK(setsid() > 0);
        CHECK(write(own[1], "x", 1) == 1);
        sleep_on();
    }
    char byte;
    CHECK_INT(read(own[0], &byte, 1), ==, 1);
    const pid_t processes[PROCESSES] = {getpid(), getppid(), left};
    CHECK(write(task->pipes[1], processes, sizeof(processes)) == sizeof(processes));
    sleep_on();
}

TEST(program_killed,
     "when the program is killed its task ends, and its supervisor, and what the task "
     "has started (decision 0022)")
{
    struct task task = task_of(name_processes);
    CHECK_INT(pipe(task.pipes), ==, 0);
    pid_t program = fork();
    CHECK_INT(program, >=, 0);
    if (program == 0) {
        task_run(&task);
        _exit(1);
    }
    pid_t processes[PROCESSES];
    CHECK(read(task.pipes[0], processes, sizeof(processes)) == sizeof(processes));
    struct pollfd ends[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        ends[i] = (struct pollfd){.fd = pidfd_open(processes[i], 0), .events = POLLIN};
        CHECK_INT(ends[i].fd, >=, 0);
    }
    CHECK_INT(poll(ends, PROCESSES, 0), ==, 0); /* all live */
    CHECK_INT(kill(program, SIGKILL), ==, 0);
    CHECK_INT(waitpid(program, NULL, 0), ==, program);
    for (int i = 0; i < PROCESSES; i++) {
        CHECK_INT(poll(&ends[i], 1, -1), ==, 1);
        (void)close(ends[i].fd);
    }
    (void)close(task.pipes[0]);
    (void)close(task.pipes[1]);
}

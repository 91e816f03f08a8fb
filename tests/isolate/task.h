/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_ISOLATE_TASK_H
#define WEIR_TEST_ISOLATE_TASK_H

#include "isolate/isolate.h"
#include "support/harness.h"

/* An isolated task and its last result. */
struct task {
    int (*body)(struct task *task);
    int pipes[2]; /* for bodies */
    int number;   /* for bodies */
    int stop_fd;
    struct weir_isolation isolation;
    struct weiri_isolated_result result;
};

static inline int task_call_body(void *arg)
{
    struct task *task = arg;
    return task->body(task);
}

static inline struct task task_of(int (*body)(struct task *))
{
    return (struct task){.body = body, .stop_fd = -1, .isolation = {0}};
}

static inline void task_run(struct task *task)
{
    const struct weiri_isolated_call call = {
        .isolation = &task->isolation,
        .stop_fd = task->stop_fd,
        .run = task_call_body,
        .arg = task,
    };
    weiri_isolated_run(&call, &task->result);
}

static inline struct task task_run_body(int (*body)(struct task *))
{
    struct task task = task_of(body);
    task_run(&task);
    return task;
}

static inline void task_check_returned(const struct task *task, int status)
{
    CHECK_INT(task->result.end, ==, WEIRI_ISOLATED_RETURNED);
    CHECK_INT(task->result.status, ==, status);
    CHECK_INT(task->result.signal, ==, 0);
    CHECK_INT(task->result.exit_status, ==, -1);
    CHECK_STRING(task->result.text, "");
}

/* Ended by a signal, or with -1 exited. */
static inline void task_check_lost(const struct task *task, int signal, int exit_status)
{
    CHECK_INT(task->result.end, ==, WEIRI_ISOLATED_LOST);
    CHECK_INT(task->result.status, ==, WEIR_EPANIC);
    CHECK_INT(task->result.signal, ==, signal);
    CHECK_INT(task->result.exit_status, ==, exit_status);
}

#endif

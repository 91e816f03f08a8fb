/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* What a task may do to its thread and process, and what it may not. */

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pool/fixture.h"
#include "support/sanitizer.h"

#if TEST_ASAN
/* The C library ends a thread by a jump that AddressSanitizer does not see, so the shadow of the
 * frames that were left stays poisoned, and the next function there would be reported. With this
 * option local variables are not on the thread's stack, and nothing of it is poisoned. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void) /* NOLINT: the sanitizer's name */
{
    return "detect_stack_use_after_return=1";
}
#endif

static int exit_thread(weir_context *context, struct task *task)
{
    (void)context;
    (void)task;
    pthread_exit(NULL);
}

static int cancel_thread(weir_context *context, struct task *task)
{
    (void)context;
    (void)task;
    (void)pthread_cancel(pthread_self());
    pthread_testcancel();
    return WEIR_OK;
}

static int return_in_child(weir_context *context, struct task *task)
{
    (void)context;
    (void)task;
    pid_t child = fork();
    if (child == 0) {
        return WEIR_OK;
    }
    int status;
    CHECK_INT(waitpid(child, &status, 0), ==, child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    abort(); /* as the child, so that its message is looked for */
}

/* Runs one task on one worker, in a process that is expected to end by it. */
static void run_task(void *arg)
{
    struct task task;
    task_init(&task);
    task.body = *(int (**)(weir_context *, struct task *))arg;
    weir_pool *pool = pool_with(1, 0, NULL);
    weir_envelope *envelope = envelope_for(&task, 0);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
}

TEST(thread_ended, "a task that ends its thread ends the program with a message")
{
    int (*bodies[])(weir_context *, struct task *) = {exit_thread, cancel_thread};
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        test_must_abort(run_task, &bodies[i], "pthread_exit() or pthread_cancel()");
    }
}

TEST(child_returned, "a process that a task has forked and that returns ends with a message")
{
    int (*body)(weir_context *, struct task *) = return_in_child;
    test_must_abort(run_task, &body, "a process that a task forks has to end with exec or _exit()");
}

static int note_mask(weir_context *context, struct task *task)
{
    sigset_t mask;
    (void)context;
    CHECK_INT(pthread_sigmask(SIG_SETMASK, NULL, &mask), ==, 0);
    for (int number = 1; number < 32; number++) {
        if (number != SIGKILL && number != SIGSTOP) {
            CHECK_INT(sigismember(&mask, number), ==, number == SIGUSR1);
        }
    }
    (void)task;
    return system("true") == 0 ? WEIR_OK : WEIR_EUSER;
}

TEST(signals,
     "a worker has the signal mask of the thread that starts the pool, which tasks' programs "
     "inherit")
{
    sigset_t mask;
    struct task task;
    task_init(&task);
    task.body = note_mask;
    (void)sigemptyset(&mask);
    (void)sigaddset(&mask, SIGUSR1);
    CHECK_INT(pthread_sigmask(SIG_SETMASK, &mask, NULL), ==, 0);
    weir_pool *pool = pool_with(1, 0, NULL);
    weir_envelope *envelope = envelope_for(&task, 0);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    CHECK_STATUS(weir_pool_end(pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(atomic_load(&task.last_status), WEIR_OK);
    weir_envelope_unref(envelope);
    weir_pool_free(pool);
    task_fini(&task);
}

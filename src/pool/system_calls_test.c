/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A run makes no system call. */
#define _GNU_SOURCE /* syscall */
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pool/fixture.h"
#include "pool/pool.h"
#include "support/forbid_call.h"
#include "support/sanitizer.h"

enum {
    RUNS = 20000,
    ALL_DONE = 42 /* exit status */
};

static struct {
    weir_pool *pool;
    struct counter rest; /* the thread that made the pool does nothing more */
    int runs;
} endless;

/* Has its envelope run again and again. After as many runs as are to come the worker may do no more
 * than read the clock, where the kernel has to be asked for that, and end the process: anything
 * else ends it with SIGSYS. */
static int run_on(weir_context *context, void *payload)
{
    (void)payload;
    CHECK_STATUS(weir_context_check(context), WEIR_OK);
    CHECK_STATUS(weir_pool_send(endless.pool, weir_context_envelope(context)), WEIR_OK);
    endless.runs++;
    if (endless.runs == RUNS) {
        counter_wait(&endless.rest, 1);
        test_allow_calls(SYS_clock_gettime, SYS_exit_group);
    } else if (endless.runs == 2 * RUNS) {
        (void)syscall(SYS_exit_group, ALL_DONE); /* AddressSanitizer has _exit() do more */
    }
    return WEIR_OK;
}

static int hook_before(weir_context *context, weir_envelope *envelope, void *payload)
{
    (void)envelope;
    (void)payload;
    return (int)weir_context_check(context);
}

static int hook_after(weir_context *context, weir_envelope *envelope, int status, void *payload)
{
    (void)envelope;
    (void)status;
    (void)payload;
    return (int)weir_context_check(context);
}

static void hook_success(weir_context *context, weir_envelope *envelope, void *payload)
{
    (void)envelope;
    (void)payload;
    CHECK_STATUS(weir_context_check(context), WEIR_OK);
}

static void send_endless(void)
{
    struct weir_envelope_options options = WEIR_ENVELOPE_OPTIONS_INIT;
    options.deadline_ns = WEIR_SECONDS(3600);
    options.before = hook_before;
    options.invoke = run_on;
    options.after = hook_after;
    options.success = hook_success;
    weir_envelope *envelope;
    CHECK_STATUS(weir_envelope_new(&options, &envelope), WEIR_OK);
    CHECK_STATUS(weir_pool_send(endless.pool, envelope), WEIR_OK);
    weir_envelope_unref(envelope);
}

static bool is_asleep(const struct weiri_watchdog *dog)
{
    weiri_mutex_lock(dog->contexts->mutex);
    bool is_asleep = dog->is_asleep;
    weiri_mutex_unlock(dog->contexts->mutex);
    return is_asleep;
}

/* The first run finds the watchdog asleep, and calls it; from then on it comes by itself, once in
 * an hour. */
static _Noreturn void run_all(int64_t overdue_ns)
{
    struct weir_pool_options options = WEIR_POOL_OPTIONS_INIT;
    options.workers = 1;
    options.overdue_ns = overdue_ns;
    CHECK_STATUS(weir_pool_new(&options, &endless.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_start(endless.pool), WEIR_OK);
    const struct weiri_watchdog *dog = &endless.pool->watchdog;
    while (overdue_ns != 0 && !is_asleep(dog)) {
        (void)sched_yield();
    }
    send_endless();
    counter_add(&endless.rest, 1);
    for (;;) {
        (void)pause();
    }
}

static void check_no_calls(int64_t overdue_ns)
{
    if (TEST_TSAN) {
        test_skip("ThreadSanitizer makes system calls of its own");
    }
    counter_init(&endless.rest);
    pid_t child = fork();
    CHECK_INT(child, >=, 0);
    if (child == 0) {
        run_all(overdue_ns);
    }
    int status;
    CHECK_INT(waitpid(child, &status, 0), ==, child);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), ==, ALL_DONE);
    counter_fini(&endless.rest);
}

TEST(deadline, "a run with hooks and a deadline that does not fire makes no system call")
{
    check_no_calls(0);
}

TEST(watchdog, "nor does one under a watchdog that was called less than overdue_ns before")
{
    check_no_calls(WEIR_SECONDS(3600));
}

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
    struct weir_envelope_options options = {0};
    options.deadline_ns = WEIR_SECONDS(3600);
    options.before = hook_before;
    options.invoke = run_on;
    options.after = hook_after;
    options.success = hook_success;
    weir_envelope *envelope;
    CHECK_STATUS(weir_envelope_new(&options, &envelope, NULL), WEIR_OK);
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
    struct weir_pool_options options = {0};
    options.workers = 1;
    options.overdue_ns = overdue_ns;
    CHECK_STATUS(weir_pool_new(&options, &endless.pool, NULL), WEIR_OK);
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

static void check_child(void (*run)(int64_t arg), int64_t arg)
{
    if (TEST_TSAN) {
        test_skip("ThreadSanitizer makes system calls of its own");
    }
    pid_t child = fork();
    CHECK_INT(child, >=, 0);
    if (child == 0) {
        run(arg);
    }
    int status;
    CHECK_INT(waitpid(child, &status, 0), ==, child);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), ==, ALL_DONE);
}

static void check_no_calls(int64_t overdue_ns)
{
    counter_init(&endless.rest);
    check_child(run_all, overdue_ns);
    counter_fini(&endless.rest);
}

TEST(deadline, "a run with hooks and a deadline that does not fire makes no system call")
{
    check_no_calls(0);
}

/* A thread that waits for the pool while its one worker runs one envelope after the other. */
enum {
    QUEUE = 8 /* too few for the pool to give memory back when they have been run */
};

static struct {
    weir_pool *pool;
    int runs;
} watched;

static bool is_observed(weir_pool *pool)
{
    weiri_mutex_lock(&pool->mutex);
    bool is_observed = pool->observers > 0;
    weiri_mutex_unlock(&pool->mutex);
    return is_observed;
}

/* The first run waits until the thread waits; from then on the worker may wake nobody. */
static int run_watched(weir_context *context, void *payload)
{
    (void)context;
    (void)payload;
    watched.runs++;
    if (watched.runs == 1) {
        while (!is_observed(watched.pool)) {
            (void)sched_yield();
        }
        test_allow_calls(SYS_clock_gettime, SYS_exit_group);
    } else if (watched.runs == QUEUE) {
        (void)syscall(SYS_exit_group, ALL_DONE);
    }
    return WEIR_OK;
}

static _Noreturn void run_queue(int64_t drains)
{
    struct weir_pool_options options = {0};
    options.workers = 1;
    CHECK_STATUS(weir_pool_new(&options, &watched.pool, NULL), WEIR_OK);
    for (int i = 0; i < QUEUE; i++) {
        struct weir_envelope_options of_envelope = {0};
        of_envelope.invoke = run_watched;
        weir_envelope *envelope;
        CHECK_STATUS(weir_envelope_new(&of_envelope, &envelope, NULL), WEIR_OK);
        CHECK_STATUS(weir_pool_send(watched.pool, envelope), WEIR_OK);
    }
    CHECK_STATUS(weir_pool_start(watched.pool), WEIR_OK);
    enum weir_status status = drains != 0
                                  ? weir_pool_end(watched.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER)
                                  : weir_pool_wait_idle(watched.pool, WEIR_FOREVER);
    test_fail(__FILE__, __LINE__, "ended before the last run: %s", weir_status_name((int)status));
}

TEST(waited_for, "nor does one wake a thread that waits until all is done")
{
    for (int drains = 0; drains < 2; drains++) {
        check_child(run_queue, drains);
    }
}

TEST(watchdog, "nor does one under a watchdog that was called less than overdue_ns before")
{
    check_no_calls(WEIR_SECONDS(3600));
}

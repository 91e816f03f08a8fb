/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "context/context.h"
#include "context/contexts.h"

#include "base/sync.h"
#include "support/explorer/explorer.h"
#include "support/harness.h"

/* A task that sleeps, without a pool: until its deadline, which is in 10 ns. */
static struct {
    weir_clock *clock;
    struct scope scope;
    weir_context context;
    enum weir_status slept;
} sleeper;

static void advance(void *arg)
{
    (void)arg;
    CHECK_STATUS(weir_clock_advance(sleeper.clock, 10), WEIR_OK);
}

static void sleep_to_deadline(void *arg)
{
    (void)arg;
    sleeper.slept = weir_context_sleep(&sleeper.context, WEIR_FOREVER);
}

static void sleep_against(bool is_cancelled)
{
    struct weiri_thread threads[2];
    CHECK_STATUS(weir_clock_manual_new(0, test_allocator(), &sleeper.clock), WEIR_OK);
    scope_init(&sleeper.scope, sleeper.clock);
    weiri_context_init(&sleeper.context, &sleeper.scope.contexts);
    context_begin(&sleeper.context, 10);
    CHECK_STATUS(weiri_thread_start(&threads[0], "sleeper", sleep_to_deadline, NULL), WEIR_OK);
    if (is_cancelled) {
        weir_context_cancel(&sleeper.context);
    } else {
        CHECK_STATUS(weiri_thread_start(&threads[1], "stepper", advance, NULL), WEIR_OK);
        weiri_thread_join(&threads[1]);
    }
    weiri_thread_join(&threads[0]);
    CHECK_STATUS(sleeper.slept, is_cancelled ? WEIR_ECANCELED : WEIR_ETIMEDOUT);
    weiri_context_fini(&sleeper.context);
    scope_fini(&sleeper.scope);
    weir_clock_free(sleeper.clock);
}

static void sleep_against_step(void *arg)
{
    (void)arg;
    sleep_against(false);
}

static void sleep_against_cancel(void *arg)
{
    (void)arg;
    sleep_against(true);
}

TEST(sleep_step, "a step that makes a sleep due ends it, also when it comes while the sleep begins")
{
    explorer_must_pass(sleep_against_step, NULL, NULL);
}

TEST(sleep_cancel, "so does a cancellation, of the run or of all")
{
    explorer_must_pass(sleep_against_cancel, NULL, NULL);
}

static void cancel_run(void *arg)
{
    (void)arg;
    weir_context_cancel(&sleeper.context);
}

static void cancel_all(void *arg)
{
    (void)arg;
    weir_context_cancel(&sleeper.context);
}

/* A run that asks for its descriptor while it is being ended, and then looks at that alone. */
static void watch_against(void *arg)
{
    static void (*const ends[])(void *) = {advance, cancel_run, cancel_all};
    (void)arg;
    struct weiri_thread ender;
    CHECK_STATUS(weir_clock_manual_new(0, test_allocator(), &sleeper.clock), WEIR_OK);
    scope_init(&sleeper.scope, sleeper.clock);
    weiri_context_init(&sleeper.context, &sleeper.scope.contexts);
    context_begin(&sleeper.context, 10);
    CHECK_STATUS(weiri_thread_start(&ender, "ender", ends[explorer_choose(3)], NULL), WEIR_OK);
    int fd;
    CHECK_STATUS(weir_context_fd(&sleeper.context, &fd), WEIR_OK);
    weiri_thread_join(&ender);
    /* What the kernel was told: it acts on that in an interrupt, which may be a moment away. */
    CHECK_INT(sleeper.context.alarm.time_ns, ==, 0);
    CHECK(weir_context_check(&sleeper.context) != WEIR_OK);
    weiri_context_end(&sleeper.context);
    weiri_context_fini(&sleeper.context);
    scope_fini(&sleeper.scope);
    weir_clock_free(sleeper.clock);
}

TEST(watch, "whatever ends a run while its descriptor is asked for makes that readable")
{
    explorer_must_pass(watch_against, NULL, NULL);
}

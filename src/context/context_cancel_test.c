/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "context/context.h"

#include <weir/clock.h>

#include "context/contexts.h"
#include "support/harness.h"

TEST(one_run, "a cancelled run is cancelled to its end; the next run and others are not")
{
    struct scope scope;
    weir_context contexts[2];
    scope_init(&scope, weir_clock_monotonic());
    for (int i = 0; i < 2; i++) {
        weiri_context_init(&contexts[i], &scope.contexts);
        context_begin(&contexts[i], 0);
    }
    weir_context_cancel(NULL);
    weir_context_cancel(&contexts[0]);
    CHECK_STATUS(weir_context_check(&contexts[0]), WEIR_ECANCELED);
    CHECK_STATUS(weir_context_sleep(&contexts[0], WEIR_FOREVER), WEIR_ECANCELED);
    CHECK_STATUS(weir_context_check(&contexts[1]), WEIR_OK);
    context_begin(&contexts[0], 0);
    CHECK_STATUS(weir_context_check(&contexts[0]), WEIR_OK);
    for (int i = 0; i < 2; i++) {
        weiri_context_fini(&contexts[i]);
    }
    scope_fini(&scope);
}

static void sleep_for_ever(void *arg)
{
    CHECK_STATUS(weir_context_sleep(arg, WEIR_FOREVER), WEIR_ECANCELED);
}

TEST(sleeping, "a cancellation from another thread cuts a task's sleep short")
{
    struct scope scope;
    weir_context context;
    scope_init(&scope, weir_clock_monotonic());
    weiri_context_init(&context, &scope.contexts);
    context_begin(&context, 0);
    struct test_thread *sleeper = test_start(sleep_for_ever, &context);
    test_wait_asleep(sleeper);
    weir_context_cancel(&context);
    test_join(sleeper);
    weiri_context_fini(&context);
    scope_fini(&scope);
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "context/context.h"

#include "context/contexts.h"
#include "support/harness.h"
#include "support/manual_clock.h"

/* A context on this thread, without a pool. */
struct scene {
    weir_clock *clock;
    struct scope scope;
    weir_context context;
};

static void scene_init(struct scene *scene, weir_clock *clock)
{
    scene->clock = clock;
    scope_init(&scene->scope, clock);
    weiri_context_init(&scene->context, &scene->scope.contexts);
}

static void scene_fini(struct scene *scene)
{
    weiri_context_fini(&scene->context);
    scope_fini(&scene->scope);
    weir_clock_free(scene->clock);
}

TEST(no_deadline, "without a deadline there is for ever left and the task may go on")
{
    struct scene scene;
    scene_init(&scene, manual_clock(5));
    context_begin(&scene.context, 0);
    CHECK_STATUS(weir_clock_advance(scene.clock, WEIR_SECONDS(1000000)), WEIR_OK);
    CHECK(weir_context_remaining(&scene.context) == WEIR_FOREVER);
    CHECK_STATUS(weir_context_check(&scene.context), WEIR_OK);
    scene_fini(&scene);
}

TEST(deadline, "remaining counts down to 0, where the check says timed out, and no further")
{
    struct scene scene;
    scene_init(&scene, manual_clock(1000));
    context_begin(&scene.context, 10);
    CHECK_INT(weir_context_remaining(&scene.context), ==, 10);
    CHECK_STATUS(weir_clock_advance(scene.clock, 9), WEIR_OK);
    CHECK_INT(weir_context_remaining(&scene.context), ==, 1);
    CHECK_STATUS(weir_context_check(&scene.context), WEIR_OK);
    CHECK_STATUS(weir_clock_advance(scene.clock, 1), WEIR_OK);
    CHECK_INT(weir_context_remaining(&scene.context), ==, 0);
    CHECK_STATUS(weir_context_check(&scene.context), WEIR_ETIMEDOUT);
    CHECK_STATUS(weir_clock_advance(scene.clock, 100), WEIR_OK);
    CHECK_INT(weir_context_remaining(&scene.context), ==, 0);
    scene_fini(&scene);
}

TEST(each_run, "each run has the whole of its time")
{
    struct scene scene;
    scene_init(&scene, manual_clock(0));
    context_begin(&scene.context, 10);
    CHECK_STATUS(weir_clock_advance(scene.clock, 11), WEIR_OK);
    CHECK_STATUS(weir_context_check(&scene.context), WEIR_ETIMEDOUT);
    context_begin(&scene.context, 10);
    CHECK_INT(weir_context_remaining(&scene.context), ==, 10);
    CHECK_STATUS(weir_context_check(&scene.context), WEIR_OK);
    context_begin(&scene.context, 0);
    CHECK(weir_context_remaining(&scene.context) == WEIR_FOREVER);
    scene_fini(&scene);
}

TEST(end_of_time, "a deadline past the end of time is none")
{
    struct scene scene;
    scene_init(&scene, manual_clock(1000));
    context_begin(&scene.context, INT64_MAX);
    CHECK(weir_context_remaining(&scene.context) == WEIR_FOREVER);
    CHECK_STATUS(weir_context_check(&scene.context), WEIR_OK);
    scene_fini(&scene);
}

TEST(cancelled, "a cancellation is seen to the end of the run, also past the deadline")
{
    struct scene scene;
    scene_init(&scene, manual_clock(0));
    context_begin(&scene.context, 10);
    weir_context_cancel(&scene.context);
    CHECK_STATUS(weir_context_check(&scene.context), WEIR_ECANCELED);
    CHECK_INT(weir_context_remaining(&scene.context), ==, 10);
    CHECK_STATUS(weir_clock_advance(scene.clock, 20), WEIR_OK);
    CHECK_STATUS(weir_context_check(&scene.context), WEIR_ECANCELED);
    CHECK_STATUS(weir_context_sleep(&scene.context, WEIR_SECONDS(1)), WEIR_ECANCELED);
    scene_fini(&scene);
}

TEST(sleep_none, "a sleep of no or negative length only checks")
{
    struct scene scene;
    scene_init(&scene, manual_clock(0));
    context_begin(&scene.context, 10);
    CHECK_STATUS(weir_context_sleep(&scene.context, 0), WEIR_OK);
    CHECK_STATUS(weir_context_sleep(&scene.context, -5), WEIR_OK);
    CHECK_STATUS(weir_context_sleep(&scene.context, INT64_MIN), WEIR_OK);
    CHECK_STATUS(weir_clock_advance(scene.clock, 10), WEIR_OK);
    CHECK_STATUS(weir_context_sleep(&scene.context, 0), WEIR_ETIMEDOUT);
    CHECK_STATUS(weir_context_sleep(&scene.context, 5), WEIR_ETIMEDOUT);
    scene_fini(&scene);
}

/* A thread that sleeps on a context. */
struct sleeper {
    weir_context *context;
    int64_t delay_ns;
    enum weir_status status;
    atomic_bool has_woken;
};

static void sleeper_run(void *arg)
{
    struct sleeper *sleeper = arg;
    sleeper->status = weir_context_sleep(sleeper->context, sleeper->delay_ns);
    atomic_store(&sleeper->has_woken, true);
}

static struct test_thread *sleeper_start(struct sleeper *sleeper, weir_context *context,
                                         int64_t delay_ns)
{
    *sleeper = (struct sleeper){.context = context, .delay_ns = delay_ns};
    struct test_thread *thread = test_start(sleeper_run, sleeper);
    test_wait_asleep(thread);
    return thread;
}

TEST(sleep_whole, "a sleep ends when its time has come on the pool's clock, and not before")
{
    struct scene scene;
    scene_init(&scene, manual_clock(0));
    context_begin(&scene.context, 100);
    struct sleeper sleeper;
    struct test_thread *thread = sleeper_start(&sleeper, &scene.context, 50);
    CHECK_STATUS(weir_clock_advance(scene.clock, 49), WEIR_OK);
    test_wait_asleep(thread);
    CHECK(!atomic_load(&sleeper.has_woken));
    CHECK_STATUS(weir_clock_advance(scene.clock, 1), WEIR_OK);
    test_join(thread);
    CHECK_STATUS(sleeper.status, WEIR_OK);
    scene_fini(&scene);
}

TEST(sleep_deadline, "a sleep past the deadline ends at the deadline, as timed out")
{
    struct scene scene;
    scene_init(&scene, manual_clock(0));
    context_begin(&scene.context, 30);
    struct sleeper sleeper;
    struct test_thread *thread = sleeper_start(&sleeper, &scene.context, INT64_MAX);
    CHECK_STATUS(weir_clock_advance(scene.clock, 29), WEIR_OK);
    test_wait_asleep(thread);
    CHECK(!atomic_load(&sleeper.has_woken));
    CHECK_STATUS(weir_clock_advance(scene.clock, 1), WEIR_OK);
    test_join(thread);
    CHECK_STATUS(sleeper.status, WEIR_ETIMEDOUT);
    scene_fini(&scene);
}

TEST(sleep_cancelled, "a cancellation ends a sleep at once")
{
    struct scene scene;
    scene_init(&scene, manual_clock(0));
    context_begin(&scene.context, 0);
    struct sleeper sleeper;
    struct test_thread *thread = sleeper_start(&sleeper, &scene.context, INT64_MAX);
    weir_context_cancel(&scene.context);
    test_join(thread);
    CHECK_STATUS(sleeper.status, WEIR_ECANCELED);
    scene_fini(&scene);
}

TEST(sleep_real_cancelled, "so it does on the real clock")
{
    struct scene scene;
    scene_init(&scene, weir_clock_monotonic());
    context_begin(&scene.context, 0);
    struct sleeper sleeper;
    struct test_thread *thread = sleeper_start(&sleeper, &scene.context, WEIR_SECONDS(86400));
    weir_context_cancel(&scene.context);
    test_join(thread);
    CHECK_STATUS(sleeper.status, WEIR_ECANCELED);
    scene_fini(&scene);
}

TEST(sleep_real, "on the real clock a sleep lasts its time, or to the deadline")
{
    struct scene scene;
    scene_init(&scene, weir_clock_monotonic());
    context_begin(&scene.context, 0);
    int64_t start = weir_clock_now(scene.clock);
    CHECK_STATUS(weir_context_sleep(&scene.context, WEIR_MS(3)), WEIR_OK);
    CHECK_INT(weir_clock_now(scene.clock) - start, >=, WEIR_MS(3));

    start = weir_clock_now(scene.clock);
    context_begin(&scene.context, WEIR_MS(2));
    CHECK_STATUS(weir_context_sleep(&scene.context, WEIR_SECONDS(3600)), WEIR_ETIMEDOUT);
    CHECK_INT(weir_clock_now(scene.clock) - start, >=, WEIR_MS(2));
    CHECK_INT(weir_context_remaining(&scene.context), ==, 0);
    scene_fini(&scene);
}

TEST(several_sleepers, "tasks of one pool wake each at its own time")
{
    enum {
        COUNT = 4
    };
    weir_clock *clock = manual_clock(0);
    struct scope scope;
    scope_init(&scope, clock);
    weir_context contexts[COUNT];
    struct sleeper sleepers[COUNT];
    struct test_thread *threads[COUNT];
    for (int i = 0; i < COUNT; i++) {
        weiri_context_init(&contexts[i], &scope.contexts);
        context_begin(&contexts[i], 0);
        threads[i] = sleeper_start(&sleepers[i], &contexts[i], INT64_C(10) * (COUNT - i));
    }
    for (int i = COUNT - 1; i >= 0; i--) {
        CHECK_STATUS(weir_clock_advance(clock, 10), WEIR_OK);
        test_join(threads[i]);
        CHECK_STATUS(sleepers[i].status, WEIR_OK);
        for (int other = 0; other < i; other++) {
            CHECK(!atomic_load(&sleepers[other].has_woken));
        }
    }
    for (int i = 0; i < COUNT; i++) {
        weiri_context_fini(&contexts[i]);
    }
    scope_fini(&scope);
    weir_clock_free(clock);
}

TEST(nulls, "a context that is NULL is refused")
{
    CHECK(weir_context_pool(NULL) == NULL);
    CHECK(weir_context_envelope(NULL) == NULL);
    CHECK_INT(weir_context_attempt(NULL), ==, 0);
    CHECK_INT(weir_context_due(NULL), ==, 0);
    CHECK_INT(weir_context_remaining(NULL), ==, 0);
    CHECK_STATUS(weir_context_check(NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_context_sleep(NULL, 1), WEIR_EINVAL);
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "context/panic.h"

#include <weir/panic.h>

#include "context/context.h"
#include "context/contexts.h"
#include "support/harness.h"

/* A context without a pool. */
struct scene {
    struct scope scope;
    weir_context context;
};

static void scene_init(struct scene *scene)
{
    scope_init(&scene->scope, weir_clock_monotonic());
    weiri_context_init(&scene->context, &scene->scope.contexts);
    context_begin(&scene->context, 0);
}

static void scene_fini(struct scene *scene)
{
    weiri_context_fini(&scene->context);
    scope_fini(&scene->scope);
}

static int return_77(void *arg)
{
    (void)arg;
    return 77;
}

static int panic_now(void *arg)
{
    weir_panic(arg, "now");
}

static int panic_later(void *arg)
{
    weir_panic(arg, "later");
}

TEST(guarded,
     "what is guarded comes to its own status, or to WEIR_EPANIC; a run keeps its first message")
{
    struct scene scene;
    scene_init(&scene);
    CHECK_INT(weiri_guarded(&scene.context, return_77, NULL), ==, 77);
    CHECK(!scene.context.is_lost);
    CHECK_STATUS(weiri_guarded(&scene.context, panic_now, &scene.context), WEIR_EPANIC);
    CHECK_STRING(scene.context.message, "now");
    CHECK_INT(weiri_guarded(&scene.context, return_77, NULL), ==, 77);
    CHECK_STATUS(weiri_guarded(&scene.context, panic_later, &scene.context), WEIR_EPANIC);
    CHECK_STRING(scene.context.message, "now");
    context_begin(&scene.context, 0);
    CHECK(!scene.context.is_lost);
    scene_fini(&scene);
}

static void panic_outside(void *arg)
{
    weir_panic(arg, "lost");
}

TEST(misused, "a panic without a task, or after it, ends the program")
{
    struct scene scene;
    scene_init(&scene);
    test_must_abort(panic_outside, NULL, "is for a task, stamp or hook that is being run");
    test_must_abort(panic_outside, &scene.context, "is for a task, stamp or hook");
    CHECK_STATUS(weiri_guarded(&scene.context, panic_now, &scene.context), WEIR_EPANIC);
    test_must_abort(panic_outside, &scene.context, "is for a task, stamp or hook");
    scene_fini(&scene);
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "context/context.h"

#include <errno.h>
#include <poll.h>

#include "context/contexts.h"
#include "support/forbid_call.h"
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

static int fd_of(weir_context *context)
{
    int fd = -1;
    CHECK_STATUS(weir_context_fd(context, &fd), WEIR_OK);
    return fd;
}

static bool is_readable(int fd, int wait_ms)
{
    struct pollfd poller = {.fd = fd, .events = POLLIN};
    return poll(&poller, 1, wait_ms) == 1 && (poller.revents & POLLIN) != 0;
}

/* The descriptor and the check agree. */
static void check_shows(struct scene *scene, enum weir_status status)
{
    int fd = fd_of(&scene->context);
    CHECK_STATUS(weir_context_check(&scene->context), status);
    CHECK_INT(is_readable(fd, status == WEIR_OK ? 0 : -1), ==, status != WEIR_OK);
}

TEST(manual_deadline, "on a manual clock it is readable from the step on that passes the deadline")
{
    struct scene scene;
    scene_init(&scene, manual_clock(0));
    context_begin(&scene.context, 10);
    check_shows(&scene, WEIR_OK);
    CHECK_STATUS(weir_clock_advance(scene.clock, 9), WEIR_OK);
    check_shows(&scene, WEIR_OK);
    CHECK_STATUS(weir_clock_advance(scene.clock, 1), WEIR_OK);
    check_shows(&scene, WEIR_ETIMEDOUT);
    CHECK_STATUS(weir_clock_advance(scene.clock, 1), WEIR_OK);
    check_shows(&scene, WEIR_ETIMEDOUT);
    weiri_context_end(&scene.context);
    scene_fini(&scene);
}

TEST(real_deadline, "on the real clock the kernel makes it readable at the deadline")
{
    struct scene scene;
    scene_init(&scene, weir_clock_monotonic());
    context_begin(&scene.context, WEIR_MS(3));
    CHECK(is_readable(fd_of(&scene.context), -1));
    CHECK_STATUS(weir_context_check(&scene.context), WEIR_ETIMEDOUT);
    weiri_context_end(&scene.context);

    context_begin(&scene.context, WEIR_SECONDS(86400));
    check_shows(&scene, WEIR_OK);
    weiri_context_end(&scene.context);
    context_begin(&scene.context, 0);
    check_shows(&scene, WEIR_OK);
    weiri_context_end(&scene.context);
    scene_fini(&scene);
}

TEST(cancelled, "a cancellation makes it readable at once")
{
    struct scene scene;
    scene_init(&scene, weir_clock_monotonic());
    context_begin(&scene.context, WEIR_SECONDS(86400));
    check_shows(&scene, WEIR_OK);
    weir_context_cancel(&scene.context);
    check_shows(&scene, WEIR_ECANCELED);
    weiri_context_end(&scene.context);
    scene_fini(&scene);
}

TEST(asked_late, "asked for after the end has come it is readable at once")
{
    struct scene scene;
    scene_init(&scene, manual_clock(0));
    context_begin(&scene.context, 10);
    CHECK_STATUS(weir_clock_advance(scene.clock, 10), WEIR_OK);
    check_shows(&scene, WEIR_ETIMEDOUT);
    weiri_context_end(&scene.context);
    context_begin(&scene.context, 0);
    weir_context_cancel(&scene.context);
    check_shows(&scene, WEIR_ECANCELED);
    weiri_context_end(&scene.context);
    scene_fini(&scene);
}

TEST(each_run, "each run begins with the same descriptor, not readable; others have their own")
{
    struct scene scene;
    weir_context other;
    scene_init(&scene, manual_clock(0));
    weiri_context_init(&other, &scene.scope.contexts);
    context_begin(&scene.context, 0);
    context_begin(&other, 0);
    int fd = fd_of(&scene.context);
    CHECK(fd_of(&other) != fd);
    for (int run = 0; run < 3; run++) {
        weir_context_cancel(&scene.context);
        check_shows(&scene, WEIR_ECANCELED);
        CHECK(!is_readable(fd_of(&other), 0));
        weiri_context_end(&scene.context);
        context_begin(&scene.context, 10);
        check_shows(&scene, WEIR_OK);
        CHECK_INT(fd_of(&scene.context), ==, fd);
        CHECK_STATUS(weir_clock_advance(scene.clock, 10), WEIR_OK);
        check_shows(&scene, WEIR_ETIMEDOUT);
    }
    weiri_context_end(&scene.context);
    weiri_context_end(&other);
    weiri_context_fini(&other);
    scene_fini(&scene);
}

TEST(phases, "in a hook it tells of the hook's own time, and behind it of the task's again")
{
    struct scene scene;
    scene_init(&scene, manual_clock(0));
    context_begin(&scene.context, 100);
    check_shows(&scene, WEIR_OK);
    context_begin_phase(&scene.context, 10);
    check_shows(&scene, WEIR_OK);
    CHECK_STATUS(weir_clock_advance(scene.clock, 10), WEIR_OK);
    check_shows(&scene, WEIR_ETIMEDOUT);
    weiri_context_end_phase(&scene.context);
    check_shows(&scene, WEIR_OK);
    CHECK_STATUS(weir_clock_advance(scene.clock, 90), WEIR_OK);
    check_shows(&scene, WEIR_ETIMEDOUT);
    context_begin_phase(&scene.context, 10);
    check_shows(&scene, WEIR_OK);
    weiri_context_end_phase(&scene.context);
    check_shows(&scene, WEIR_ETIMEDOUT);
    weiri_context_end(&scene.context);
    scene_fini(&scene);
}

TEST(refused, "without a descriptor left it is WEIR_EIO, without a context or a result WEIR_EINVAL")
{
    struct scene scene;
    scene_init(&scene, manual_clock(0));
    context_begin(&scene.context, 0);
    int fd = 77;
    CHECK_STATUS(weir_context_fd(NULL, &fd), WEIR_EINVAL);
    CHECK_STATUS(weir_context_fd(&scene.context, NULL), WEIR_EINVAL);
    test_forbid_call(SYS_timerfd_create, SECCOMP_RET_ERRNO | EMFILE);
    CHECK_STATUS(weir_context_fd(&scene.context, &fd), WEIR_EIO);
    CHECK_INT(fd, ==, 77);
    weiri_context_end(&scene.context);
    scene_fini(&scene);
}

TEST(no_memory, "without memory it is WEIR_ENOMEM")
{
    struct scene scene;
    scene_init(&scene, manual_clock(0));
    context_begin(&scene.context, 0);
    int fd = 77;
    test_forbid_call(SYS_timerfd_create, SECCOMP_RET_ERRNO | ENOMEM);
    CHECK_STATUS(weir_context_fd(&scene.context, &fd), WEIR_ENOMEM);
    CHECK_INT(fd, ==, 77);
    weiri_context_end(&scene.context);
    scene_fini(&scene);
}

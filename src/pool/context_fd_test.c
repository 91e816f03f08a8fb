/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/context.h"

#include <errno.h>
#include <poll.h>

#include "pool/contexts.h"
#include "pool/fixture.h"
#include "support/forbid_call.h"

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

/* What the descriptor says is what the check says. */
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

static const char key;

static int wait_cancelled(weir_context *context, struct task *task)
{
    CHECK(weir_context_get(context, &key) == NULL); /* of an earlier run */
    CHECK_STATUS(weir_context_set(context, &key, task), WEIR_OK);
    CHECK(weir_context_get(context, &key) == task);
    CHECK(is_readable(fd_of(context), -1));
    return (int)weir_context_check(context);
}

TEST(in_pool, "a task that waits on its descriptor is ended by a stop, and one by its deadline")
{
    struct task tasks[2];
    weir_pool *pool = pool_with(1, 0, NULL);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    for (int i = 0; i < 2; i++) {
        task_init(&tasks[i]);
        tasks[i].body = wait_cancelled;
        weir_envelope *envelope = envelope_for(&tasks[i], i == 0 ? WEIR_MS(2) : 0);
        CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
        weir_envelope_unref(envelope);
        counter_wait(&tasks[i].entered, 1);
    }
    CHECK_STATUS(weir_pool_stop(pool), WEIR_OK);
    CHECK_STATUS(atomic_load(&tasks[0].last_status), WEIR_ETIMEDOUT);
    CHECK_STATUS(atomic_load(&tasks[1].last_status), WEIR_ECANCELED);
    weir_pool_free(pool);
    task_fini(&tasks[0]);
    task_fini(&tasks[1]);
}

static const char keys[20];

static int set_many(weir_context *context, struct task *task)
{
    for (int i = 0; i < 20; i++) {
        CHECK(weir_context_get(context, &keys[i]) == NULL);
        if (CHECK_OR_OOM(weir_context_set(context, &keys[i], task))) {
            return WEIR_ENOMEM;
        }
        CHECK(weir_context_get(context, &keys[i]) == task);
    }
    CHECK_STATUS(weir_context_set(context, NULL, task), WEIR_EINVAL);
    CHECK_STATUS(weir_context_set(NULL, keys, task), WEIR_EINVAL);
    CHECK(weir_context_get(NULL, keys) == NULL);
    return WEIR_OK;
}

static int set_and_take_out(weir_context *context, struct task *task)
{
    int status = set_many(context, task);
    for (int i = 0; i < 20 && status == WEIR_OK; i++) {
        CHECK_STATUS(weir_context_set(context, &keys[i], NULL), WEIR_OK);
    }
    return status;
}

static void run_twice(int (*body)(weir_context *context, struct task *task))
{
    struct task task;
    task_init(&task);
    task.body = body;
    weir_pool *pool = pool_with(1, 0, NULL);
    weir_envelope *envelope = pool == NULL ? NULL : envelope_for(&task, 0);
    if (envelope != NULL && !CHECK_OR_OOM(weir_pool_start(pool))) {
        int runs = 0;
        for (int i = 0; i < 2; i++) {
            if (!CHECK_OR_OOM(weir_pool_send(pool, envelope))) {
                counter_wait(&task.outcomes, ++runs);
            }
        }
        CHECK_STATUS(weir_pool_drain(pool), WEIR_OK);
    }
    weir_envelope_unref(envelope);
    weir_pool_free(pool);
    task_fini(&task);
}

TEST_OOM(values_end, "values end with their run, and their memory")
{
    run_twice(set_many);
}

TEST_OOM(values_taken_out, "so does the memory of values that the run has taken out itself")
{
    run_twice(set_and_take_out);
}

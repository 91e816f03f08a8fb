/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/pool.h"

#include "pool/fixture.h"

/* Taking an envelope back, wherever it is. */

struct scene {
    weir_clock *clock;
    weir_pool *pool;
    struct task task;
    weir_envelope *envelope;
};

static void scene_init(struct scene *scene, size_t capacity)
{
    scene->clock = manual_clock(0);
    scene->pool = pool_with(1, capacity, scene->clock);
    task_init(&scene->task);
    scene->envelope = envelope_for(&scene->task, 0);
    scene->task.pool = scene->pool;
    scene->task.envelope = scene->envelope;
}

static void scene_fini(struct scene *scene)
{
    CHECK_INT(counts_of(scene->pool).in_flight, ==, 0);
    weir_pool_free(scene->pool);
    weir_envelope_unref(scene->envelope);
    CHECK_INT(counter_value(&scene->task.released), ==, 1);
    task_fini(&scene->task);
    weir_clock_free(scene->clock);
}

static uint32_t cancel(struct scene *scene, int64_t timeout_ns)
{
    uint32_t found = UINT32_MAX;
    CHECK_STATUS(weir_pool_cancel(scene->pool, scene->envelope, timeout_ns, &found), WEIR_OK);
    return found;
}

TEST(pending, "an envelope that is queued and waits is taken out, and gives its slot back")
{
    struct scene scene;
    scene_init(&scene, 1);
    CHECK_INT(cancel(&scene, WEIR_FOREVER), ==, 0);
    CHECK_STATUS(weir_pool_send(scene.pool, scene.envelope), WEIR_OK);
    CHECK_STATUS(weir_pool_send_after(scene.pool, scene.envelope, 10), WEIR_OK);
    CHECK_INT(cancel(&scene, WEIR_FOREVER), ==, WEIR_CANCELED_PENDING);
    struct weir_pool_counts counts = counts_of(scene.pool);
    CHECK_INT(counts.in_flight, ==, 0);
    CHECK_INT(counts.dropped, ==, 2);
    CHECK_INT(cancel(&scene, 0), ==, 0);
    CHECK_STATUS(weir_pool_start(scene.pool), WEIR_OK);
    CHECK_STATUS(weir_clock_advance(scene.clock, 10), WEIR_OK);
    CHECK_STATUS(weir_pool_end(scene.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(task_runs(&scene.task), ==, 0);
    CHECK_INT(cancel(&scene, 0), ==, 0); /* also of a pool that has ended */
    scene_fini(&scene);
}

TEST(sent_after, "what is sent after the cancellation is run")
{
    struct scene scene;
    scene_init(&scene, 1);
    CHECK_STATUS(weir_pool_send_after(scene.pool, scene.envelope, 10), WEIR_OK);
    CHECK_INT(cancel(&scene, 0), ==, WEIR_CANCELED_PENDING);
    CHECK_STATUS(weir_pool_send(scene.pool, scene.envelope), WEIR_OK);
    CHECK_STATUS(weir_pool_start(scene.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_end(scene.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(task_runs(&scene.task), ==, 1);
    scene_fini(&scene);
}

static int sleep_long(weir_context *context, struct task *task)
{
    (void)task;
    int status = (int)weir_context_sleep(context, WEIR_FOREVER);
    CHECK_STATUS(weir_context_check(context), WEIR_ECANCELED);
    return status;
}

TEST(running, "a running task learns of its cancellation; who waits returns once it has ended")
{
    struct scene scene;
    scene_init(&scene, 1);
    scene.task.body = sleep_long;
    CHECK_STATUS(weir_pool_start(scene.pool), WEIR_OK);
    for (int i = 1; i <= 3; i++) {
        CHECK_STATUS(weir_pool_send(scene.pool, scene.envelope), WEIR_OK);
        counter_wait(&scene.task.entered, i);
        CHECK_STATUS(weir_pool_send(scene.pool, scene.envelope), WEIR_OK); /* once more, after */
        CHECK_INT(cancel(&scene, WEIR_FOREVER), ==, WEIR_CANCELED_PENDING | WEIR_CANCELED_RUNNING);
        CHECK_INT(task_runs(&scene.task), ==, i);
        CHECK_STATUS(atomic_load(&scene.task.last_status), WEIR_ECANCELED);
        CHECK_INT(counts_of(scene.pool).in_flight, ==, 0);
    }
    scene_fini(&scene);
}

/* A cancellation on a thread of its own. */
struct canceller {
    struct scene *scene;
    enum weir_status status;
    uint32_t found;
};

static void canceller_run(void *arg)
{
    struct canceller *canceller = arg;
    const struct scene *scene = canceller->scene;
    canceller->status = weir_pool_cancel(scene->pool, scene->envelope, 10, &canceller->found);
}

TEST(times_out,
     "a cancellation whose time passes has cancelled, says what it found, and can be made again")
{
    struct scene scene;
    scene_init(&scene, 1);
    scene.task.is_held = true;
    CHECK_STATUS(weir_pool_start(scene.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_send(scene.pool, scene.envelope), WEIR_OK);
    counter_wait(&scene.task.entered, 1);
    CHECK_STATUS(weir_pool_send(scene.pool, scene.envelope), WEIR_OK); /* once more, after */
    for (int i = 0; i < 2; i++) {
        struct canceller canceller = {.scene = &scene};
        struct test_thread *thread = test_start(canceller_run, &canceller);
        test_wait_asleep(thread);
        CHECK_STATUS(weir_clock_advance(scene.clock, 9), WEIR_OK);
        test_wait_asleep(thread);
        CHECK_STATUS(weir_clock_advance(scene.clock, 1), WEIR_OK);
        test_join(thread);
        CHECK_STATUS(canceller.status, WEIR_ETIMEDOUT);
        CHECK_INT(canceller.found, ==,
                  i == 0 ? WEIR_CANCELED_PENDING | WEIR_CANCELED_RUNNING : WEIR_CANCELED_RUNNING);
    }
    counter_add(&scene.task.allowed, 1);
    (void)cancel(&scene, WEIR_FOREVER);
    CHECK_INT(task_runs(&scene.task), ==, 1);
    scene_fini(&scene);
}

static int check_not_cancelled(weir_context *context, struct task *task)
{
    (void)task;
    return (int)weir_context_check(context);
}

TEST(next_run, "the run after one that was cancelled is not cancelled")
{
    struct scene scene;
    scene_init(&scene, 1);
    scene.task.is_held = true;
    scene.task.body = check_not_cancelled;
    CHECK_STATUS(weir_pool_start(scene.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_send(scene.pool, scene.envelope), WEIR_OK);
    counter_wait(&scene.task.entered, 1);
    CHECK_INT(cancel(&scene, 0), ==, WEIR_CANCELED_RUNNING);
    CHECK_INT(cancel(&scene, 0), ==, WEIR_CANCELED_RUNNING);
    CHECK_STATUS(weir_pool_send(scene.pool, scene.envelope), WEIR_OK);
    counter_add(&scene.task.allowed, 1);
    counter_wait(&scene.task.entered, 2);
    CHECK_STATUS(atomic_load(&scene.task.last_status), WEIR_ECANCELED);
    counter_add(&scene.task.allowed, 1);
    CHECK_STATUS(weir_pool_end(scene.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(atomic_load(&scene.task.last_status), WEIR_OK);
    scene_fini(&scene);
}

static int cancel_itself(weir_context *context, struct task *task)
{
    uint32_t found = 0;
    CHECK_STATUS(weir_pool_cancel(task->pool, task->envelope, WEIR_FOREVER, &found), WEIR_ESTATE);
    CHECK_STATUS(weir_context_check(context), WEIR_OK);
    CHECK_STATUS(weir_pool_cancel(task->pool, task->envelope, 0, &found), WEIR_OK);
    CHECK_INT(found, ==, WEIR_CANCELED_RUNNING);
    return (int)weir_context_check(context);
}

TEST(itself, "a task may cancel itself, and is refused to wait for its own end")
{
    struct scene scene;
    scene_init(&scene, 1);
    scene.task.body = cancel_itself;
    CHECK_STATUS(weir_pool_start(scene.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_send(scene.pool, scene.envelope), WEIR_OK);
    CHECK_STATUS(weir_pool_end(scene.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(atomic_load(&scene.task.last_status), WEIR_ECANCELED);
    scene_fini(&scene);
}

static void send_waiting(void *arg)
{
    struct scene *scene = arg;
    CHECK_STATUS(weir_pool_send_wait(scene->pool, scene->envelope, WEIR_FOREVER), WEIR_OK);
}

TEST(makes_room, "the slot of what is cancelled goes to who waits for room")
{
    struct scene scene;
    struct task other;
    scene_init(&scene, 1);
    task_init(&other);
    weir_envelope *envelope = envelope_for(&other, 0);
    CHECK_STATUS(weir_pool_send_after(scene.pool, envelope, 10), WEIR_OK);
    struct test_thread *sender = test_start(send_waiting, &scene);
    test_wait_asleep(sender);
    CHECK_STATUS(weir_pool_cancel(scene.pool, envelope, 0, NULL), WEIR_OK);
    test_join(sender);
    CHECK_INT(counts_of(scene.pool).in_flight, ==, 1);
    CHECK_INT(cancel(&scene, 0), ==, WEIR_CANCELED_PENDING);
    weir_envelope_unref(envelope);
    CHECK_INT(counter_value(&other.released), ==, 1);
    task_fini(&other);
    scene_fini(&scene);
}

TEST(bad_input, "a cancellation that makes no sense is refused, and changes nothing")
{
    struct scene scene;
    scene_init(&scene, 1);
    weir_pool *other = pool_with(1, 0, scene.clock);
    uint32_t found = 77;
    CHECK_STATUS(weir_pool_send(other, scene.envelope), WEIR_OK);
    CHECK_STATUS(weir_pool_cancel(NULL, scene.envelope, 0, &found), WEIR_EINVAL);
    CHECK_STATUS(weir_pool_cancel(scene.pool, NULL, 0, &found), WEIR_EINVAL);
    CHECK_STATUS(weir_pool_cancel(scene.pool, scene.envelope, 0, &found), WEIR_EBUSY);
    CHECK_INT(found, ==, 77);
    CHECK_INT(counts_of(other).queued, ==, 1);
    weir_pool_free(other);
    scene_fini(&scene);
}

/* A pool's ended function whose calls return when they are allowed to. */
enum {
    CALLS_MAX = 4
};

struct calls {
    weir_envelope *first; /* only the calls for it wait */
    weir_envelope *other; /* the first call cancels it; may be NULL */
    struct counter begun;
    struct counter allowed[CALLS_MAX];
    struct counter others; /* calls for other envelopes */
};

static void note_call(const struct weir_ended *ended, void *arg)
{
    struct calls *calls = arg;
    if (ended->envelope != calls->first) {
        counter_add(&calls->others, 1);
        return;
    }
    if (calls->other != NULL) {
        CHECK_STATUS(weir_pool_cancel(ended->pool, calls->other, 0, NULL), WEIR_OK);
    }
    int number = counter_value(&calls->begun); /* the calls do not begin at once */
    counter_add(&calls->begun, 1);
    counter_wait(&calls->allowed[number], 1);
}

/* Replaces the scene's pool. */
static void calls_init(struct calls *calls, struct scene *scene)
{
    struct weir_pool_options options = {0};
    options.allocator = *test_allocator();
    options.clock = scene->clock;
    options.workers = 1;
    options.ended = note_call;
    options.ended_arg = calls;
    weir_pool_free(scene->pool);
    CHECK_STATUS(weir_pool_new(&options, &scene->pool, NULL), WEIR_OK);
    scene->task.pool = scene->pool;
    *calls = (struct calls){.first = scene->envelope};
    counter_init(&calls->begun);
    counter_init(&calls->others);
    for (int i = 0; i < CALLS_MAX; i++) {
        counter_init(&calls->allowed[i]);
    }
}

static void calls_fini(struct calls *calls)
{
    counter_fini(&calls->begun);
    counter_fini(&calls->others);
    for (int i = 0; i < CALLS_MAX; i++) {
        counter_fini(&calls->allowed[i]);
    }
}

static void cancel_first(void *arg)
{
    CHECK_INT(cancel(arg, 0), ==, WEIR_CANCELED_PENDING);
}

TEST(told,
     "who waits for a run returns when its end was told, also where another thread has yet to "
     "tell of an earlier end of the envelope")
{
    struct scene scene;
    struct calls calls;
    struct task task;
    scene_init(&scene, 0);
    calls_init(&calls, &scene);
    task_init(&task);
    task.body = sleep_long;
    calls.other = envelope_for(&task, 0);
    CHECK_STATUS(weir_pool_send(scene.pool, scene.envelope), WEIR_OK);
    CHECK_STATUS(weir_pool_send(scene.pool, calls.other), WEIR_OK);
    struct test_thread *teller = test_start(cancel_first, &scene);
    counter_wait(&calls.begun, 1); /* the other's end is the next one that this thread tells of */
    CHECK_STATUS(weir_pool_send(scene.pool, calls.other), WEIR_OK);
    CHECK_STATUS(weir_pool_start(scene.pool), WEIR_OK);
    counter_wait(&task.entered, 1);
    uint32_t found;
    CHECK_STATUS(weir_pool_cancel(scene.pool, calls.other, WEIR_FOREVER, &found), WEIR_OK);
    CHECK_INT(found, ==, WEIR_CANCELED_RUNNING);
    CHECK_INT(counter_value(&calls.others), ==, 2);
    counter_add(&calls.allowed[0], 1);
    test_join(teller);
    CHECK_INT(counter_value(&calls.others), ==, 2);
    weir_envelope_unref(calls.other);
    CHECK_INT(counter_value(&task.released), ==, 1);
    task_fini(&task);
    scene_fini(&scene);
    calls_fini(&calls);
}

TEST(told_twice,
     "an envelope is free for another pool when each of two threads has told of its end")
{
    struct scene scene;
    struct calls calls;
    struct test_thread *tellers[2];
    scene_init(&scene, 0);
    calls_init(&calls, &scene);
    weir_pool *other = pool_with(1, 0, scene.clock);
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(weir_pool_send(scene.pool, scene.envelope), WEIR_OK);
        tellers[i] = test_start(cancel_first, &scene);
        counter_wait(&calls.begun, i + 1);
    }
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(weir_pool_send(other, scene.envelope), WEIR_EBUSY);
        counter_add(&calls.allowed[i], 1);
        test_join(tellers[i]);
    }
    CHECK_STATUS(weir_pool_send(other, scene.envelope), WEIR_OK);
    CHECK_STATUS(weir_pool_cancel(scene.pool, scene.envelope, 0, NULL), WEIR_EBUSY);
    weir_pool_free(other);
    scene_fini(&scene);
    calls_fini(&calls);
}

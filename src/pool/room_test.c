/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/pool.h"

#include "pool/fixture.h"

/* A full pool: sends that wait for capacity, envelopes that are dropped for it, and sends of
 * several at once. */

#define COUNT 4

/* A pool that was not started, with envelopes of its own. */
struct scene {
    weir_clock *clock;
    weir_pool *pool;
    struct task tasks[COUNT];
    weir_envelope *envelopes[COUNT];
};

static void scene_init(struct scene *scene, size_t capacity, uint32_t when_full)
{
    scene->clock = manual_clock(100);
    struct weir_pool_options options = {0};
    options.allocator = *test_allocator();
    options.workers = 1;
    options.capacity = capacity;
    options.when_full = when_full;
    options.clock = scene->clock;
    CHECK_STATUS(weir_pool_new(&options, &scene->pool, NULL), WEIR_OK);
    for (int i = 0; i < COUNT; i++) {
        task_init(&scene->tasks[i]);
        scene->envelopes[i] = envelope_for(&scene->tasks[i], 0);
    }
}

/* Runs what is queued; then nothing may be held any more. */
static void scene_fini(struct scene *scene)
{
    enum weir_status status = weir_pool_start(scene->pool);
    CHECK(status == WEIR_OK || status == WEIR_ESTATE);
    CHECK_STATUS(weir_pool_end(scene->pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counts_of(scene->pool).in_flight, ==, 0);
    weir_pool_free(scene->pool);
    for (int i = 0; i < COUNT; i++) {
        weir_envelope_unref(scene->envelopes[i]);
        CHECK_INT(counter_value(&scene->tasks[i].released), ==, 1);
        task_fini(&scene->tasks[i]);
    }
    weir_clock_free(scene->clock);
}

/* A send that blocks, on a thread of its own. */
struct sender {
    weir_pool *pool;
    weir_envelope *const *envelopes;
    size_t count;
    int64_t timeout_ns;
    enum weir_status status;
    struct test_thread *thread;
};

static void sender_run(void *arg)
{
    struct sender *sender = arg;
    sender->status =
        sender->count == 1
            ? weir_pool_send_wait(sender->pool, sender->envelopes[0], sender->timeout_ns)
            : weir_pool_send_all(sender->pool, sender->envelopes, sender->count);
}

static void sender_start(struct sender *sender, struct scene *scene, int first, size_t count,
                         int64_t timeout_ns)
{
    *sender = (struct sender){.pool = scene->pool,
                              .envelopes = &scene->envelopes[first],
                              .count = count,
                              .timeout_ns = timeout_ns};
    sender->thread = test_start(sender_run, sender);
    test_wait_asleep(sender->thread);
}

static enum weir_status sender_join(struct sender *sender)
{
    test_join(sender->thread);
    return sender->status;
}

TEST(waits_in_order,
     "senders that wait for room get it in the order in which they came, and nobody else does")
{
    struct scene scene;
    struct sender senders[2];
    scene_init(&scene, 1, WEIR_FULL_REFUSE);
    scene.tasks[0].is_held = true;
    scene.tasks[1].is_held = true;
    CHECK_STATUS(weir_pool_send(scene.pool, scene.envelopes[0]), WEIR_OK);
    sender_start(&senders[0], &scene, 1, 1, WEIR_FOREVER);
    sender_start(&senders[1], &scene, 2, 1, WEIR_FOREVER);
    CHECK_STATUS(weir_pool_send(scene.pool, scene.envelopes[3]), WEIR_EFULL);
    CHECK_STATUS(weir_pool_start(scene.pool), WEIR_OK);
    counter_wait(&scene.tasks[0].entered, 1);
    CHECK(!test_has_ended(senders[0].thread));
    counter_add(&scene.tasks[0].allowed, 1);
    CHECK_STATUS(sender_join(&senders[0]), WEIR_OK);
    counter_wait(&scene.tasks[1].entered, 1);
    CHECK(!test_has_ended(senders[1].thread));
    CHECK_INT(counts_of(scene.pool).in_flight, ==, 1);
    counter_add(&scene.tasks[1].allowed, 1);
    CHECK_STATUS(sender_join(&senders[1]), WEIR_OK);
    scene_fini(&scene);
}

TEST(waits_for_its_time, "a send that waits for room gives up after its timeout, and not before")
{
    struct scene scene;
    struct sender sender;
    scene_init(&scene, 1, WEIR_FULL_REFUSE);
    CHECK_STATUS(weir_pool_send(scene.pool, scene.envelopes[0]), WEIR_OK);
    CHECK_STATUS(weir_pool_send_wait(scene.pool, scene.envelopes[1], 0), WEIR_ETIMEDOUT);
    CHECK_STATUS(weir_pool_send_wait(scene.pool, scene.envelopes[1], INT64_MIN), WEIR_ETIMEDOUT);
    sender_start(&sender, &scene, 1, 1, 10);
    CHECK_STATUS(weir_clock_advance(scene.clock, 9), WEIR_OK);
    test_wait_asleep(sender.thread);
    CHECK(!test_has_ended(sender.thread));
    CHECK_STATUS(weir_clock_advance(scene.clock, 1), WEIR_OK);
    CHECK_STATUS(sender_join(&sender), WEIR_ETIMEDOUT);
    CHECK_INT(counts_of(scene.pool).in_flight, ==, 1);
    scene_fini(&scene);
    CHECK_INT(scene.tasks[1].last_status, ==, 0);
}

TEST(waits_real_clock, "a limit of the real clock is kept as well")
{
    struct task tasks[2];
    weir_envelope *envelopes[2];
    weir_pool *pool = pool_with(1, 1, NULL);
    for (int i = 0; i < 2; i++) {
        task_init(&tasks[i]);
        envelopes[i] = envelope_for(&tasks[i], 0);
    }
    CHECK_STATUS(weir_pool_send(pool, envelopes[0]), WEIR_OK);
    int64_t limit = weir_clock_now(weir_clock_monotonic()) + WEIR_MS(5);
    CHECK_STATUS(weir_pool_send_wait(pool, envelopes[1], WEIR_MS(5)), WEIR_ETIMEDOUT);
    CHECK_INT(weir_clock_now(weir_clock_monotonic()), >=, limit);
    weir_pool_free(pool);
    for (int i = 0; i < 2; i++) {
        weir_envelope_unref(envelopes[i]);
        task_fini(&tasks[i]);
    }
}

TEST(in_flight_needs_no_room, "an envelope that is in flight never finds the pool full")
{
    struct scene scene;
    scene_init(&scene, 1, WEIR_FULL_WAIT);
    CHECK_STATUS(weir_pool_send_after(scene.pool, scene.envelopes[0], 10), WEIR_OK);
    CHECK_STATUS(weir_pool_send(scene.pool, scene.envelopes[0]), WEIR_OK);
    CHECK_STATUS(weir_pool_send(scene.pool, scene.envelopes[0]), WEIR_OK);
    CHECK_STATUS(weir_pool_send_after(scene.pool, scene.envelopes[0], 5), WEIR_OK);
    CHECK_STATUS(weir_pool_send_wait(scene.pool, scene.envelopes[0], 0), WEIR_OK);
    CHECK_INT(counts_of(scene.pool).in_flight, ==, 1);
    scene_fini(&scene);
}

TEST(policy_wait, "in a pool that waits when full, a plain send and one for later wait for room")
{
    struct scene scene;
    scene_init(&scene, 1, WEIR_FULL_WAIT);
    CHECK_STATUS(weir_pool_start(scene.pool), WEIR_OK);
    for (int i = 0; i < COUNT; i++) {
        CHECK_STATUS(weir_pool_send(scene.pool, scene.envelopes[i]), WEIR_OK);
        CHECK_INT(counts_of(scene.pool).in_flight, <=, 1);
    }
    CHECK_STATUS(weir_pool_send_after(scene.pool, scene.envelopes[0], 10), WEIR_OK);
    counter_wait(&scene.tasks[3].outcomes, 1);
    CHECK_INT(counts_of(scene.pool).waiting, ==, 1);
    CHECK_STATUS(weir_clock_advance(scene.clock, 10), WEIR_OK);
    counter_wait(&scene.tasks[0].outcomes, 2);
    scene_fini(&scene);
}

TEST(shutdown_ends_waits, "a drain and a stop end the wait for room; nothing was sent")
{
    for (int i = 0; i < 2; i++) {
        struct scene scene;
        struct sender sender;
        struct sender several;
        scene_init(&scene, 2, WEIR_FULL_WAIT);
        scene.tasks[0].is_held = true;
        CHECK_STATUS(weir_pool_start(scene.pool), WEIR_OK);
        CHECK_STATUS(weir_pool_send(scene.pool, scene.envelopes[0]), WEIR_OK);
        counter_wait(&scene.tasks[0].entered, 1);
        CHECK_STATUS(weir_pool_send_after(scene.pool, scene.envelopes[1], 10), WEIR_OK);
        sender_start(&sender, &scene, 2, 1, WEIR_FOREVER);
        sender_start(&several, &scene, 2, 2, WEIR_FOREVER);
        struct ender ender = {.pool = scene.pool, .mode = i == 0 ? WEIR_END_DRAIN : WEIR_END_STOP};
        struct test_thread *thread = test_start(ender_run, &ender);
        CHECK_STATUS(sender_join(&sender), WEIR_ESHUTDOWN);
        CHECK_STATUS(sender_join(&several), WEIR_ESHUTDOWN);
        counter_add(&scene.tasks[0].allowed, 1);
        test_join(thread);
        CHECK_STATUS(ender.status, WEIR_OK);
        CHECK_INT(task_runs(&scene.tasks[2]), ==, 0);
        CHECK_STATUS(weir_pool_end(scene.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
        weir_pool_free(scene.pool);
        for (int j = 0; j < COUNT; j++) {
            weir_envelope_unref(scene.envelopes[j]);
            CHECK_INT(counter_value(&scene.tasks[j].released), ==, 1);
            task_fini(&scene.tasks[j]);
        }
        weir_clock_free(scene.clock);
    }
}

static int send_other(weir_context *context, struct task *task)
{
    (void)context;
    CHECK_STATUS(weir_pool_send_wait(task->pool, task->envelope, WEIR_FOREVER), WEIR_EFULL);
    CHECK_STATUS(weir_pool_send(task->pool, task->envelope), WEIR_EFULL);
    return WEIR_OK;
}

TEST(own_task, "a task does not wait for room in its own pool, which it may itself be taking")
{
    struct scene scene;
    scene_init(&scene, 1, WEIR_FULL_WAIT);
    scene.tasks[0].pool = scene.pool;
    scene.tasks[0].envelope = scene.envelopes[1];
    scene.tasks[0].body = send_other;
    CHECK_STATUS(weir_pool_start(scene.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_send(scene.pool, scene.envelopes[0]), WEIR_OK);
    counter_wait(&scene.tasks[0].outcomes, 1);
    scene_fini(&scene);
}

TEST(drop_oldest, "a pool that drops the oldest gives the slot of what is queued longest away")
{
    struct scene scene;
    scene_init(&scene, 2, WEIR_FULL_DROP_OLDEST);
    CHECK_STATUS(weir_pool_send(scene.pool, scene.envelopes[0]), WEIR_OK);
    CHECK_STATUS(weir_pool_send_after(scene.pool, scene.envelopes[0], 10), WEIR_OK);
    CHECK_STATUS(weir_pool_send(scene.pool, scene.envelopes[1]), WEIR_OK);
    CHECK_STATUS(weir_pool_send(scene.pool, scene.envelopes[1]), WEIR_OK);
    CHECK_STATUS(weir_pool_send_all(scene.pool, &scene.envelopes[2], 1), WEIR_EFULL);
    CHECK_STATUS(weir_pool_send(scene.pool, scene.envelopes[2]), WEIR_OK);
    struct weir_pool_counts counts = counts_of(scene.pool);
    CHECK_INT(counts.in_flight, ==, 2);
    CHECK_INT(counts.waiting, ==, 0); /* the whole envelope went, its pending time too */
    CHECK_INT(counts.dropped, ==, 2);
    CHECK_STATUS(weir_pool_send_after(scene.pool, scene.envelopes[3], 10), WEIR_OK);
    CHECK_INT(counts_of(scene.pool).dropped, ==, 3);
    CHECK_STATUS(weir_pool_start(scene.pool), WEIR_OK);
    counter_wait(&scene.tasks[2].outcomes, 1);
    CHECK_STATUS(weir_clock_advance(scene.clock, 10), WEIR_OK);
    counter_wait(&scene.tasks[3].outcomes, 1);
    CHECK_INT(task_runs(&scene.tasks[0]), ==, 0);
    CHECK_INT(task_runs(&scene.tasks[1]), ==, 0);
    scene_fini(&scene);
}

TEST(drop_oldest_none, "where nothing is queued there is nothing to drop: the send is refused")
{
    struct scene scene;
    scene_init(&scene, 2, WEIR_FULL_DROP_OLDEST);
    scene.tasks[0].is_held = true;
    CHECK_STATUS(weir_pool_start(scene.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_send(scene.pool, scene.envelopes[0]), WEIR_OK);
    counter_wait(&scene.tasks[0].entered, 1);
    CHECK_STATUS(weir_pool_send_after(scene.pool, scene.envelopes[1], 10), WEIR_OK);
    CHECK_STATUS(weir_pool_send(scene.pool, scene.envelopes[2]), WEIR_EFULL);
    CHECK_STATUS(weir_pool_send_all(scene.pool, &scene.envelopes[2], 2), WEIR_EFULL);
    counter_add(&scene.tasks[0].allowed, 1);
    scene_fini(&scene);
    CHECK_INT(scene.tasks[2].last_status, ==, 0);
}

TEST(drop_oldest_seekers, "who waits for room is not passed by who drops the oldest for its own")
{
    struct scene scene;
    struct sender sender;
    scene_init(&scene, 1, WEIR_FULL_DROP_OLDEST);
    CHECK_STATUS(weir_pool_send(scene.pool, scene.envelopes[0]), WEIR_OK);
    sender_start(&sender, &scene, 1, 1, WEIR_FOREVER);
    CHECK_STATUS(weir_pool_send(scene.pool, scene.envelopes[2]), WEIR_OK);
    CHECK(!test_has_ended(sender.thread));
    CHECK_INT(counts_of(scene.pool).in_flight, ==, 1);
    CHECK_STATUS(weir_pool_start(scene.pool), WEIR_OK);
    CHECK_STATUS(sender_join(&sender), WEIR_OK);
    counter_wait(&scene.tasks[1].outcomes, 1);
    CHECK_INT(task_runs(&scene.tasks[0]), ==, 0);
    CHECK_INT(task_runs(&scene.tasks[2]), ==, 1);
    scene_fini(&scene);
}

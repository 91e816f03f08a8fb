/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/pool.h"

#include "pool/fixture.h"

/* Sends of several envelopes at once. */

#define COUNT 4

struct scene {
    weir_pool *pool;
    struct task tasks[COUNT];
    weir_envelope *envelopes[COUNT];
};

/* False where an allocation was made to fail; scene_fini() all the same. */
static bool scene_init(struct scene *scene, size_t capacity, uint32_t when_full)
{
    struct weir_pool_options options = {0};
    options.allocator = *test_allocator();
    options.workers = 1;
    options.capacity = capacity;
    options.when_full = when_full;
    scene->pool = NULL;
    bool is_made = !CHECK_OR_OOM(weir_pool_new(&options, &scene->pool, NULL));
    for (int i = 0; i < COUNT; i++) {
        task_init(&scene->tasks[i]);
        scene->envelopes[i] = envelope_for(&scene->tasks[i], 0);
        is_made = is_made && scene->envelopes[i] != NULL;
    }
    return is_made;
}

static void scene_fini(struct scene *scene)
{
    weir_pool_free(scene->pool);
    for (int i = 0; i < COUNT; i++) {
        weir_envelope_unref(scene->envelopes[i]);
        task_fini(&scene->tasks[i]);
    }
}

TEST_OOM(all, "several envelopes are sent at one moment and run in their order; or none is")
{
    struct scene scene;
    if (!scene_init(&scene, 0, WEIR_FULL_REFUSE)) {
        scene_fini(&scene);
        return;
    }
    enum weir_status status = weir_pool_send_all(scene.pool, scene.envelopes, COUNT);
    bool was_oom = CHECK_OR_OOM(status);
    CHECK_INT(counts_of(scene.pool).queued, ==, was_oom ? 0 : COUNT);
    CHECK_STATUS(weir_pool_start(scene.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_end(scene.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    for (int i = 0; i < COUNT; i++) {
        CHECK_INT(task_runs(&scene.tasks[i]), ==, was_oom ? 0 : 1);
    }
    scene_fini(&scene);
}

TEST(duplicates, "named twice in one send, or in flight before, an envelope takes one slot (R1)")
{
    struct scene scene;
    CHECK(scene_init(&scene, 2, WEIR_FULL_REFUSE));
    weir_envelope *twice[] = {scene.envelopes[0], scene.envelopes[1], scene.envelopes[0],
                              scene.envelopes[1], scene.envelopes[1]};
    CHECK_STATUS(weir_pool_send_all(scene.pool, twice, 5), WEIR_OK);
    CHECK_INT(counts_of(scene.pool).in_flight, ==, 2);
    CHECK_STATUS(weir_pool_send_all(scene.pool, twice, 5), WEIR_OK);
    CHECK_INT(counts_of(scene.pool).in_flight, ==, 2);
    CHECK_STATUS(weir_pool_start(scene.pool), WEIR_OK);
    for (int i = 0; i < 2; i++) {
        weir_envelope_unref(scene.envelopes[i]);
        scene.envelopes[i] = NULL;
        counter_wait(&scene.tasks[i].released, 1); /* the pool's one reference was the last */
        CHECK_INT(task_runs(&scene.tasks[i]), ==, 1);
    }
    CHECK_INT(counts_of(scene.pool).in_flight, ==, 0);
    scene_fini(&scene);
}

TEST(none, "where one of several envelopes cannot be sent, none is, and nothing has changed")
{
    struct scene scene;
    CHECK(scene_init(&scene, 3, WEIR_FULL_REFUSE));
    weir_pool *other = pool_with(1, 0, NULL);
    CHECK_STATUS(weir_pool_send_all(scene.pool, scene.envelopes, 4), WEIR_EFULL);
    CHECK_STATUS(weir_pool_send(other, scene.envelopes[2]), WEIR_OK);
    CHECK_STATUS(weir_pool_send_all(scene.pool, scene.envelopes, 3), WEIR_EBUSY);
    weir_envelope *with_null[] = {scene.envelopes[0], NULL};
    CHECK_STATUS(weir_pool_send_all(scene.pool, with_null, 2), WEIR_EINVAL);
    CHECK_INT(counts_of(scene.pool).in_flight, ==, 0);
    CHECK_STATUS(weir_pool_send(other, scene.envelopes[0]), WEIR_OK); /* its flight is over */
    weir_pool_free(other);
    CHECK_STATUS(weir_pool_send_all(scene.pool, scene.envelopes, 3), WEIR_OK);
    CHECK_INT(counts_of(scene.pool).in_flight, ==, 3);
    CHECK_STATUS(weir_pool_send_all(scene.pool, &scene.envelopes[2], 2), WEIR_EFULL);
    CHECK_INT(counts_of(scene.pool).in_flight, ==, 3);
    scene_fini(&scene);
}

TEST(ended, "a pool that has ended takes no several envelopes either")
{
    struct scene scene;
    CHECK(scene_init(&scene, 0, WEIR_FULL_WAIT));
    CHECK_STATUS(weir_pool_start(scene.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_end(scene.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(weir_pool_send_all(scene.pool, scene.envelopes, COUNT), WEIR_ESHUTDOWN);
    CHECK_STATUS(weir_pool_send_all(scene.pool, NULL, 0), WEIR_OK);
    scene_fini(&scene);
}

static void send_three(void *arg)
{
    struct scene *scene = arg;
    CHECK_STATUS(weir_pool_send_all(scene->pool, &scene->envelopes[1], 3), WEIR_OK);
}

TEST(waits_for_all, "several envelopes wait until there is room for all; more than fit ever do not")
{
    struct scene scene;
    CHECK(scene_init(&scene, 3, WEIR_FULL_WAIT));
    CHECK_STATUS(weir_pool_send_all(scene.pool, scene.envelopes, COUNT), WEIR_EFULL);
    scene.tasks[0].is_held = true;
    CHECK_STATUS(weir_pool_start(scene.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_send(scene.pool, scene.envelopes[0]), WEIR_OK);
    counter_wait(&scene.tasks[0].entered, 1);
    struct test_thread *sender = test_start(send_three, &scene);
    test_wait_asleep(sender);
    CHECK_INT(counts_of(scene.pool).in_flight, ==, 1); /* none rather than two of the three */
    CHECK(!test_has_ended(sender));
    counter_add(&scene.tasks[0].allowed, 1);
    test_join(sender);
    CHECK_STATUS(weir_pool_end(scene.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    for (int i = 0; i < COUNT; i++) {
        CHECK_INT(task_runs(&scene.tasks[i]), ==, 1);
    }
    scene_fini(&scene);
}

static void send_twice(void *arg)
{
    struct scene *scene = arg;
    weir_envelope *twice[] = {scene->envelopes[1], scene->envelopes[2], scene->envelopes[1]};
    CHECK_STATUS(weir_pool_send_all(scene->pool, twice, 3), WEIR_OK);
}

TEST(waits_for_each, "an envelope that is named twice takes one slot of those that are waited for")
{
    struct scene scene;
    CHECK(scene_init(&scene, 2, WEIR_FULL_WAIT));
    scene.tasks[0].is_held = true;
    CHECK_STATUS(weir_pool_start(scene.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_send(scene.pool, scene.envelopes[0]), WEIR_OK);
    counter_wait(&scene.tasks[0].entered, 1);
    struct test_thread *sender = test_start(send_twice, &scene);
    test_wait_asleep(sender);
    counter_add(&scene.tasks[0].allowed, 1);
    test_join(sender);
    CHECK_STATUS(weir_pool_end(scene.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(task_runs(&scene.tasks[1]), ==, 1);
    CHECK_INT(task_runs(&scene.tasks[2]), ==, 1);
    scene_fini(&scene);
}

TEST(bad_input, "sends without a pool or an envelope, and unknown policies, are refused")
{
    struct scene scene;
    CHECK(scene_init(&scene, 1, WEIR_FULL_REFUSE));
    CHECK_STATUS(weir_pool_send(NULL, scene.envelopes[0]), WEIR_EINVAL);
    CHECK_STATUS(weir_pool_send(scene.pool, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_pool_send_after(NULL, scene.envelopes[0], 1), WEIR_EINVAL);
    CHECK_STATUS(weir_pool_send_after(scene.pool, NULL, 1), WEIR_EINVAL);
    CHECK_STATUS(weir_pool_send_wait(NULL, scene.envelopes[0], 0), WEIR_EINVAL);
    CHECK_STATUS(weir_pool_send_wait(scene.pool, NULL, 0), WEIR_EINVAL);
    CHECK_STATUS(weir_pool_send_all(NULL, scene.envelopes, 1), WEIR_EINVAL);
    CHECK_STATUS(weir_pool_send_all(scene.pool, NULL, 1), WEIR_EINVAL);
    CHECK_STATUS(weir_pool_send_all(scene.pool, scene.envelopes, 0), WEIR_OK);
    CHECK_INT(counts_of(scene.pool).in_flight, ==, 0);
    struct weir_pool_options options = {0};
    options.workers = 1;
    options.when_full = WEIR_FULL_DROP_OLDEST + 1;
    weir_pool *none = NULL;
    CHECK_STATUS(weir_pool_new(&options, &none, NULL), WEIR_EINVAL);
    CHECK(none == NULL);
    scene_fini(&scene);
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/pool.h"

#include <stdio.h>

#include "pool/fixture.h"

/* Envelopes of groups, of which so many run at once. */

#define COUNT 6

struct scene {
    weir_clock *clock;
    weir_pool *pool;
    struct task tasks[COUNT];
    weir_envelope *envelopes[COUNT];
    struct counter order; /* runs begun */
    int began[COUNT * 4]; /* whose they were */
};

static int note_order(weir_context *context, struct task *task)
{
    struct scene *scene = (struct scene *)(void *)task->pool; /* of no other use here */
    (void)context;
    int at = counter_value(&scene->order);
    scene->began[at] = (int)(task - scene->tasks);
    counter_add(&scene->order, 1);
    return task->status;
}

/* groups: a letter for each envelope; a space: none. */
static void scene_init(struct scene *scene, size_t workers, size_t capacity, uint32_t limit,
                       const char *groups)
{
    memset(scene, 0, sizeof(*scene));
    scene->clock = manual_clock(0);
    counter_init(&scene->order);
    struct weir_pool_options options = {0};
    options.allocator = *test_allocator();
    options.clock = scene->clock;
    options.workers = workers;
    options.capacity = capacity;
    options.group_limit = limit;
    CHECK_STATUS(weir_pool_new(&options, &scene->pool, NULL), WEIR_OK);
    for (int i = 0; i < COUNT; i++) {
        struct task *task = &scene->tasks[i];
        task_init(task);
        task->body = note_order;
        task->pool = (weir_pool *)(void *)scene;
        struct weir_envelope_options of_envelope = {0};
        of_envelope.allocator = *test_allocator();
        of_envelope.payload = task;
        of_envelope.invoke = task_invoke;
        of_envelope.outcome = task_outcome;
        of_envelope.release = task_release;
        if (groups[i] != ' ') {
            of_envelope.group = weir_key_bytes(&groups[i], 1);
        }
        CHECK_STATUS(weir_envelope_new(&of_envelope, &scene->envelopes[i], NULL), WEIR_OK);
    }
}

static void scene_send(struct scene *scene)
{
    for (int i = 0; i < COUNT; i++) {
        CHECK_STATUS(weir_pool_send(scene->pool, scene->envelopes[i]), WEIR_OK);
    }
}

static void scene_fini(struct scene *scene)
{
    CHECK_INT(counts_of(scene->pool).in_flight, ==, 0);
    weir_pool_free(scene->pool);
    for (int i = 0; i < COUNT; i++) {
        weir_envelope_unref(scene->envelopes[i]);
        CHECK_INT(counter_value(&scene->tasks[i].released), ==, 1);
        task_fini(&scene->tasks[i]);
    }
    counter_fini(&scene->order);
    weir_clock_free(scene->clock);
}

/* Waits for runs begun, and demands in which order. */
static void expect_order(struct scene *scene, const char *numbers)
{
    counter_wait(&scene->order, (int)strlen(numbers));
    for (size_t i = 0; i < strlen(numbers); i++) {
        CHECK_INT(scene->began[i], ==, numbers[i] - '0');
    }
}

TEST(limit, "no more of a group run at once than may; the others pass, and what waits is queued")
{
    struct scene scene;
    scene_init(&scene, 4, COUNT, 1, "aaab b");
    scene.tasks[0].is_held = true;
    scene.tasks[3].is_held = true;
    CHECK_STATUS(weir_pool_start(scene.pool), WEIR_OK);
    scene_send(&scene);
    counter_wait(&scene.tasks[0].entered, 1);
    counter_wait(&scene.tasks[3].entered, 1);
    counter_wait(&scene.tasks[4].outcomes, 1); /* of no group: passes them all */
    while (counts_of(scene.pool).running != 2) {
    }
    struct weir_pool_counts counts = counts_of(scene.pool);
    CHECK_INT(counts.queued, ==, 3);
    CHECK_INT(counts.in_flight, ==, 5);
    CHECK_INT(counter_value(&scene.tasks[1].entered), ==, 0);
    CHECK_INT(counter_value(&scene.tasks[5].entered), ==, 0);
    CHECK_STATUS(weir_pool_send(scene.pool, scene.envelopes[1]), WEIR_OK); /* coalesces */
    counter_add(&scene.tasks[0].allowed, 1);
    counter_wait(&scene.tasks[2].outcomes, 1);
    CHECK_INT(counter_value(&scene.tasks[5].entered), ==, 0);
    counter_add(&scene.tasks[3].allowed, 1);
    CHECK_STATUS(weir_pool_end(scene.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    for (int i = 0; i < COUNT; i++) {
        CHECK_INT(task_runs(&scene.tasks[i]), ==, 1);
    }
    scene_fini(&scene);
}

TEST(in_order, "the envelopes of a group that runs one at a time run in the order they were sent")
{
    struct scene scene;
    scene_init(&scene, 4, 0, 1, "aaaaaa");
    scene_send(&scene);
    CHECK_STATUS(weir_pool_start(scene.pool), WEIR_OK);
    expect_order(&scene, "012345");
    CHECK_STATUS(weir_pool_end(scene.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    scene_fini(&scene);
}

TEST(two_seats, "with two seats two of a group run at once, and never three")
{
    struct scene scene;
    scene_init(&scene, 4, 0, 2, "aaaaaa");
    for (int i = 0; i < COUNT; i++) {
        scene.tasks[i].is_held = true;
    }
    CHECK_STATUS(weir_pool_start(scene.pool), WEIR_OK);
    scene_send(&scene);
    for (int i = 0; i < COUNT; i += 2) {
        /* The one that came first leaves first, and then the other: each has been the chief. */
        counter_wait(&scene.tasks[i].entered, 1);
        counter_wait(&scene.tasks[i + 1].entered, 1);
        CHECK_INT(counts_of(scene.pool).running, ==, 2);
        CHECK_INT(counts_of(scene.pool).queued, ==, COUNT - 2 - i);
        counter_add(&scene.tasks[i].allowed, 1);
        if (i + 2 < COUNT) {
            counter_wait(&scene.tasks[i + 2].entered, 1);
            CHECK_INT(counter_value(&scene.tasks[(i + 3) % COUNT].entered), ==, 0);
        }
        counter_add(&scene.tasks[i + 1].allowed, 1);
    }
    CHECK_STATUS(weir_pool_end(scene.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    scene_fini(&scene);
}

TEST(aside,
     "what waits for its group can be cancelled, displaced, counted and dropped like the rest")
{
    struct scene scene;
    scene_init(&scene, 2, 4, 1, "aaaaaa");
    scene.tasks[0].is_held = true;
    CHECK_STATUS(weir_pool_start(scene.pool), WEIR_OK);
    for (int i = 0; i < 4; i++) {
        CHECK_STATUS(weir_pool_send(scene.pool, scene.envelopes[i]), WEIR_OK);
    }
    counter_wait(&scene.tasks[0].entered, 1);
    CHECK_STATUS(weir_pool_send(scene.pool, scene.envelopes[4]), WEIR_EFULL);
    uint32_t found;
    CHECK_STATUS(weir_pool_cancel(scene.pool, scene.envelopes[2], 0, &found), WEIR_OK);
    CHECK_INT(found, ==, WEIR_CANCELED_PENDING);
    CHECK_INT(counts_of(scene.pool).queued, ==, 2);
    CHECK_STATUS(weir_pool_send(scene.pool, scene.envelopes[4]), WEIR_OK);
    struct ender ender = {.pool = scene.pool, .mode = WEIR_END_STOP};
    struct test_thread *stopper = test_start(ender_run, &ender);
    test_wait_asleep(stopper);
    CHECK_INT(counts_of(scene.pool).in_flight, ==, 1); /* although its group's seat is taken */
    counter_add(&scene.tasks[0].allowed, 1);
    test_join(stopper);
    CHECK_INT(counts_of(scene.pool).dropped, ==, 4);
    CHECK_INT(counts_of(scene.pool).runs, ==, 1);
    scene_fini(&scene);
}

TEST(bad_input, "a group without its bytes, or with too many, is refused")
{
    struct weir_envelope_options options = {0};
    options.invoke = task_invoke;
    weir_envelope *none = NULL;
    options.group = weir_key_bytes(NULL, 1);
    CHECK_STATUS(weir_envelope_new(&options, &none, NULL), WEIR_EINVAL);
    struct weir_item item = {0};
    options.group = weir_key_item(&item);
    CHECK_STATUS(weir_envelope_new(&options, &none, NULL), WEIR_EINVAL);
    options.group = weir_key_bytes(&options, SIZE_MAX);
    CHECK_STATUS(weir_envelope_new(&options, &none, NULL), WEIR_ETOOBIG);
    options.group = weir_key_bytes(&options, 65537);
    CHECK_STATUS(weir_envelope_new(&options, &none, NULL), WEIR_ETOOBIG);
    CHECK(none == NULL);
}

TEST_OOM(no_memory, "an envelope of a group is made whole or not at all")
{
    struct weir_envelope_options options = {0};
    options.allocator = *test_allocator();
    options.invoke = task_invoke;
    options.group = weir_key_bytes("customer", 8);
    weir_envelope *envelope = NULL;
    if (!CHECK_OR_OOM(weir_envelope_new(&options, &envelope, NULL))) {
        CHECK(envelope != NULL);
    }
    weir_envelope_unref(envelope);
}

/* Each send needs memory for its group, and the first 64 grow the core. */
TEST_OOM(displaces_nothing, "a send that fails for lack of memory has displaced nothing")
{
    struct weir_pool_options options = {0};
    struct weir_envelope_options one = {0};
    weir_pool *pool = NULL;
    size_t queued = 0;
    options.allocator = *test_allocator();
    options.workers = 1;
    options.capacity = 64;
    options.when_full = WEIR_FULL_DROP_OLDEST;
    options.group_limit = 1;
    one.allocator = *test_allocator();
    one.invoke = task_invoke;
    if (CHECK_OR_OOM(weir_pool_new(&options, &pool, NULL))) {
        return;
    }
    for (int i = 0; i < 70; i++) {
        char name[40];
        weir_envelope *envelope = NULL;
        (void)snprintf(name, sizeof(name), "a customer with a long name, number %d", i);
        one.group = weir_key_bytes(name, strlen(name));
        if (CHECK_OR_OOM(weir_envelope_new(&one, &envelope, NULL))) {
            continue;
        }
        bool was_oom = CHECK_OR_OOM(weir_pool_send(pool, envelope));
        uint64_t dropped = counts_of(pool).dropped;
        queued += !was_oom;
        CHECK_INT(dropped, ==, queued > options.capacity ? queued - options.capacity : 0);
        CHECK_INT(counts_of(pool).in_flight, ==, queued - dropped);
        CHECK_INT(pool->groups.count, ==, queued - dropped);
        weir_envelope_unref(envelope);
    }
    weir_pool_free(pool);
}

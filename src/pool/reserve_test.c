/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/pool.h"

#include <sched.h>

#include "pool/fixture.h"

/* Workers in reserve. In these pools one worker is of use and every run is short, whatever the
 * machine: the others rest unless that one is blocked. */

#define WORKERS 6
#define SHORT_TASKS 8

struct scene {
    weir_pool *pool;
    atomic_bool is_flood; /* short tasks come again and again */
    atomic_int inside;    /* blocking tasks */
    struct counter gathered;
    weir_envelope *short_ones[SHORT_TASKS];
    weir_envelope *blocking[WORKERS];
};

static int do_little(weir_context *context, void *payload)
{
    (void)context;
    (void)payload;
    return WEIR_OK;
}

static void send_again(weir_envelope *envelope, int status, void *payload)
{
    struct scene *scene = payload;
    CHECK_STATUS(status, WEIR_OK);
    if (atomic_load(&scene->is_flood)) {
        status = (int)weir_pool_send(scene->pool, envelope);
        CHECK(status == WEIR_OK || status == WEIR_ESHUTDOWN);
    }
}

/* Leaves only when all the workers of the pool are in such a task. */
static int gather(weir_context *context, void *payload)
{
    struct scene *scene = payload;
    (void)context;
    counter_add(&scene->gathered, 1);
    counter_wait(&scene->gathered, WORKERS);
    return WEIR_OK;
}

static weir_envelope *new_envelope(struct scene *scene, weir_invoke_fn *invoke,
                                   weir_outcome_fn *outcome)
{
    struct weir_envelope_options options = WEIR_ENVELOPE_OPTIONS_INIT;
    options.allocator = *test_allocator();
    options.payload = scene;
    options.invoke = invoke;
    options.outcome = outcome;
    weir_envelope *envelope;
    CHECK_STATUS(weir_envelope_new(&options, &envelope), WEIR_OK);
    return envelope;
}

static void scene_init(struct scene *scene)
{
    *scene = (struct scene){.pool = pool_with(WORKERS, 0, NULL)};
    CHECK(scene->pool != NULL);
    scene->pool->reserve.awake_max = 1;
    scene->pool->reserve.short_ns = WEIR_FOREVER;
    atomic_store(&scene->is_flood, true);
    counter_init(&scene->gathered);
    for (int i = 0; i < SHORT_TASKS; i++) {
        scene->short_ones[i] = new_envelope(scene, do_little, send_again);
    }
    for (int i = 0; i < WORKERS; i++) {
        scene->blocking[i] = new_envelope(scene, gather, NULL);
    }
    CHECK_STATUS(weir_pool_start(scene->pool), WEIR_OK);
}

static void scene_fini(struct scene *scene)
{
    weir_pool_free(scene->pool);
    for (int i = 0; i < SHORT_TASKS; i++) {
        weir_envelope_unref(scene->short_ones[i]);
    }
    for (int i = 0; i < WORKERS; i++) {
        weir_envelope_unref(scene->blocking[i]);
    }
    counter_fini(&scene->gathered);
}

static size_t in_reserve(struct scene *scene)
{
    weir_pool *pool = scene->pool;
    weiri_mutex_lock(&pool->mutex);
    size_t count = pool->reserve.resting + pool->reserve.has_watch;
    weiri_mutex_unlock(&pool->mutex);
    return count;
}

static void flood(struct scene *scene)
{
    for (int i = 0; i < SHORT_TASKS; i++) {
        CHECK_STATUS(weir_pool_send(scene->pool, scene->short_ones[i]), WEIR_OK);
    }
}

/* Floods the pool until all workers but one are in reserve. */
static void flood_until_rest(struct scene *scene)
{
    flood(scene);
    while (in_reserve(scene) < WORKERS - 1) {
        (void)sched_yield();
    }
}

static void gather_all(struct scene *scene)
{
    for (int i = 0; i < WORKERS; i++) {
        CHECK_STATUS(weir_pool_send(scene->pool, scene->blocking[i]), WEIR_OK);
    }
    counter_wait(&scene->gathered, WORKERS);
}

TEST(rest, "of workers whose runs are short those rest that are more than there are processors")
{
    struct scene scene;
    scene_init(&scene);
    flood_until_rest(&scene);
    CHECK_STATUS(weir_pool_stop(scene.pool), WEIR_OK);
    CHECK_INT(in_reserve(&scene), ==, 0);
    scene_fini(&scene);
}

TEST(come_out, "workers in reserve come out when others block, while more is queued")
{
    struct scene scene;
    scene_init(&scene);
    flood_until_rest(&scene);
    gather_all(&scene);
    CHECK_STATUS(weir_pool_stop(scene.pool), WEIR_OK);
    scene_fini(&scene);
}

TEST(come_out_of_idleness, "and also when the pool was idle in between")
{
    struct scene scene;
    scene_init(&scene);
    flood_until_rest(&scene);
    atomic_store(&scene.is_flood, false);
    while (counts_of(scene.pool).in_flight > 0) {
        (void)sched_yield();
    }
    gather_all(&scene);
    CHECK_STATUS(weir_pool_drain(scene.pool), WEIR_OK);
    scene_fini(&scene);
}

TEST(resize, "a resize finds those in reserve, and none is lost over it")
{
    struct scene scene;
    scene_init(&scene);
    flood_until_rest(&scene);
    CHECK_STATUS(weir_pool_resize(scene.pool, 1), WEIR_OK);
    CHECK_STATUS(weir_pool_resize(scene.pool, WORKERS), WEIR_OK);
    gather_all(&scene);
    CHECK_STATUS(weir_pool_stop(scene.pool), WEIR_OK);
    scene_fini(&scene);
}

TEST(restart, "a pool that is started again has all its workers")
{
    struct scene scene;
    scene_init(&scene);
    flood_until_rest(&scene);
    CHECK_STATUS(weir_pool_stop(scene.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_start(scene.pool), WEIR_OK);
    flood_until_rest(&scene);
    gather_all(&scene);
    CHECK_STATUS(weir_pool_drain(scene.pool), WEIR_OK);
    scene_fini(&scene);
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool_world.h"

#include "base/time.h"
#include "pool/pool.h"

/* Workers that go into reserve and come out, beside sends and ends. Every run is short. Where one
 * worker is of use, two that run at once are one too many. */

static struct {
    struct weiri_mutex mutex;
    struct weiri_cond ended;
} runs;

static void tell_run(void)
{
    weiri_mutex_lock(&runs.mutex);
    weiri_cond_broadcast(&runs.ended);
    weiri_mutex_unlock(&runs.mutex);
}

static void reserve_world_init(size_t workers, size_t of_use)
{
    world_init(workers, 0);
    world.pool->reserve.awake_max = of_use;
    world.pool->reserve.short_ns = WEIR_FOREVER;
    CHECK_STATUS(weiri_mutex_init(&runs.mutex), WEIR_OK);
    CHECK_STATUS(weiri_cond_init(&runs.ended, &runs.mutex), WEIR_OK);
    world.on_outcome = tell_run;
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
}

static void reserve_world_fini(void)
{
    world_fini();
    CHECK_INT(world.records[0].runs + world.records[0].told, >, 0);
    weiri_cond_fini(&runs.ended);
    weiri_mutex_fini(&runs.mutex);
}

/* Until an envelope has run so often. */
static void wait_for_runs(int i, int count)
{
    weiri_mutex_lock(&runs.mutex);
    while (world.records[i].outcomes < count) {
        weiri_cond_wait(&runs.ended);
    }
    weiri_mutex_unlock(&runs.mutex);
}

static void send_beside_blocked(void *arg)
{
    (void)arg;
    reserve_world_init(2, 1);
    world.records[0].sleeps = true;
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 1, 0), WEIR_OK);
    wait_for_runs(1, 1);
    /* Whoever ran it may have gone into reserve. The other one is blocked, or will be. */
    for (int count = 2; count <= 3; count++) {
        CHECK_STATUS(send_to(world.pool, 1, 0), WEIR_OK);
        wait_for_runs(1, count);
    }
    CHECK_STATUS(weir_pool_stop(world.pool), WEIR_OK);
    reserve_world_fini();
}

TEST(come_out, "a worker in reserve comes out for what is queued while the other one is blocked")
{
    explorer_must_pass(send_beside_blocked, NULL, NULL);
}

static void send_thrice(void *arg)
{
    (void)arg;
    for (int i = 0; i < 3; i++) {
        enum weir_status status = send_to(world.pool, 1, 0);
        CHECK(status == WEIR_OK || status == WEIR_ESHUTDOWN);
    }
}

static void drain_beside_reserve(void *arg)
{
    struct weiri_thread sender;
    (void)arg;
    reserve_world_init(2, 1);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    start_thread(&sender, "sender", send_thrice);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    CHECK_STATUS(weir_pool_drain(world.pool), WEIR_OK);
    weiri_thread_join(&sender);
    check_covered();
    reserve_world_fini();
}

TEST(drain, "a drain ends with those in reserve, and runs everything")
{
    explorer_must_pass(drain_beside_reserve, NULL, NULL);
}

/* Until nobody has anything to do, which is when time passes; less of it than a watch naps. */
static void settle(void)
{
    weiri_mutex_lock(&runs.mutex);
    int64_t limit_ns = weiri_monotonic_now() + 1;
    while (weiri_cond_wait_until(&runs.ended, limit_ns)) {
    }
    weiri_mutex_unlock(&runs.mutex);
}

/* Here no worker is of use: whoever has run something rests, and the third runs the rest. */
static void stop_start_beside_reserve(void *arg)
{
    (void)arg;
    reserve_world_init(3, 0);
    for (int count = 1; count <= 2; count++) {
        CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
        CHECK_STATUS(send_to(world.pool, 1, 0), WEIR_OK);
        wait_for_runs(0, count);
        wait_for_runs(1, count);
        if (count == 2) {
            settle();
        }
        CHECK_STATUS(weir_pool_stop(world.pool), WEIR_OK);
        CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    }
    CHECK_STATUS(weir_pool_drain(world.pool), WEIR_OK);
    reserve_world_fini();
}

TEST(stop_start, "a stop ends with those in reserve, and a start has all workers again")
{
    explorer_must_pass(stop_start_beside_reserve, NULL, NULL);
}

static void shrink_beside_reserve(void *arg)
{
    (void)arg;
    reserve_world_init(2, 1);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 1, 0), WEIR_OK);
    CHECK_STATUS(weir_pool_resize(world.pool, 1), WEIR_OK);
    wait_for_runs(0, 1);
    wait_for_runs(1, 1);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    wait_for_runs(0, 2);
    CHECK_STATUS(weir_pool_drain(world.pool), WEIR_OK);
    reserve_world_fini();
}

TEST(shrink, "a worker that leaves leaves no one in reserve who is needed")
{
    explorer_must_pass(shrink_beside_reserve, NULL, NULL);
}

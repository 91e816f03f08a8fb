/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool_world.h"

/* Workers that are made more and fewer, paused and resumed, beside sends, runs and ends. */

static void shrink(void *arg)
{
    (void)arg;
    CHECK_STATUS(weir_pool_resize(world.pool, 1), WEIR_OK);
}

/* Runs tell of their outcomes; who waits for them is none of the pool's calls. */
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

static void resize_world_init(size_t workers)
{
    world_init(workers, 0);
    weiri_mutex_init(&runs.mutex);
    weiri_cond_init(&runs.ended, &runs.mutex);
    world.on_outcome = tell_run;
}

static void resize_world_fini(void)
{
    world_fini();
    weiri_cond_fini(&runs.ended);
    weiri_mutex_fini(&runs.mutex);
}

/* Until both envelopes have run, with no end of the pool to help. */
static void wait_for_runs(void)
{
    weiri_mutex_lock(&runs.mutex);
    while (world.records[0].outcomes + world.records[1].outcomes < 2) {
        weiri_cond_wait(&runs.ended);
    }
    weiri_mutex_unlock(&runs.mutex);
}

static void shrink_beside_sends(void *arg)
{
    struct weiri_thread resizer;
    (void)arg;
    resize_world_init(2);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    start_thread(&resizer, "resizer", shrink);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 1, 0), WEIR_OK);
    weiri_thread_join(&resizer);
    wait_for_runs();
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    check_covered();
    resize_world_fini();
}

TEST(shrink, "a worker that is to leave takes no work with it, and leaves one that is woken for it")
{
    explorer_must_pass(shrink_beside_sends, NULL, NULL);
}

static void resize_twice(void *arg)
{
    struct weiri_thread resizer;
    (void)arg;
    resize_world_init(2);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    start_thread(&resizer, "resizer", shrink);
    CHECK_STATUS(weir_pool_resize(world.pool, 2), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 1, 0), WEIR_OK);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    weiri_thread_join(&resizer);
    CHECK_INT(counts_of(world.pool).runs, ==, 2);
    resize_world_fini();
}

TEST(resize_resize_drain, "resizes and a drain that meet take effect one after the other")
{
    explorer_must_pass(resize_twice, NULL, NULL);
}

static void shrink_against_stop(void *arg)
{
    struct weiri_thread resizer;
    (void)arg;
    resize_world_init(2);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    start_thread(&resizer, "resizer", shrink);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 1, 0), WEIR_OK);
    weiri_thread_join(&resizer);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(world.records[1].runs, ==, 1);
    CHECK_INT(world.records[0].runs + world.records[0].told, ==, 1);
    resize_world_fini();
}

TEST(resize_stop_start, "a resize that meets a stop and a start leaves the pool with its workers")
{
    explorer_must_pass(shrink_against_stop, NULL, NULL);
}

static void send_second(void *arg)
{
    (void)arg;
    CHECK_STATUS(send_to(world.pool, 1, 0), WEIR_OK);
}

static void pause_exactly(void *arg)
{
    struct weiri_thread sender;
    (void)arg;
    resize_world_init(1);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    start_thread(&sender, "sender", send_second);
    CHECK_STATUS(weir_pool_pause(world.pool, 0), WEIR_OK);
    struct weir_pool_counts before = counts_of(world.pool);
    weiri_thread_join(&sender);
    CHECK_STATUS(weir_pool_pause(world.pool, WEIR_FOREVER), WEIR_OK);
    struct weir_pool_counts after = counts_of(world.pool);
    CHECK_INT(world.inside, ==, 0);
    CHECK_INT(after.running, ==, 0);
    CHECK_INT(after.queued, >=, before.queued);
    CHECK_INT(after.runs + after.queued, ==, 2);
    CHECK_STATUS(weir_pool_resume(world.pool), WEIR_OK);
    wait_for_runs();
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    check_covered();
    resize_world_fini();
}

TEST(pause, "after a pause what runs is all that ends, and a resume has the rest run")
{
    explorer_must_pass(pause_exactly, NULL, NULL);
}

static void pause_and_resume(void *arg)
{
    (void)arg;
    CHECK_STATUS(weir_pool_pause(world.pool, 0), WEIR_OK);
    CHECK_STATUS(weir_pool_resume(world.pool), WEIR_OK);
}

static void pause_against_drain(void *arg)
{
    struct weiri_thread pauser;
    (void)arg;
    resize_world_init(1);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    start_thread(&pauser, "pauser", pause_and_resume);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    weiri_thread_join(&pauser);
    CHECK_INT(world.records[0].runs, ==, 1);
    resize_world_fini();
}

TEST(pause_drain, "a drain that meets a pause and a resume runs everything")
{
    explorer_must_pass(pause_against_drain, NULL, NULL);
}

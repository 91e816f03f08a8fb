/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool_world.h"

#include <weir/scope.h>

/* A scope that is cancelled while its pool starts, stops or goes. */

static weir_scope *scope;

static void scope_world_init(void)
{
    world_init(1, 0);
    weir_pool_free(world.pool);
    CHECK_STATUS(weir_scope_new(test_allocator(), &scope), WEIR_OK);
    struct weir_pool_options options = {0};
    options.allocator = *test_allocator();
    options.clock = world.clock;
    options.workers = 1;
    options.scope = scope;
    options.ended = note_end;
    options.ended_arg = &world;
    CHECK_STATUS(weir_pool_new(&options, &world.pool, NULL), WEIR_OK);
}

static void cancel(void *arg)
{
    (void)arg;
    weir_scope_cancel(scope);
}

static void cancel_against_start(void *arg)
{
    struct weiri_thread canceller;
    (void)arg;
    scope_world_init();
    world.records[0].sleeps = true; /* until it is cancelled: a stop alone ends it */
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    start_thread(&canceller, "canceller", cancel);
    enum weir_status started = weir_pool_start(world.pool);
    CHECK(started == WEIR_OK || started == WEIR_ECANCELED);
    weiri_thread_join(&canceller);
    if (started == WEIR_OK) {
        CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_ECANCELED);
        CHECK_INT(weir_pool_state(world.pool), ==, WEIR_POOL_STATE_STOPPED);
        CHECK_INT(world.records[0].runs + world.records[0].told, ==, 1);
    } else {
        CHECK_INT(weir_pool_state(world.pool), ==, WEIR_POOL_STATE_INIT);
        CHECK_INT(world.records[0].runs, ==, 0);
    }
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_ECANCELED);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_TERMINATE, 0, WEIR_FOREVER), WEIR_OK);
    world_fini();
    weir_scope_free(scope);
}

TEST(cancel_start, "a cancelled scope has no pool that runs, whichever start it meets (R16)")
{
    explorer_must_pass(cancel_against_start, NULL, NULL);
}

static void cancel_against_free(void *arg)
{
    struct weiri_thread canceller;
    (void)arg;
    scope_world_init();
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    start_thread(&canceller, "canceller", cancel);
    weir_pool_free(world.pool);
    world.pool = new_pool(1, 0);
    weiri_thread_join(&canceller);
    CHECK_INT(world.records[0].runs + world.records[0].told, ==, 1);
    world_fini();
    weir_scope_free(scope);
}

TEST(cancel_free, "a pool is not freed under the hands of who cancels its scope")
{
    explorer_must_pass(cancel_against_free, NULL, NULL);
}

/* As above, where next to nothing keeps the one from the other but that a free waits. */
static void cancel_against_free_of_unstarted(void *arg)
{
    struct weiri_thread canceller;
    (void)arg;
    scope_world_init();
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    start_thread(&canceller, "canceller", cancel);
    weir_pool_free(world.pool);
    world.pool = new_pool(1, 0);
    weiri_thread_join(&canceller);
    CHECK_INT(world.records[0].told, ==, 1);
    CHECK_INT(world.records[0].reason, ==, WEIR_ENDED_TERMINATED);
    world_fini();
    weir_scope_free(scope);
}

TEST(cancel_free_unstarted, "nor is one that was never started")
{
    explorer_must_pass(cancel_against_free_of_unstarted, NULL, NULL);
}

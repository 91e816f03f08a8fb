/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool_world.h"

/* Senders that wait for room meet runs, time, ends of the pool and each other. */

static enum weir_status send_until(int i, int64_t limit_ns)
{
    world.records[i].asked++;
    enum weir_status status = weir_pool_send_until(world.pool, world.envelopes[i], limit_ns);
    world.records[i].accepted += status == WEIR_OK;
    return status;
}

static void seek_for_ever(void *arg)
{
    (void)arg;
    CHECK_STATUS(send_until(1, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counts_of(world.pool).in_flight, <=, 1);
}

/* With one slot both senders may have to wait; whoever is first is run first. */
static void one_slot(void *arg)
{
    struct weiri_thread sender;
    (void)arg;
    world_init(1, 1);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    start_thread(&sender, "sender", seek_for_ever);
    CHECK_STATUS(send_until(0, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(send_until(0, WEIR_FOREVER), WEIR_OK);
    weiri_thread_join(&sender);
    CHECK_STATUS(weir_pool_drain(world.pool), WEIR_OK);
    check_covered();
    world_fini();
}

TEST(one_slot, "no sender that waits for room is forgotten, and the capacity holds")
{
    explorer_must_pass(one_slot, NULL, NULL);
}

static void seek_until_ten(void *arg)
{
    (void)arg;
    enum weir_status status = send_until(1, 10);
    CHECK(status == WEIR_OK || status == WEIR_ETIMEDOUT);
    CHECK(status == WEIR_OK || weir_clock_now(world.clock) >= 10);
}

/* The slot comes free, and the limit passes, in any order. */
static void limit(void *arg)
{
    struct weiri_thread sender;
    (void)arg;
    world_init(1, 1);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, explorer_choose(2) == 0 ? 0 : 100), WEIR_OK);
    start_thread(&sender, "sender", seek_until_ten);
    advance(NULL);
    weiri_thread_join(&sender);
    CHECK_STATUS(weir_clock_advance(world.clock, 100), WEIR_OK);
    CHECK_STATUS(weir_pool_drain(world.pool), WEIR_OK);
    CHECK_INT(world.records[1].runs, ==, world.records[1].accepted);
    world_fini();
}

TEST(limit, "a wait for room ends at its limit, and what it came to is what is told")
{
    explorer_must_pass(limit, NULL, NULL);
}

static void seek_to_the_end(void *arg)
{
    (void)arg;
    enum weir_status status = send_until(1, WEIR_FOREVER);
    CHECK(status == WEIR_OK || status == WEIR_ESHUTDOWN);
}

static void ended(void *arg)
{
    struct weiri_thread sender;
    (void)arg;
    world_init(1, 1);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    bool is_stop = explorer_choose(2) == 0;
    CHECK_STATUS(send_to(world.pool, 0, is_stop ? 100 : 0), WEIR_OK);
    start_thread(&sender, "sender", seek_to_the_end);
    CHECK_STATUS(is_stop ? weir_pool_stop(world.pool) : weir_pool_drain(world.pool), WEIR_OK);
    weiri_thread_join(&sender);
    CHECK(is_stop || world.records[1].runs == world.records[1].accepted);
    world_fini();
}

TEST(ended, "a drain or a stop ends the wait for room, and lets in nobody after it")
{
    explorer_must_pass(ended, NULL, NULL);
}

static void send_both(void *arg)
{
    (void)arg;
    for (int i = 0; i < ENVELOPES; i++) {
        world.records[i].asked++;
    }
    enum weir_status status = weir_pool_send_all(world.pool, world.envelopes, ENVELOPES);
    CHECK(status == WEIR_OK || status == WEIR_EFULL);
    for (int i = 0; i < ENVELOPES; i++) {
        world.records[i].accepted += status == WEIR_OK;
    }
}

static void both_or_none(void *arg)
{
    struct weiri_thread sender;
    (void)arg;
    world_init(1, 1 + explorer_choose(2));
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    start_thread(&sender, "sender", send_both);
    CHECK_STATUS(send_until(0, WEIR_FOREVER), WEIR_OK);
    weiri_thread_join(&sender);
    CHECK_STATUS(weir_pool_drain(world.pool), WEIR_OK);
    CHECK_INT(world.records[1].runs, ==, world.records[1].accepted);
    CHECK(world.records[0].runs > 0);
    world_fini();
}

TEST(both_or_none, "of several envelopes sent at once all are run, or none")
{
    explorer_must_pass(both_or_none, NULL, NULL);
}

static void displacing(void *arg)
{
    struct weiri_thread sender;
    (void)arg;
    world_init(1, 1);
    struct weir_pool_options options = WEIR_POOL_OPTIONS_INIT;
    options.allocator = *test_allocator();
    options.clock = world.clock;
    options.workers = 1;
    options.capacity = 1;
    options.when_full = WEIR_FULL_DROP_OLDEST;
    weir_pool_free(world.pool);
    CHECK_STATUS(weir_pool_new(&options, &world.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    start_thread(&sender, "sender", seek_for_ever);
    enum weir_status status = send_to(world.pool, 0, 0);
    CHECK(status == WEIR_OK || status == WEIR_EFULL);
    weiri_thread_join(&sender);
    CHECK_STATUS(weir_pool_drain(world.pool), WEIR_OK);
    struct weir_pool_counts counts = counts_of(world.pool);
    CHECK_INT(counts.runs + counts.dropped, ==,
              world.records[0].accepted + world.records[1].accepted);
    world_fini();
}

TEST(displacing,
     "what has to leave for another one was queued; all that was sent is run or dropped")
{
    explorer_must_pass(displacing, NULL, NULL);
}

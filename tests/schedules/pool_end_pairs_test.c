/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <poll.h>

#include "base/end.h"
#include "pool/pool.h"

#include "pool_world.h"

/* Two ends from two threads, each with each: what they come to, in whichever order. */

struct pair {
    struct weiri_end ours;
    struct weiri_end theirs;
};

static struct pair pair;

static enum weir_status end_as(struct weiri_end request, int64_t timeout_ns)
{
    return weir_pool_end(world.pool, request.mode, request.keeps ? WEIR_END_KEEP : 0, timeout_ns);
}

static void end_theirs(void *arg)
{
    (void)arg;
    world.ended = end_as(pair.theirs, WEIR_FOREVER);
}

static bool is_readable(int fd)
{
    struct pollfd poller = {.fd = fd, .events = POLLIN};
    return poll(&poller, 1, 0) == 1;
}

/* A request that is as strong as both is WEIR_OK. A weaker one may have been over before. */
static void check_answer(enum weir_status status, struct weiri_end request,
                         enum weir_end_mode strongest)
{
    CHECK(status == WEIR_OK || status == weiri_end_answer(request.mode, strongest));
}

static bool is_reason(uint32_t reason, struct weiri_end request)
{
    return reason == (uint32_t)WEIR_ENDED_DRAINED + (uint32_t)request.mode;
}

/* What was not run was dropped, for the reason of one of the ends. */
static void check_dropped(struct weiri_end both)
{
    for (int i = 0; i < ENVELOPES; i++) {
        const struct record *record = &world.records[i];
        CHECK_INT(record->runs + record->told, ==, 1);
        CHECK(record->told == 0 || is_reason(record->reason, pair.ours) ||
              is_reason(record->reason, pair.theirs));
        CHECK(record->told == 0 || both.mode != WEIR_END_DRAIN);
    }
    CHECK_INT(counts_of(world.pool).in_flight, ==, 0);
}

/* What was not run is run after the next start. */
static void check_kept(int fd)
{
    int runs = world.records[0].runs + world.records[1].runs;
    CHECK_INT(counts_of(world.pool).in_flight, ==, ENVELOPES - runs);
    CHECK_INT(world.records[0].told + world.records[1].told, ==, 0);
    world.records[0].sleeps = false;
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK(!is_readable(fd));
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_DRAIN, 0, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(world.records[0].runs + world.records[1].runs, ==, ENVELOPES);
}

static void both_end(void *arg)
{
    struct weiri_thread other;
    struct weiri_end both = weiri_end_merge(pair.ours, pair.theirs);
    int fd;
    (void)arg;
    world_init(1, 0);
    world.records[0].sleeps = both.mode >= WEIR_END_STOP; /* and would sleep for ever */
    CHECK_STATUS(weir_pool_fd(world.pool, &fd), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 1, 0), WEIR_OK);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK(!is_readable(fd));
    start_thread(&other, "other", end_theirs);
    check_answer(end_as(pair.ours, WEIR_FOREVER), pair.ours, both.mode);
    weiri_thread_join(&other); /* which may have closed the pool once more, and tell of its drops */
    CHECK(is_readable(fd));
    check_answer(world.ended, pair.theirs, both.mode);
    CHECK_INT(weir_pool_state(world.pool), ==,
              both.mode == WEIR_END_TERMINATE ? WEIR_POOL_STATE_TERMINATED
                                              : WEIR_POOL_STATE_STOPPED);
    int canceled = world.records[0].canceled + world.records[1].canceled;
    CHECK(both.mode >= WEIR_END_STOP || canceled == 0);
    if (both.keeps) {
        check_kept(fd);
    } else {
        check_dropped(both);
    }
    CHECK(is_readable(fd));
    world_fini();
}

TEST(each_pair, "two ends come to the stronger mode, and to keep where both do: what is queued is "
                "run, dropped or kept by it, and what runs goes on or is cancelled")
{
    static const struct weiri_end ends[] = {
        {WEIR_END_DRAIN, false},     {WEIR_END_DRAIN, true}, {WEIR_END_FINISH, false},
        {WEIR_END_FINISH, true},     {WEIR_END_STOP, false}, {WEIR_END_STOP, true},
        {WEIR_END_TERMINATE, false},
    };
    enum {
        COUNT = sizeof(ends) / sizeof(ends[0])
    };
    const struct explorer_options options = {.schedules = 100, .exhaustive = 200};
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t k = 0; k < COUNT; k++) {
            pair = (struct pair){ends[i], ends[k]};
            explorer_must_pass(both_end, NULL, &options);
        }
    }
}

static bool has_worker(void)
{
    weir_pool *pool = world.pool;
    weiri_pool_lock(pool);
    bool has_one = !pool->workers->has_left;
    weiri_pool_unlock(pool);
    return has_one;
}

/* All has run and no worker is left, but the drain's thread is not awake yet, or it still tells of
 * what it has dropped. */
static void terminate_late(void *arg)
{
    struct weiri_thread other;
    (void)arg;
    pair.theirs = (struct weiri_end){WEIR_END_DRAIN, false};
    world_init(1, 0);
    CHECK_STATUS(send_to(world.pool, 0, 0), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 1, 5), WEIR_OK);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    start_thread(&other, "other", end_theirs);
    bool is_late = !has_worker();
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_TERMINATE, 0, WEIR_FOREVER), WEIR_OK);
    weiri_thread_join(&other);
    CHECK(!is_late || world.ended == WEIR_OK);
    CHECK(world.ended == WEIR_OK || world.ended == WEIR_ECANCELED);
    world_fini();
}

TEST(late_termination, "a drain that has run everything says so, although a termination comes "
                       "before its thread is awake or has told of what it dropped")
{
    explorer_must_pass(terminate_late, NULL, NULL);
}

/* The envelopes that a thread drops on its way through the ended function: it tells of them after
 * the return of that, whether or not the worker has left before. */
static void end_while_telling(void)
{
    world.on_drop = NULL;
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_STOP, 0, 0), WEIR_OK);
    CHECK_INT(world.records[1].told, ==, 0);
}

static int fd;

static void note_unreadable(const struct weir_ended *ended, void *arg)
{
    CHECK(!is_readable(fd));
    note_end(ended, arg);
    CHECK(!is_readable(fd));
}

static void end_in_cancel(void *arg)
{
    (void)arg;
    world_init(1, 0);
    struct weir_pool_options options = {.workers = 1, .ended = note_unreadable};
    replace_pool(&options);
    world.on_drop = end_while_telling;
    CHECK_STATUS(weir_pool_fd(world.pool, &fd), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 0, 5), WEIR_OK);
    CHECK_STATUS(send_to(world.pool, 1, 5), WEIR_OK);
    CHECK_STATUS(weir_pool_start(world.pool), WEIR_OK);
    CHECK_STATUS(weir_pool_cancel(world.pool, world.envelopes[0], 0, NULL), WEIR_OK);
    CHECK_INT(world.records[1].told, ==, 1);
    CHECK_STATUS(weir_pool_end(world.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    CHECK(is_readable(fd));
    world_fini();
}

TEST(untold, "the descriptor is not readable before all that was dropped has been told")
{
    explorer_must_pass(end_in_cancel, NULL, NULL);
}

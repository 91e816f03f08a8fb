/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/parallel.h>

#include <string.h>

#include "base/sync.h"

#include "support/explorer/explorer.h"
#include "support/harness.h"

/* Crews in every order of their threads. Books are plain variables: in the explorer nothing runs
 * between two scheduling points. */

#define PIECES_MAX 8

static struct {
    weir_crew *crew;
    struct weiri_mutex mutex;
    struct weiri_cond changed;
    unsigned begun[PIECES_MAX];
    unsigned count; /* of pieces begun in this run */
    unsigned inside;
    unsigned expected; /* pieces that meet */
    size_t bad;        /* the piece that fails */
    bool is_over;      /* the run has returned */
    bool is_cancelled;
} world;

static void setup(size_t workers)
{
    memset(&world, 0, sizeof(world));
    world.bad = SIZE_MAX;
    struct weir_crew_options options = WEIR_CREW_OPTIONS_INIT;
    options.allocator = *test_allocator();
    options.workers = workers;
    CHECK_STATUS(weir_crew_new(&options, &world.crew), WEIR_OK);
    CHECK_STATUS(weiri_mutex_init(&world.mutex), WEIR_OK);
    CHECK_STATUS(weiri_cond_init(&world.changed, &world.mutex), WEIR_OK);
}

static void teardown(void)
{
    weir_crew_free(world.crew);
    weiri_cond_fini(&world.changed);
    weiri_mutex_fini(&world.mutex);
}

static void begin(size_t piece)
{
    explorer_note("begins piece %zu", piece);
    CHECK_INT(piece, <, PIECES_MAX);
    CHECK(!world.is_over);
    CHECK_INT(world.begun[piece]++, ==, 0);
    world.count++;
    world.inside++;
    weiri_sync_point();
}

static int end(size_t piece)
{
    world.inside--;
    return piece == world.bad ? WEIR_EUSER : WEIR_OK;
}

static int do_piece(size_t piece, void *arg)
{
    (void)arg;
    begin(piece);
    return end(piece);
}

/* Waits for the others. */
static int meet(size_t piece, void *arg)
{
    (void)arg;
    begin(piece);
    weiri_mutex_lock(&world.mutex);
    weiri_cond_broadcast(&world.changed);
    while (world.count < world.expected) {
        weiri_cond_wait(&world.changed);
    }
    weiri_mutex_unlock(&world.mutex);
    return end(piece);
}

static int run(size_t pieces, weir_piece_fn *fn, const struct weir_parallel_options *options)
{
    memset(world.begun, 0, sizeof(world.begun));
    world.count = 0;
    world.is_over = false;
    int status = weir_crew_run(world.crew, pieces, fn, NULL, options);
    world.is_over = true;
    explorer_note("the run has returned %s", weir_status_name(status));
    CHECK_INT(world.inside, ==, 0);
    return status;
}

static void run_all(size_t pieces, weir_piece_fn *fn, size_t chunk_size)
{
    struct weir_parallel_options options = WEIR_PARALLEL_OPTIONS_INIT;
    options.chunk_size = chunk_size;
    CHECK_STATUS(run(pieces, fn, &options), WEIR_OK);
    CHECK_INT(world.count, ==, pieces);
    for (size_t i = 0; i < pieces; i++) {
        CHECK_INT(world.begun[i], ==, 1);
    }
}

static void two_runs(void *arg)
{
    setup(*(const size_t *)arg);
    run_all(5, do_piece, 1);
    run_all(7, do_piece, 2);
    teardown();
}

TEST(each_piece_once, "two runs one after the other: each piece is done once and before the return")
{
    for (size_t workers = 2; workers <= 4; workers++) {
        explorer_must_pass(two_runs, &workers, NULL);
    }
}

/* What a lost call leaves undone is a deadlock here. */
static void meetings(void *arg)
{
    size_t workers = *(const size_t *)arg;
    setup(workers);
    world.expected = (unsigned)workers;
    run_all(workers, meet, 1);
    run_all(workers, meet, 1);
    run_all(3, do_piece, 1);
    world.expected = (unsigned)workers;
    run_all(workers, meet, 1);
    teardown();
}

TEST(all_workers_come, "pieces that block get as many workers as there are, whatever came before")
{
    for (size_t workers = 2; workers <= 4; workers++) {
        explorer_must_pass(meetings, &workers, NULL);
    }
}

/* The pieces that meet come last and from the share of one who is in one of them. */
static int meet_late(size_t piece, void *arg)
{
    if (piece < 2) {
        return do_piece(piece, arg);
    }
    return meet(piece, arg);
}

static void late_meetings(void *arg)
{
    (void)arg;
    setup(3);
    world.expected = 5;
    run_all(5, meet_late, 1);
    run_all(2, do_piece, 1);
    world.expected = 5;
    run_all(5, meet_late, 1);
    teardown();
}

TEST(workers_come_late, "so do those that begin to block in the middle of a run")
{
    explorer_must_pass(late_meetings, NULL, NULL);
}

static void failing(void *arg)
{
    (void)arg;
    setup(3);
    world.bad = explorer_choose(6);
    int status = run(6, do_piece, NULL);
    CHECK_INT(status, ==, WEIR_EUSER);
    CHECK_INT(world.begun[world.bad], ==, 1);
    world.bad = SIZE_MAX;
    run_all(3, do_piece, 1);
    teardown();
}

TEST(fails, "a piece that fails ends the run, after which none is begun, and not the next run")
{
    explorer_must_pass(failing, NULL, NULL);
}

static int proceed(void *arg)
{
    (void)arg;
    weiri_sync_point();
    return world.is_cancelled ? WEIR_ECANCELED : WEIR_OK;
}

static void cancel(void *arg)
{
    (void)arg;
    weiri_sync_point();
    world.is_cancelled = true;
}

static void cancelled(void *arg)
{
    (void)arg;
    struct weiri_thread thread;
    setup(3);
    CHECK_STATUS(weiri_thread_start(&thread, "canceller", cancel, NULL), WEIR_OK);
    struct weir_parallel_options options = WEIR_PARALLEL_OPTIONS_INIT;
    options.proceed = proceed;
    int status = run(6, do_piece, &options);
    CHECK(status == WEIR_ECANCELED || (status == WEIR_OK && world.count == 6));
    weiri_thread_join(&thread);
    CHECK_STATUS(run(2, do_piece, &options), WEIR_ECANCELED);
    CHECK_INT(world.count, ==, 0);
    run_all(3, do_piece, 1);
    teardown();
}

TEST(is_cancelled, "a run that another thread cancels ends early or with everything done")
{
    explorer_must_pass(cancelled, NULL, NULL);
}

/* Counts only: both runs have the same pieces. */
static int count_piece(size_t piece, void *arg)
{
    (void)piece;
    (void)arg;
    weiri_sync_point();
    world.count++;
    return WEIR_OK;
}

static void run_beside(void *arg)
{
    int *ret_status = arg;
    *ret_status = weir_crew_run(world.crew, 2, count_piece, NULL, NULL);
}

static void two_callers(void *arg)
{
    (void)arg;
    struct weiri_thread thread;
    int status = -1;
    setup(3);
    CHECK_STATUS(weiri_thread_start(&thread, "caller", run_beside, &status), WEIR_OK);
    int own = WEIR_EBUSY;
    run_beside(&own);
    weiri_thread_join(&thread);
    CHECK(own == WEIR_OK || own == WEIR_EBUSY);
    CHECK(status == WEIR_OK || status == WEIR_EBUSY);
    CHECK(own == WEIR_OK || status == WEIR_OK);
    unsigned runs = (unsigned)(own == WEIR_OK) + (unsigned)(status == WEIR_OK);
    CHECK_INT(world.count, ==, 2 * runs);
    teardown();
}

TEST(one_run_at_a_time, "of two threads that run one crew at least one does, and all its pieces")
{
    explorer_must_pass(two_callers, NULL, NULL);
}

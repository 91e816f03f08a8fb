/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "schedules/parallel_world.h"

static void two_runs(void *arg)
{
    world_init(*(const size_t *)arg);
    run_all(5, do_piece);
    world.options.chunk_size = 2;
    run_all(7, do_piece);
    world_fini();
}

TEST(each_piece_once, "two runs one after the other: each piece is done once and before the return")
{
    for (size_t workers = 2; workers <= 4; workers += 2) {
        explorer_must_pass(two_runs, &workers, NULL);
    }
}

/* A lost wake-up is a deadlock here. */
static void meetings(void *arg)
{
    size_t workers = *(const size_t *)arg;
    world_init(workers);
    world.expected = (unsigned)workers;
    run_all(workers, meet);
    run_all(workers, meet);
    run_all(3, do_piece);
    run_all(workers, meet);
    world_fini();
}

TEST(all_workers_come, "pieces that block get as many workers as there are, whatever came before")
{
    for (size_t workers = 2; workers <= 4; workers += 2) {
        explorer_must_pass(meetings, &workers, NULL);
    }
}

/* The first two pieces do not block, so the others meet when workers are at work already. */
static int meet_late(size_t piece, void *arg)
{
    if (piece < 2) {
        return do_piece(piece, arg);
    }
    return meet(piece, arg);
}

static void late_meetings(void *arg)
{
    size_t workers = *(const size_t *)arg;
    world_init(workers);
    world.expected = 2 + (unsigned)workers;
    run_all(world.expected, meet_late);
    run_all(2, do_piece);
    run_all(world.expected, meet_late);
    world_fini();
}

TEST(workers_come_late, "so do those that begin to block in the middle of a run")
{
    for (size_t workers = 2; workers <= 4; workers++) {
        explorer_must_pass(late_meetings, &workers, NULL);
    }
}

/* Time passes in the meeting only, where no other thread can run. */
static void eager_runs(void *arg)
{
    (void)arg;
    world_init(4);
    run_all(8, do_piece);
    CHECK_INT(world.most, <=, world.options.eager);
    world.expected = 4;
    run_all(4, meet);
    run_all(6, do_piece);
    CHECK_INT(world.most, <=, world.options.eager);
    world_fini();
}

TEST(no_more_than_eager, "while no time passes in a run, no more workers come than are eager")
{
    struct explorer_options options = {.no_early_time = true, .no_spurious = true};
    explorer_must_pass(eager_runs, NULL, &options);
}

static void failing(void *arg)
{
    (void)arg;
    world_init(3);
    world.bad = explorer_choose(6);
    world.bad_end = world.bad + 1;
    CHECK_INT(run(6, do_piece), ==, WEIR_EUSER + (int)world.bad);
    CHECK_INT(world.begun[world.bad], ==, 1);
    world.bad_end = 0;
    run_all(3, do_piece);
    world_fini();
}

TEST(fails, "a piece that fails ends the run, and not the next one")
{
    explorer_must_pass(failing, NULL, NULL);
}

/* Reads what the run will return, once that is known. */
static void observe(void *arg)
{
    int *ret_status = arg;
    while (*ret_status == WEIR_OK && !world.is_over) {
        weiri_sync_point();
        *ret_status = atomic_load(&world.crew->status);
    }
}

static void failing_twice(void *arg)
{
    (void)arg;
    struct weiri_thread thread;
    int observed = WEIR_OK;
    world_init(3);
    world.bad = explorer_choose(3);
    world.bad_end = world.bad + 2;
    CHECK_STATUS(weiri_thread_start(&thread, "observer", observe, &observed), WEIR_OK);
    int status = run(4, do_piece);
    size_t first = (size_t)(status - WEIR_EUSER);
    CHECK(first == world.bad || first == world.bad + 1);
    CHECK_INT(world.begun[first], ==, 1);
    weiri_thread_join(&thread);
    CHECK(observed == WEIR_OK || observed == status);
    world.bad_end = 0;
    world.expected = 3;
    run_all(3, meet);
    world_fini();
}

TEST(two_fail, "where two pieces fail the run returns what became known first")
{
    explorer_must_pass(failing_twice, NULL, NULL);
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

static void cancelled_outside(void *arg)
{
    (void)arg;
    struct weiri_thread thread;
    world_init(3);
    CHECK_STATUS(weiri_thread_start(&thread, "canceller", cancel, NULL), WEIR_OK);
    world.options.proceed = proceed;
    int status = run(6, do_piece);
    CHECK(status == WEIR_ECANCELED || (status == WEIR_OK && world.count == 6));
    weiri_thread_join(&thread);
    CHECK_STATUS(run(2, do_piece), WEIR_ECANCELED);
    CHECK_INT(world.count, ==, 0);
    world.options.proceed = NULL;
    run_all(3, do_piece);
    world_fini();
}

TEST(is_cancelled_outside, "a run that another thread cancels ends early or with everything done")
{
    explorer_must_pass(cancelled_outside, NULL, NULL);
}

static int cancel_own(size_t piece, void *arg)
{
    begin(piece);
    if (piece == 2) {
        cancel(arg);
    }
    return end(piece);
}

static void cancelled_inside(void *arg)
{
    (void)arg;
    world_init(3);
    world.options.proceed = proceed;
    int status = run(6, cancel_own);
    CHECK_INT(world.begun[2], ==, 1);
    CHECK(status == WEIR_ECANCELED || (status == WEIR_OK && world.count == 6));
    world.is_cancelled = false;
    run_all(4, do_piece);
    world_fini();
}

TEST(is_cancelled_inside, "so does one that its own piece cancels")
{
    explorer_must_pass(cancelled_inside, NULL, NULL);
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
    *ret_status = weir_crew_run(world.crew, 3, count_piece, NULL, &world.options);
}

static void two_callers(void *arg)
{
    (void)arg;
    struct weiri_thread thread;
    int other = -1;
    int own = -1;
    world_init(3);
    CHECK_STATUS(weiri_thread_start(&thread, "caller", run_beside, &other), WEIR_OK);
    run_beside(&own);
    weiri_thread_join(&thread);
    CHECK(own == WEIR_OK || own == WEIR_EBUSY);
    CHECK(other == WEIR_OK || other == WEIR_EBUSY);
    CHECK(own == WEIR_OK || other == WEIR_OK);
    unsigned runs = (unsigned)(own == WEIR_OK) + (unsigned)(other == WEIR_OK);
    CHECK_INT(world.count, ==, 3 * runs);
    world.expected = 3;
    run_all(3, meet);
    world_fini();
}

TEST(one_run_at_a_time, "of two threads that run one crew at least one does, and all its pieces")
{
    explorer_must_pass(two_callers, NULL, NULL);
}

/* A thread that is refused is not asked for again in that run. */
static void refused(void *arg)
{
    (void)arg;
    uint64_t nth = 1 + explorer_choose(3);
    world_init(4);
    explorer_refuse_thread(nth);
    world.expected = nth > 1 ? 2 : 1;
    run_all(5, meet);
    explorer_refuse_thread(1);
    run_all(4, do_piece);
    explorer_refuse_thread(0);
    world.expected = 4;
    run_all(4, meet);
    world_fini();
}

TEST(is_refused, "a run goes on without a thread that is refused; later runs get all workers")
{
    explorer_must_pass(refused, NULL, NULL);
}

static void one_shot(void *arg)
{
    (void)arg;
    world_init(1);
    CHECK_STATUS(weir_parallelize(3, 5, count_piece, NULL, &world.options), WEIR_OK);
    CHECK_INT(world.count, ==, 5);
    world_fini();
}

TEST(without_a_crew, "threads that are made for a run have ended when it returns")
{
    explorer_must_pass(one_shot, NULL, NULL);
}

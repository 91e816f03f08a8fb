/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Runs that end before all is done. */
#include <weir/parallel.h>

#include <stdatomic.h>

#include "parallel/pieces.h"

#define PIECES 1000

/* Piece bad ends the run. If later_too, so does each later piece. */
struct work {
    size_t bad;
    int status;
    bool later_too;
    atomic_size_t begun;
    atomic_size_t ended;
    atomic_bool is_stopped; /* proceed reads this flag */
    size_t stop_at;
    atomic_size_t asked;
};

static int do_piece(size_t piece, void *arg)
{
    struct work *work = arg;
    atomic_fetch_add(&work->begun, 1);
    bool is_bad = piece == work->bad || (work->later_too && piece > work->bad);
    int status = is_bad ? work->status : WEIR_OK;
    atomic_fetch_add(&work->ended, 1);
    return status;
}

TEST(alone, "alone, a worker ends with the first piece that fails, and returns its status")
{
    static const int statuses[] = {WEIR_ENOMEM, WEIR_ESTOP, WEIR_EUSER + 3, -5};
    static const size_t chunk_sizes[] = {1, 10, 2000};
    for (size_t s = 0; s < 4; s++) {
        for (size_t c = 0; c < 3; c++) {
            struct work work = {.bad = 217, .status = statuses[s]};
            struct weir_parallel_options options = {0};
            options.chunk_size = chunk_sizes[c];
            CHECK_INT(weir_parallelize(1, PIECES, do_piece, &work, &options), ==, statuses[s]);
            CHECK_INT(atomic_load(&work.begun), ==, 218);
        }
    }
}

TEST(together, "with several workers a failure ends the run; what was begun has ended by then")
{
    weir_crew *crew = crew_of(4);
    size_t least = PIECES;
    for (int round = 0; round < 300; round++) {
        struct work work = {.bad = (size_t)test_random_below(PIECES), .status = WEIR_EUSER + 1};
        CHECK_INT(weir_crew_run(crew, PIECES, do_piece, &work, NULL), ==, WEIR_EUSER + 1);
        size_t begun = atomic_load(&work.begun);
        CHECK_INT(begun, ==, atomic_load(&work.ended));
        least = begun < least ? begun : least;

        struct work next = {.bad = SIZE_MAX};
        CHECK_STATUS(weir_crew_run(crew, 10, do_piece, &next, NULL), WEIR_OK);
        CHECK_INT(atomic_load(&next.begun), ==, 10);
        CHECK_INT(atomic_load(&work.begun), ==, begun);
    }
    CHECK_INT(least, <, PIECES);
    weir_crew_free(crew);
}

TEST(all_fail, "where all pieces fail each worker begins one at most")
{
    weir_crew *crew = crew_of(4);
    for (int round = 0; round < 300; round++) {
        struct work work = {.bad = 0, .status = WEIR_EUSER, .later_too = true};
        CHECK_INT(weir_crew_run(crew, PIECES, do_piece, &work, NULL), ==, WEIR_EUSER);
        CHECK_INT(atomic_load(&work.begun), >=, 1);
        CHECK_INT(atomic_load(&work.begun), <=, 4);
    }
    weir_crew_free(crew);
}

/* A run of two pieces. Piece 0 fails once the other has begun; the other ends when the first one's
 * worker, the caller, already sleeps. */
struct late {
    weir_crew *crew;
    struct counter begun;
    struct counter allowed; /* to end */
    int status;             /* of the late piece, then of the run */
};

static int fail_late(size_t piece, void *arg)
{
    struct late *late = arg;
    if (piece == 0) {
        counter_wait(&late->begun, 1);
        return WEIR_EUSER + 1;
    }
    counter_add(&late->begun, 1);
    counter_wait(&late->allowed, 1);
    return late->status;
}

static void run_late(void *arg)
{
    struct late *late = arg;
    late->status = weir_crew_run(late->crew, PIECES, fail_late, late, NULL);
}

TEST(first_of_two, "the first failure counts, and no worker begins a piece after it")
{
    static const int statuses[] = {WEIR_OK, WEIR_EUSER + 2};
    for (size_t s = 0; s < 2; s++) {
        struct late late = {.crew = crew_of(2), .status = statuses[s]};
        counter_init(&late.begun);
        counter_init(&late.allowed);
        struct test_thread *thread = test_start(run_late, &late);
        counter_wait(&late.begun, 1);
        test_wait_asleep(thread);
        counter_add(&late.allowed, 1);
        test_join(thread);
        CHECK_INT(late.status, ==, WEIR_EUSER + 1);
        CHECK_INT(counter_value(&late.begun), ==, 1);
        counter_fini(&late.begun);
        counter_fini(&late.allowed);
        weir_crew_free(late.crew);
    }
}

TEST(as_many_as_can_be, "a run may have as many pieces as there are numbers")
{
    static const size_t pieces[] = {SIZE_MAX, (size_t)UINT32_MAX, (size_t)UINT32_MAX + 1,
                                    (size_t)UINT32_MAX + 5};
    for (size_t i = 0; i < 4; i++) {
        struct work work = {.bad = 20, .status = WEIR_EUSER};
        struct weir_parallel_options options = {0};
        options.chunk_size = i % 2;
        CHECK_INT(weir_parallelize(1, pieces[i], do_piece, &work, &options), ==, WEIR_EUSER);
        CHECK_INT(atomic_load(&work.begun), ==, 21);
    }
}

static int proceed(void *arg)
{
    struct work *work = arg;
    atomic_fetch_add(&work->asked, 1);
    return atomic_load(&work->is_stopped) ? WEIR_ECANCELED : WEIR_OK;
}

static int stop_at(size_t piece, void *arg)
{
    struct work *work = arg;
    atomic_fetch_add(&work->begun, 1);
    if (piece == work->stop_at) {
        atomic_store(&work->is_stopped, true);
    }
    return WEIR_OK;
}

static int run_asking(size_t workers, struct work *work, size_t chunk_size)
{
    struct weir_parallel_options options = {0};
    options.proceed = proceed;
    options.proceed_arg = work;
    options.chunk_size = chunk_size;
    return weir_parallelize(workers, PIECES, stop_at, work, &options);
}

TEST(cancelled_inside, "a piece can cancel its run: proceed is called before each piece")
{
    struct work alone = {.stop_at = 100};
    CHECK_STATUS(run_asking(1, &alone, 7), WEIR_ECANCELED);
    CHECK_INT(atomic_load(&alone.begun), ==, 101);
    CHECK_INT(atomic_load(&alone.asked), ==, 102);

    struct work together = {.stop_at = 100};
    CHECK_STATUS(run_asking(4, &together, 7), WEIR_ECANCELED);
    CHECK_INT(atomic_load(&together.asked), >, atomic_load(&together.begun));

    struct work before = {.is_stopped = true};
    CHECK_STATUS(run_asking(4, &before, 1), WEIR_ECANCELED);
    CHECK_INT(atomic_load(&before.begun), ==, 0);

    struct work never = {.stop_at = PIECES};
    CHECK_STATUS(run_asking(4, &never, 1), WEIR_OK);
    CHECK_INT(atomic_load(&never.begun), ==, PIECES);
    CHECK_INT(atomic_load(&never.asked), ==, PIECES);
}

/* Ends only when the run is cancelled. */
static int wait_for_flag(size_t piece, void *arg)
{
    struct work *work = arg;
    (void)piece;
    atomic_fetch_add(&work->begun, 1);
    while (!atomic_load(&work->is_stopped)) {
    }
    return WEIR_OK;
}

static void run_until_stopped(void *arg)
{
    struct work *work = arg;
    struct weir_parallel_options options = {0};
    options.proceed = proceed;
    options.proceed_arg = work;
    work->status = weir_parallelize(3, PIECES, wait_for_flag, work, &options);
}

TEST(cancelled_outside, "so can another thread, while all workers are in pieces")
{
    struct work work = {.status = WEIR_OK};
    struct test_thread *thread = test_start(run_until_stopped, &work);
    while (atomic_load(&work.begun) < 3) {
    }
    atomic_store(&work.is_stopped, true);
    test_join(thread);
    CHECK_STATUS(work.status, WEIR_ECANCELED);
    CHECK_INT(atomic_load(&work.begun), ==, 3);
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/parallel.h>

#include <stdatomic.h>

#include "parallel/pieces.h"

#define PIECES_MAX 1000
#define WORKERS_MAX 10
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The pieces of a run. */
static struct {
    atomic_uint begun[PIECES_MAX];
    unsigned long plain[PIECES_MAX]; /* written without atomics */
    atomic_uint count;
} work;

static int do_piece(size_t piece, void *arg)
{
    CHECK(arg == &work);
    CHECK_INT(piece, <, PIECES_MAX);
    atomic_fetch_add(&work.begun[piece], 1);
    work.plain[piece] += piece + 1;
    atomic_fetch_add(&work.count, 1);
    return WEIR_OK;
}

static void check_done(size_t pieces)
{
    CHECK_INT(atomic_load(&work.count), ==, pieces);
    for (size_t i = 0; i < PIECES_MAX; i++) {
        CHECK_INT(atomic_load(&work.begun[i]), ==, i < pieces);
        CHECK_INT(work.plain[i], ==, i < pieces ? i + 1 : 0);
    }
    memset(&work, 0, sizeof(work));
}

static const size_t piece_counts[] = {1, 2, 7, 100, 999, 1000};
static const size_t chunk_sizes[] = {0, 1, 3, 13, 100, 999, 5000, SIZE_MAX};
static const size_t eagers[] = {0, 1, 2, SIZE_MAX};

TEST(each_piece_once, "a crew does each piece once, for any count, chunk size and count of workers")
{
    static const size_t workers[] = {1, 2, 3, WORKERS_MAX};
    for (size_t w = 0; w < COUNT(workers); w++) {
        weir_crew *crew = crew_of(workers[w]);
        for (size_t p = 0; p < COUNT(piece_counts); p++) {
            for (size_t c = 0; c < COUNT(chunk_sizes) * COUNT(eagers); c++) {
                struct weir_parallel_options options = {0};
                options.chunk_size = chunk_sizes[c / COUNT(eagers)];
                options.eager = eagers[c % COUNT(eagers)];
                CHECK_STATUS(weir_crew_run(crew, piece_counts[p], do_piece, &work, &options),
                             WEIR_OK);
                check_done(piece_counts[p]);
            }
        }
        weir_crew_free(crew);
    }
}

TEST(without_a_crew, "so does weir_parallelize, which leaves no thread behind")
{
    for (size_t workers = 1; workers <= WORKERS_MAX; workers += 3) {
        for (size_t c = 0; c < COUNT(chunk_sizes); c++) {
            struct weir_parallel_options options = {0};
            options.chunk_size = chunk_sizes[c];
            CHECK_STATUS(weir_parallelize(workers, 100, do_piece, &work, &options), WEIR_OK);
            check_done(100);
        }
    }
    CHECK_STATUS(weir_parallelize(4096, 3, do_piece, &work, NULL), WEIR_OK);
    check_done(3);
}

TEST(many_runs, "runs in quick succession do each piece once")
{
    weir_crew *crew = crew_of(4);
    for (int i = 0; i < 3000; i++) {
        size_t pieces = 1 + (size_t)test_random_below(20);
        CHECK_STATUS(weir_crew_run(crew, pieces, do_piece, &work, NULL), WEIR_OK);
        check_done(pieces);
    }
    weir_crew_free(crew);
}

static int check_order(size_t piece, void *arg)
{
    (void)do_piece(piece, arg);
    CHECK(piece % 7 == 0 || atomic_load(&work.begun[piece - 1]) == 1);
    return WEIR_OK;
}

TEST(order_in_a_chunk, "the pieces of a chunk are done in order")
{
    weir_crew *crew = crew_of(4);
    struct weir_parallel_options options = {0};
    options.chunk_size = 7;
    for (int i = 0; i < 200; i++) {
        CHECK_STATUS(weir_crew_run(crew, 100, check_order, &work, &options), WEIR_OK);
        check_done(100);
    }
    weir_crew_free(crew);
}

TEST(nothing_to_do, "no pieces: nothing is done, and that is a success")
{
    weir_crew *crew = crew_of(3);
    CHECK_STATUS(weir_crew_run(crew, 0, must_not_run, NULL, NULL), WEIR_OK);
    CHECK_STATUS(weir_parallelize(3, 0, must_not_run, NULL, NULL), WEIR_OK);
    weir_crew_free(crew);
}

static void check_meets(weir_crew *crew, size_t pieces, size_t eager)
{
    struct weir_parallel_options options = {0};
    options.eager = eager;
    struct meeting meeting;
    meeting_init(&meeting, pieces);
    CHECK_STATUS(weir_crew_run(crew, pieces, meet, &meeting, &options), WEIR_OK);
    meeting_fini(&meeting);
}

TEST(all_workers_come, "pieces that block get all the workers, of a crew new, awake, or at rest")
{
    for (size_t workers = 2; workers <= WORKERS_MAX; workers++) {
        weir_crew *crew = crew_of(workers);
        for (size_t round = 0; round < 8; round++) {
            check_meets(crew, workers, eagers[round % COUNT(eagers)]);
            for (size_t i = 0; i < 50 * round; i++) {
                CHECK_STATUS(weir_crew_run(crew, 20, do_piece, &work, NULL), WEIR_OK);
                check_done(20);
            }
            check_meets(crew, 2, eagers[round % COUNT(eagers)]);
        }
        weir_crew_free(crew);
    }
}

TEST(all_workers_come_at_once, "and weir_parallelize starts as many threads as there are chunks")
{
    struct meeting meeting;
    meeting_init(&meeting, 6);
    CHECK_STATUS(weir_parallelize(WORKERS_MAX, 6, meet, &meeting, NULL), WEIR_OK);
    meeting_fini(&meeting);
}

static _Thread_local bool is_counted;
static atomic_uint threads_seen;

static int count_threads(size_t piece, void *arg)
{
    (void)piece;
    (void)arg;
    if (!is_counted) {
        is_counted = true;
        atomic_fetch_add(&threads_seen, 1);
    }
    return WEIR_OK;
}

TEST(no_more_workers, "no more threads take part than there are workers, the caller's being one")
{
    is_counted = true;
    CHECK_STATUS(weir_parallelize(1, 1000, count_threads, NULL, NULL), WEIR_OK);
    CHECK_INT(atomic_load(&threads_seen), ==, 0);
    weir_crew *crew = crew_of(3);
    struct weir_parallel_options options = {0};
    options.eager = 100;
    for (int i = 0; i < 200; i++) {
        CHECK_STATUS(weir_crew_run(crew, 1000, count_threads, NULL, &options), WEIR_OK);
    }
    CHECK_INT(atomic_load(&threads_seen), <=, 2);
    weir_crew_free(crew);
}

static int nest(size_t piece, void *arg)
{
    weir_crew *outer = arg;
    CHECK_STATUS(weir_crew_run(outer, 1, must_not_run, NULL, NULL), WEIR_EBUSY);
    struct meeting meeting;
    meeting_init(&meeting, 2);
    CHECK_STATUS(weir_parallelize(2, 2, meet, &meeting, NULL), WEIR_OK);
    meeting_fini(&meeting);
    atomic_fetch_add(&work.begun[piece], 1);
    return WEIR_OK;
}

TEST(nested, "a piece may start runs of its own, but not with the crew that does it")
{
    weir_crew *crew = crew_of(3);
    CHECK_STATUS(weir_crew_run(crew, 8, nest, crew, NULL), WEIR_OK);
    for (size_t i = 0; i < 8; i++) {
        CHECK_INT(atomic_load(&work.begun[i]), ==, 1);
    }
    weir_crew_free(crew);
}

/* A run that lasts until the test ends it. */
struct held {
    weir_crew *crew;
    struct meeting begun; /* of the piece and of the test */
    struct meeting end;
};

static int hold(size_t piece, void *arg)
{
    struct held *held = arg;
    return meet(piece, &held->begun) | meet(piece, &held->end);
}

static void run_held(void *arg)
{
    struct held *held = arg;
    CHECK_STATUS(weir_crew_run(held->crew, 1, hold, held, NULL), WEIR_OK);
}

TEST(one_run_at_a_time, "a crew that is in a run refuses another thread's, and does it afterwards")
{
    struct held held;
    held.crew = crew_of(2);
    meeting_init(&held.begun, 2);
    meeting_init(&held.end, 2);
    struct test_thread *thread = test_start(run_held, &held);
    (void)meet(0, &held.begun);
    CHECK_STATUS(weir_crew_run(held.crew, 5, must_not_run, NULL, NULL), WEIR_EBUSY);
    (void)meet(0, &held.end);
    test_join(thread);
    CHECK_STATUS(weir_crew_run(held.crew, 5, do_piece, &work, NULL), WEIR_OK);
    check_done(5);
    meeting_fini(&held.begun);
    meeting_fini(&held.end);
    weir_crew_free(held.crew);
}

TEST(bad_crews, "a crew that is not allowed is refused")
{
    struct weir_crew_options options = {0};
    weir_crew *crew = NULL;
    CHECK_STATUS(weir_crew_new(&options, &crew, NULL), WEIR_EINVAL);
    options.workers = 4097;
    CHECK_STATUS(weir_crew_new(&options, &crew, NULL), WEIR_EINVAL);
    options.workers = 2;
    CHECK_STATUS(weir_crew_new(&options, NULL, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_crew_new(NULL, &crew, NULL), WEIR_EINVAL);
    options.allocator = *test_allocator();
    options.allocator.release = NULL;
    CHECK_STATUS(weir_crew_new(&options, &crew, NULL), WEIR_EINVAL);
    CHECK(crew == NULL);
    weir_crew_free(NULL);
}

TEST(bad_runs, "a run that is not allowed is refused, and the crew does the next one")
{
    weir_crew *crew = crew_of(4096);
    CHECK_STATUS(weir_crew_run(NULL, 1, must_not_run, NULL, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_crew_run(crew, 1, NULL, NULL, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_crew_run(crew, 0, NULL, NULL, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_parallelize(0, 1, must_not_run, NULL, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_parallelize(0, 0, must_not_run, NULL, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_parallelize(4097, 1, must_not_run, NULL, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_parallelize(1, 1, NULL, NULL, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_crew_run(crew, 5, do_piece, &work, NULL), WEIR_OK);
    check_done(5);
    weir_crew_free(crew);
}

TEST_OOM(no_memory, "a crew that cannot be made leaves nothing")
{
    struct weir_crew_options options = {0};
    options.allocator = *test_allocator();
    options.workers = 3;
    weir_crew *crew = NULL;
    if (CHECK_OR_OOM(weir_crew_new(&options, &crew, NULL))) {
        CHECK(crew == NULL);
        return;
    }
    CHECK_STATUS(weir_crew_run(crew, 100, do_piece, &work, NULL), WEIR_OK);
    check_done(100);
    weir_crew_free(crew);
}

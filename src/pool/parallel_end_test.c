/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Runs that end before all is done, and those to which the system gives no threads. */
#define _GNU_SOURCE /* RTLD_NEXT */

#include <weir/parallel.h>

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "support/harness.h"

#define PIECES 1000

/* This program's own pthread_create() is the one that src/base calls. It refuses threads on
 * command, and else hands on to the real one, or to that of a sanitizer which must see each thread.
 */
typedef int create_fn(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                      void *arg);
create_fn sanitizer_create __asm__("__interceptor_pthread_create") __attribute__((weak));

static atomic_int may_start; /* how many threads, in tests that set is_limited */
static atomic_bool is_limited;
static atomic_int refused;

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): libc's names are reserved */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *arg)
{
    if (atomic_load(&is_limited) && atomic_fetch_sub(&may_start, 1) <= 0) {
        atomic_fetch_add(&refused, 1);
        return EAGAIN;
    }
    create_fn *create = sanitizer_create;
    if (create == NULL) {
        *(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
    }
    return create(thread, attributes, run, arg);
}

static weir_crew *crew_of(size_t workers)
{
    struct weir_crew_options options = WEIR_CREW_OPTIONS_INIT;
    options.allocator = *test_allocator();
    options.workers = workers;
    weir_crew *crew;
    CHECK_STATUS(weir_crew_new(&options, &crew), WEIR_OK);
    return crew;
}

/* Pieces of which one, or each from one on, ends the run. */
struct work {
    size_t bad;
    int status;
    bool later_too;
    atomic_size_t begun;
    atomic_size_t ended;
    atomic_bool is_stopped; /* by the flag that proceed looks at */
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
            struct weir_parallel_options options = WEIR_PARALLEL_OPTIONS_INIT;
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

/* A run of two pieces: one fails at once, the other only when the first one's worker already waits
 * for it. */
struct late {
    weir_crew *crew;
    atomic_bool has_begun;
    atomic_bool may_end;
    atomic_size_t begun;
    int status; /* of the run */
};

static int fail_late(size_t piece, void *arg)
{
    struct late *late = arg;
    if (piece == 0) {
        while (!atomic_load(&late->has_begun)) {
        }
        return WEIR_EUSER + 1;
    }
    atomic_fetch_add(&late->begun, 1);
    atomic_store(&late->has_begun, true);
    while (!atomic_load(&late->may_end)) {
    }
    return late->status;
}

static void run_late(void *arg)
{
    struct late *late = arg;
    late->status = weir_crew_run(late->crew, PIECES, fail_late, late, NULL);
}

TEST(first_of_two, "the first failure counts, and nobody begins a piece after it")
{
    for (int other = WEIR_OK; other <= WEIR_EUSER + 2; other += WEIR_EUSER + 2) {
        struct late late = {.crew = crew_of(2), .status = other};
        struct test_thread *thread = test_start(run_late, &late);
        while (!atomic_load(&late.has_begun)) {
        }
        test_wait_asleep(thread);
        atomic_store(&late.may_end, true);
        test_join(thread);
        CHECK_INT(late.status, ==, WEIR_EUSER + 1);
        CHECK_INT(atomic_load(&late.begun), ==, 1);
        weir_crew_free(late.crew);
    }
}

static int keep_number(size_t piece, void *arg)
{
    atomic_size_t *number = arg;
    atomic_store(number, piece);
    return WEIR_EUSER;
}

TEST(as_many_as_can_be, "a run may have as many pieces as there are numbers")
{
    atomic_size_t number = SIZE_MAX;
    CHECK_INT(weir_parallelize(1, SIZE_MAX, keep_number, &number, NULL), ==, WEIR_EUSER);
    CHECK_INT(atomic_load(&number), ==, 0);
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

TEST(cancelled, "a run ends once proceed says so, which is asked before each piece")
{
    struct work work = {.stop_at = 100};
    struct weir_parallel_options options = WEIR_PARALLEL_OPTIONS_INIT;
    options.proceed = proceed;
    options.proceed_arg = &work;
    options.chunk_size = 7;
    CHECK_STATUS(weir_parallelize(1, PIECES, stop_at, &work, &options), WEIR_ECANCELED);
    CHECK_INT(atomic_load(&work.begun), ==, 101);
    CHECK_INT(atomic_load(&work.asked), ==, 102);

    struct work again = {.stop_at = 100};
    options.proceed_arg = &again;
    CHECK_STATUS(weir_parallelize(4, PIECES, stop_at, &again, &options), WEIR_ECANCELED);
    CHECK_INT(atomic_load(&again.asked), >, atomic_load(&again.begun));

    struct work none = {.is_stopped = true};
    options.proceed_arg = &none;
    CHECK_STATUS(weir_parallelize(4, PIECES, stop_at, &none, &options), WEIR_ECANCELED);
    CHECK_INT(atomic_load(&none.begun), ==, 0);

    struct work all = {.stop_at = PIECES};
    options.proceed_arg = &all;
    CHECK_STATUS(weir_parallelize(4, PIECES, stop_at, &all, &options), WEIR_OK);
    CHECK_INT(atomic_load(&all.begun), ==, PIECES);
    CHECK_INT(atomic_load(&all.asked), ==, PIECES);
}

TEST(no_threads, "without a thread the caller does everything itself; later runs get threads again")
{
    weir_crew *crew = crew_of(5);
    atomic_store(&is_limited, true);
    for (int allowed = 0; allowed < 3; allowed++) {
        atomic_store(&may_start, allowed);
        struct work work = {.bad = SIZE_MAX};
        CHECK_STATUS(weir_parallelize(5, PIECES, do_piece, &work, NULL), WEIR_OK);
        CHECK_INT(atomic_load(&work.begun), ==, PIECES);
    }
    for (int round = 0; round < 50; round++) {
        atomic_store(&may_start, round % 3 == 2);
        struct work work = {.bad = SIZE_MAX};
        CHECK_STATUS(weir_crew_run(crew, PIECES, do_piece, &work, NULL), WEIR_OK);
        CHECK_INT(atomic_load(&work.begun), ==, PIECES);
    }
    CHECK_INT(atomic_load(&refused), >, 0);
    atomic_store(&is_limited, false);
    struct late late = {.crew = crew, .may_end = true};
    run_late(&late); /* returns only if somebody else has come */
    CHECK_INT(late.status, ==, WEIR_EUSER + 1);
    weir_crew_free(crew);
}

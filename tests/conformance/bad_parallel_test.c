/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/parallel.h>

#include <sys/wait.h>
#include <unistd.h>

#include "conformance/bad_input.h"

/* Bad input to runs of pieces. */

static int must_not_run(size_t piece, void *arg)
{
    (void)piece;
    (void)arg;
    test_fail(__FILE__, __LINE__, "a piece was done");
}

static int stop(size_t piece, void *arg)
{
    (void)piece;
    (void)arg;
    return WEIR_ESTOP;
}

static struct weir_crew_options good_crew(void)
{
    struct weir_crew_options options = {0};
    options.allocator = *test_allocator();
    options.workers = 2;
    return options;
}

static enum weir_status make_crew(const struct weir_crew_options *options)
{
    weir_crew *untouched = (weir_crew *)&rows;
    weir_crew *crew = untouched;
    enum weir_status status = spoken(weir_crew_new(options, &crew, &said));
    CHECK((crew == untouched) == (status != WEIR_OK));
    if (status == WEIR_OK) {
        weir_crew_free(crew);
    }
    return status;
}

ROW(weir_crew_new, options, null, WEIR_EINVAL)
{
    return make_crew(NULL);
}

ROW(weir_crew_new, options, allocator, WEIR_EINVAL)
{
    struct weir_crew_options options = good_crew();
    options.allocator.alloc = NULL;
    return make_crew(&options);
}

ROW(weir_crew_new, options, workers, WEIR_EINVAL)
{
    struct weir_crew_options options = good_crew();
    options.workers = 4096;
    CHECK_STATUS(make_crew(&options), WEIR_OK);
    options.workers = 0;
    CHECK_STATUS(make_crew(&options), WEIR_EINVAL);
    options.workers = 4097;
    CHECK_STATUS(make_crew(&options), WEIR_EINVAL);
    options.workers = SIZE_MAX;
    return make_crew(&options);
}

ROW(weir_crew_new, ret_error, null, WEIR_OK)
{
    struct weir_crew_options options = good_crew();
    weir_crew *crew;
    CHECK_STATUS(weir_crew_new(NULL, &crew, NULL), WEIR_EINVAL);
    CHECK_STATUS(weir_crew_new(&options, &crew, NULL), WEIR_OK);
    weir_crew_free(crew);
    return WEIR_OK;
}

ROW(weir_crew_new, memory, none, WEIR_ENOMEM)
{
    struct weir_crew_options options = good_crew();
    test_fail_allocation(1, true);
    return make_crew(&options);
}

ROW(weir_crew_new, ret_crew, null, WEIR_EINVAL)
{
    struct weir_crew_options options = good_crew();
    return spoken(weir_crew_new(&options, NULL, &said));
}

ROW(weir_crew_free, crew, null, WEIR_OK)
{
    return weir_crew_free(NULL);
}

static int free_crew(size_t piece, void *crew)
{
    (void)piece;
    return (int)weir_crew_free(crew);
}

ROW(weir_crew_free, crew, in_a_run, WEIR_EBUSY)
{
    struct weir_crew_options options = good_crew();
    weir_crew *crew;
    CHECK_STATUS(weir_crew_new(&options, &crew, NULL), WEIR_OK);
    enum weir_status status = (enum weir_status)weir_crew_run(crew, 1, free_crew, crew, NULL);
    CHECK_STATUS(weir_crew_free(crew), WEIR_OK);
    return status;
}

ROW(weir_crew_free, crew, not_one, WEIR_EINVAL)
{
    static uint64_t other[32];
    return weir_crew_free((weir_crew *)(void *)other);
}

/* A run of a crew, or of weir_parallelize(). */
typedef enum weir_status run_fn(size_t pieces, weir_piece_fn *fn,
                                const struct weir_parallel_options *options);

static enum weir_status run_crew(size_t pieces, weir_piece_fn *fn,
                                 const struct weir_parallel_options *options)
{
    struct weir_crew_options of_crew = good_crew();
    weir_crew *crew;
    CHECK_STATUS(weir_crew_new(&of_crew, &crew, NULL), WEIR_OK);
    enum weir_status status = (enum weir_status)weir_crew_run(crew, pieces, fn, NULL, options);
    weir_crew_free(crew);
    return status;
}

static enum weir_status run_once(size_t pieces, weir_piece_fn *fn,
                                 const struct weir_parallel_options *options)
{
    return (enum weir_status)weir_parallelize(2, pieces, fn, NULL, options);
}

/* Whatever is in these, the run is done. */
static enum weir_status run_with_numbers(run_fn *run, size_t chunk_size, size_t eager)
{
    struct weir_parallel_options options = {0};
    options.chunk_size = chunk_size;
    options.eager = eager;
    CHECK_STATUS(run(100, stop, &options), WEIR_ESTOP);
    return WEIR_OK;
}

#define RUN_ROWS(function, run)                                                                    \
    ROW(function, pieces, zero, WEIR_OK)                                                           \
    {                                                                                              \
        CHECK_STATUS(run(0, NULL, NULL), WEIR_EINVAL);                                             \
        return run(0, must_not_run, NULL);                                                         \
    }                                                                                              \
    ROW(function, pieces, most, WEIR_OK)                                                           \
    {                                                                                              \
        CHECK_STATUS(run(SIZE_MAX, stop, NULL), WEIR_ESTOP);                                       \
        return WEIR_OK;                                                                            \
    }                                                                                              \
    ROW(function, fn, null, WEIR_EINVAL)                                                           \
    {                                                                                              \
        return run(1, NULL, NULL);                                                                 \
    }                                                                                              \
    ROW(function, options, null, WEIR_OK)                                                          \
    {                                                                                              \
        CHECK_STATUS(run(1, stop, NULL), WEIR_ESTOP);                                              \
        return WEIR_OK;                                                                            \
    }                                                                                              \
    ROW(function, options, chunk_size, WEIR_OK)                                                    \
    {                                                                                              \
        return run_with_numbers(run, SIZE_MAX, 0);                                                 \
    }                                                                                              \
    ROW(function, options, eager, WEIR_OK)                                                         \
    {                                                                                              \
        return run_with_numbers(run, 0, SIZE_MAX);                                                 \
    }

RUN_ROWS(weir_crew_run, run_crew)
RUN_ROWS(weir_parallelize, run_once)

ROW(weir_parallelize, workers, zero, WEIR_EINVAL)
{
    CHECK_STATUS(weir_parallelize(0, 0, must_not_run, NULL, NULL), WEIR_EINVAL);
    return (enum weir_status)weir_parallelize(0, 1, must_not_run, NULL, NULL);
}

ROW(weir_parallelize, workers, most, WEIR_EINVAL)
{
    CHECK_STATUS(weir_parallelize(4097, 1, must_not_run, NULL, NULL), WEIR_EINVAL);
    return (enum weir_status)weir_parallelize(SIZE_MAX, 1, must_not_run, NULL, NULL);
}

ROW(weir_crew_run, crew, null, WEIR_EINVAL)
{
    return (enum weir_status)weir_crew_run(NULL, 1, must_not_run, NULL, NULL);
}

static int run_again(size_t piece, void *crew)
{
    (void)piece;
    return weir_crew_run(crew, 1, must_not_run, NULL, NULL);
}

ROW(weir_crew_run, crew, in_a_run, WEIR_EBUSY)
{
    struct weir_crew_options options = good_crew();
    weir_crew *crew;
    CHECK_STATUS(weir_crew_new(&options, &crew, NULL), WEIR_OK);
    enum weir_status status = (enum weir_status)weir_crew_run(crew, 1, run_again, crew, NULL);
    weir_crew_free(crew);
    return status;
}

ROW(weir_crew_run, crew, forked, WEIR_EFORKED)
{
    struct weir_crew_options options = good_crew();
    weir_crew *crew;
    CHECK_STATUS(weir_crew_new(&options, &crew, NULL), WEIR_OK);
    pid_t child = fork();
    CHECK_INT(child, >=, 0);
    if (child == 0) {
        _exit(weir_crew_run(crew, 1, must_not_run, NULL, NULL));
    }
    int ended;
    CHECK_INT(waitpid(child, &ended, 0), ==, child);
    CHECK(WIFEXITED(ended));
    weir_crew_free(crew);
    return (enum weir_status)WEXITSTATUS(ended);
}

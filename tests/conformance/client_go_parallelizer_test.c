/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdatomic.h>

#include "parallel/pieces.h"

/* The scenarios of client-go's own tests of ParallelizeUntil, and what flaw W19 of it demands: no
 * memory for each chunk, an error that comes back, a reason for a cancellation. Each row is done by
 * a crew and by weir_parallelize(). */

#define WORKERS 10
#define PIECES_MAX 1000

struct shape {
    size_t pieces;
    size_t chunk_size;
};

static atomic_uint seen[PIECES_MAX];
static bool primes[PIECES_MAX];

static int run(weir_crew *crew, struct shape shape, weir_piece_fn *fn, void *arg)
{
    struct weir_parallel_options options = {0};
    options.chunk_size = shape.chunk_size;
    return crew != NULL ? weir_crew_run(crew, shape.pieces, fn, arg, &options)
                        : weir_parallelize(WORKERS, shape.pieces, fn, arg, &options);
}

static int visit(size_t piece, void *arg)
{
    (void)arg;
    atomic_fetch_add(&seen[piece], 1);
    return WEIR_OK;
}

static void check_visits(struct shape shape)
{
    weir_crew *crews[] = {crew_of(WORKERS), NULL};
    for (unsigned i = 0; i < 2; i++) {
        CHECK_STATUS(run(crews[i], shape, visit, NULL), WEIR_OK);
        for (size_t piece = 0; piece < PIECES_MAX; piece++) {
            CHECK_INT(atomic_exchange(&seen[piece], 0), ==, piece < shape.pieces);
        }
    }
    weir_crew_free(crews[0]);
}

TEST(parallelize_until_1000_by_1,
     "TestParallelizeUntil, 1000 pieces, 10 workers, chunks of 1: each once")
{
    check_visits((struct shape){1000, 1});
}

TEST(parallelize_until_1000_by_10,
     "TestParallelizeUntil, 1000 pieces, 10 workers, chunks of 10: each once")
{
    check_visits((struct shape){1000, 10});
}

TEST(parallelize_until_1000_by_100,
     "TestParallelizeUntil, 1000 pieces, 10 workers, chunks of 100: each once")
{
    check_visits((struct shape){1000, 100});
}

TEST(parallelize_until_999_by_13,
     "TestParallelizeUntil, 999 pieces, 10 workers, chunks of 13: each once")
{
    check_visits((struct shape){999, 13});
}

static int note_prime(size_t piece, void *arg)
{
    bool is_prime = piece > 1;
    for (size_t i = 2; is_prime && i * i <= piece; i++) {
        is_prime = piece % i != 0;
    }
    ((bool *)arg)[piece] = is_prime;
    return WEIR_OK;
}

TEST(benchmark_parallelize_until,
     "BenchmarkParallelizeUntil: what pieces write side by side is whole after the run")
{
    static const struct shape shapes[] = {{1000, 1}, {1000, 10}, {1000, 100}, {999, 13}};
    static const bool first[] = {false, false, true,  true,  false, true,
                                 false, true,  false, false, false, true};
    weir_crew *crews[] = {crew_of(WORKERS), NULL};
    for (unsigned i = 0; i < 8; i++) {
        memset(primes, 0, sizeof(primes));
        CHECK_STATUS(run(crews[i / 4], shapes[i % 4], note_prime, primes), WEIR_OK);
        CHECK(memcmp(primes, first, sizeof(first)) == 0);
        unsigned found = 0;
        for (size_t piece = 0; piece < PIECES_MAX; piece++) {
            found += primes[piece];
        }
        CHECK_INT(found, ==, 168);
    }
    weir_crew_free(crews[0]);
}

TEST(w19_no_memory, "W19: a crew's run takes no memory, however many chunks it has")
{
    weir_crew *crew = crew_of(WORKERS);
    size_t blocks = test_allocated_blocks();
    test_fail_allocation(1, true);
    for (int i = 0; i < 20; i++) {
        CHECK_STATUS(run(crew, (struct shape){1000, 1}, note_prime, primes), WEIR_OK);
    }
    test_fail_allocation(0, false);
    CHECK_INT(test_allocated_blocks(), ==, blocks);
    weir_crew_free(crew);
}

static int fail_at_500(size_t piece, void *arg)
{
    (void)visit(piece, arg);
    return piece == 500 ? WEIR_EUSER + 5 : WEIR_OK;
}

TEST(w19_error, "W19: an error comes back from the run, and ends its chunk")
{
    weir_crew *crews[] = {crew_of(WORKERS), NULL};
    for (unsigned i = 0; i < 2; i++) {
        CHECK_INT(run(crews[i], (struct shape){1000, 10}, fail_at_500, NULL), ==, WEIR_EUSER + 5);
        for (size_t piece = 0; piece < PIECES_MAX; piece++) {
            bool is_after = piece > 500 && piece < 510;
            CHECK_INT(atomic_exchange(&seen[piece], 0), <=, is_after ? 0 : 1);
        }
    }
    weir_crew_free(crews[0]);
}

static int give_reason(void *arg)
{
    return atomic_load((atomic_int *)arg);
}

static int set_reason(size_t piece, void *arg)
{
    atomic_store((atomic_int *)arg, piece == 0 ? WEIR_ETIMEDOUT : WEIR_ECANCELED);
    return WEIR_OK;
}

TEST(w19_reason, "W19: a run that was cancelled says why")
{
    atomic_int reason = WEIR_OK;
    struct weir_parallel_options options = {0};
    options.proceed = give_reason;
    options.proceed_arg = &reason;
    CHECK_STATUS(weir_parallelize(1, 1000, set_reason, &reason, &options), WEIR_ETIMEDOUT);
    atomic_store(&reason, WEIR_ESHUTDOWN);
    CHECK_STATUS(weir_parallelize(WORKERS, 1000, must_not_run, NULL, &options), WEIR_ESHUTDOWN);
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/limiter.h"

#include <stdlib.h>

#include "support/harness.h"

/* Several threads use one limiter at once. The race detectors run this test too. */

#define THREADS 4
#define CALLS 5000

struct caller {
    weir_limiter *limiter;
    int number;
    int64_t delays[CALLS];
};

static void start_all(weir_limiter *limiter, struct caller *callers, void (*run)(void *arg))
{
    struct test_thread *threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        callers[i].limiter = limiter;
        callers[i].number = i;
        threads[i] = test_start(run, &callers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        test_join(threads[i]);
    }
}

static void ask_often(void *arg)
{
    struct caller *caller = arg;
    for (int i = 0; i < CALLS; i++) {
        CHECK_STATUS(
            weir_limiter_when(caller->limiter, weir_key_string("a"), 0, &caller->delays[i]),
            WEIR_OK);
    }
}

static int compare_i64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

TEST(bucket, "no token is given to two threads, and none is lost")
{
    static struct caller callers[THREADS];
    static int64_t all[THREADS * CALLS];
    weir_limiter *limiter;
    CHECK_STATUS(weir_limiter_bucket_new(1, 100, test_allocator(), &limiter, NULL), WEIR_OK);
    start_all(limiter, callers, ask_often);
    for (int i = 0; i < THREADS; i++) {
        for (int n = 0; n < CALLS; n++) {
            all[i * CALLS + n] = callers[i].delays[n];
        }
    }
    qsort(all, THREADS * CALLS, sizeof(all[0]), compare_i64);
    for (int i = 0; i < THREADS * CALLS; i++) {
        CHECK_INT(all[i], ==, i < 100 ? 0 : (i - 99) * WEIR_SECONDS(1));
    }
    weir_limiter_free(limiter);
}

static void ask_two(void *arg)
{
    struct caller *caller = arg;
    struct weir_key own = weir_key_bytes(&caller->number, sizeof(caller->number));
    ask_often(arg);
    for (int i = 0; i < CALLS; i++) {
        int64_t delay_ns;
        CHECK_STATUS(weir_limiter_when(caller->limiter, own, 0, &delay_ns), WEIR_OK);
        CHECK_INT(delay_ns, ==, i < 100 ? 0 : WEIR_SECONDS(1));
        if (i >= 100) {
            weiri_limiter_give_back(caller->limiter, own, 0);
        }
        weir_limiter_forget(caller->limiter, own);
    }
}

TEST(item_bucket, "each item's tokens are given once, to all threads together, and none is lost")
{
    static struct caller callers[THREADS];
    static int64_t all[THREADS * CALLS];
    struct weir_limiter_options options = {0};
    options.allocator = *test_allocator();
    weir_limiter *limiter;
    CHECK_STATUS(weir_limiter_item_bucket_new(1, 100, &options, &limiter, NULL), WEIR_OK);
    start_all(limiter, callers, ask_two);
    for (int i = 0; i < THREADS * CALLS; i++) {
        all[i] = callers[i / CALLS].delays[i % CALLS];
    }
    qsort(all, THREADS * CALLS, sizeof(all[0]), compare_i64);
    for (int i = 0; i < THREADS * CALLS; i++) {
        CHECK_INT(all[i], ==, i < 100 ? 0 : (i - 99) * WEIR_SECONDS(1));
    }
    weir_limiter_free(limiter);
}

static void mix(void *arg)
{
    struct caller *caller = arg;
    struct weir_key own = weir_key_bytes(&caller->number, sizeof(caller->number));
    struct weir_key shared = weir_key_string("shared");
    int64_t previous = 0;
    for (int i = 0; i < CALLS; i++) {
        int64_t delay_ns;
        CHECK_STATUS(weir_limiter_when(caller->limiter, shared, i, &delay_ns), WEIR_OK);
        if (i % 3 == 0) {
            weiri_limiter_undo(caller->limiter, shared, i);
        } else {
            weiri_limiter_give_back(caller->limiter, shared, i);
        }
        CHECK_STATUS(weir_limiter_when(caller->limiter, own, i, &delay_ns), WEIR_OK);
        weiri_limiter_give_back(caller->limiter, own, i);
        /* No other thread uses this item. */
        CHECK_INT(weir_limiter_num_requeues(caller->limiter, own), ==, i % 10 + 1);
        CHECK_INT(delay_ns, >=, i % 10 == 0 ? 1 : previous);
        previous = delay_ns;
        if (i % 10 == 9) {
            weir_limiter_forget(caller->limiter, own);
            previous = 0;
        }
    }
}

TEST(composed, "counts are exact while threads ask, undo, give back and forget")
{
    static struct caller callers[THREADS];
    struct weir_limiter_options options = {0};
    options.allocator = *test_allocator();
    weir_limiter *parts[2];
    CHECK_STATUS(weir_limiter_exponential_new(1, 1000, &options, &parts[0], NULL), WEIR_OK);
    CHECK_STATUS(weir_limiter_bucket_new(1e9, 1000, test_allocator(), &parts[1], NULL), WEIR_OK);
    weir_limiter *max;
    CHECK_STATUS(weir_limiter_max_of_new(parts, 2, test_allocator(), &max, NULL), WEIR_OK);
    weir_limiter *capped;
    CHECK_STATUS(weir_limiter_with_max_wait_new(max, 500, test_allocator(), &capped, NULL),
                 WEIR_OK);
    weir_limiter *limiter;
    CHECK_STATUS(weir_limiter_with_jitter_new(capped, 0, 1, test_allocator(), &limiter, NULL),
                 WEIR_OK);
    start_all(limiter, callers, mix);
    uint64_t kept = (uint64_t)THREADS * (CALLS - (CALLS + 2) / 3);
    CHECK_INT(weir_limiter_num_requeues(limiter, weir_key_string("shared")), ==, kept);
    weir_limiter_free(limiter);
}

static void ask_jitter(void *arg)
{
    struct caller *caller = arg;
    struct weir_key own = weir_key_bytes(&caller->number, sizeof(caller->number));
    for (int i = 0; i < CALLS; i++) {
        CHECK_STATUS(weir_limiter_when(caller->limiter, own, 0, &caller->delays[i]), WEIR_OK);
    }
}

TEST(jitter, "each number of a seed's sequence is used once, whichever thread takes it")
{
    static struct caller callers[THREADS];
    static int64_t all[THREADS * CALLS];
    static int64_t alone[THREADS * CALLS];
    struct weir_limiter_options options = {0};
    options.allocator = *test_allocator();
    for (int round = 0; round < 2; round++) {
        weir_limiter *inner;
        CHECK_STATUS(
            weir_limiter_exponential_new(WEIR_SECONDS(1), WEIR_SECONDS(1), &options, &inner, NULL),
            WEIR_OK);
        weir_limiter *limiter;
        CHECK_STATUS(weir_limiter_with_jitter_new(inner, 1, 7, test_allocator(), &limiter, NULL),
                     WEIR_OK);
        if (round == 0) {
            start_all(limiter, callers, ask_jitter);
        }
        for (int i = 0; i < THREADS * CALLS; i++) {
            if (round == 0) {
                all[i] = callers[i / CALLS].delays[i % CALLS];
            } else {
                CHECK_STATUS(weir_limiter_when(limiter, weir_key_string("a"), 0, &alone[i]),
                             WEIR_OK);
            }
        }
        weir_limiter_free(limiter);
    }
    qsort(all, THREADS * CALLS, sizeof(all[0]), compare_i64);
    qsort(alone, THREADS * CALLS, sizeof(alone[0]), compare_i64);
    for (int i = 0; i < THREADS * CALLS; i++) {
        CHECK_INT(all[i], ==, alone[i]);
    }
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/limiters.h"

#include <stdio.h>

#include "queue/limiter.h"
#include "support/answering_limiter.h"

/* The answers of the supplied limiters, alone and inside one another. client-go's own tests of them
 * are in tests/conformance/client_go_limiters_test.c. */

static int64_t when(weir_limiter *limiter, const char *name, int64_t now_ns)
{
    int64_t delay_ns = -1;
    CHECK_STATUS(weir_limiter_when(limiter, weir_key_string(name), now_ns, &delay_ns), WEIR_OK);
    return delay_ns;
}

static uint64_t count_of(weir_limiter *limiter, const char *name)
{
    return weir_limiter_num_requeues(limiter, weir_key_string(name));
}

TEST(exponential_ends, "no wait stays none; equal ends stay equal; for ever may be the longest")
{
    weir_limiter *zero = exponential(0, WEIR_SECONDS(1));
    weir_limiter *same = exponential(7, 7);
    weir_limiter *longest = exponential(INT64_MAX, INT64_MAX);
    for (int i = 0; i < 2000; i++) {
        CHECK_INT(when(zero, "a", 0), ==, 0);
        CHECK_INT(when(same, "a", 0), ==, 7);
        CHECK_INT(when(longest, "a", 0), ==, INT64_MAX);
    }
    weir_limiter_free(zero);
    weir_limiter_free(same);
    weir_limiter_free(longest);
}

TEST(fast_slow_ends, "without fast failures every wait is the slow one, also where that is shorter")
{
    weir_limiter *limiter = fast_slow(WEIR_SECONDS(1), WEIR_MS(1), 0);
    CHECK_INT(when(limiter, "one", 0), ==, WEIR_MS(1));
    CHECK_INT(when(limiter, "one", 0), ==, WEIR_MS(1));
    weir_limiter_free(limiter);
}

TEST(bucket, "a burst passes at once, then one at a time; it fills up to the burst only")
{
    weir_limiter *limiter = bucket(10, 3);
    for (int i = 0; i < 6; i++) {
        CHECK_INT(when(limiter, "a", 500), ==, i < 3 ? 0 : (i - 2) * WEIR_MS(100));
    }
    CHECK_INT(count_of(limiter, "a"), ==, 0);
    weir_limiter_forget(limiter, weir_key_string("a"));
    CHECK_INT(when(limiter, "a", 500), ==, WEIR_MS(400));
    int64_t later = WEIR_SECONDS(1000000);
    for (int i = 0; i < 4; i++) {
        CHECK_INT(when(limiter, "a", later), ==, i < 3 ? 0 : WEIR_MS(100));
    }
    weir_limiter_free(limiter);
}

TEST(item_bucket, "each item has a bucket of its own; forgetting gives no token, undoing does")
{
    weir_limiter *limiter = item_bucket(10, 3);
    struct weir_key a = weir_key_string("a");
    for (int i = 0; i < 6; i++) {
        CHECK_INT(when(limiter, "a", 500), ==, i < 3 ? 0 : (i - 2) * WEIR_MS(100));
    }
    CHECK_INT(count_of(limiter, "a"), ==, 0);
    weir_limiter_forget(limiter, a);
    CHECK_INT(when(limiter, "a", 500), ==, WEIR_MS(400));
    weiri_limiter_undo(limiter, a, 500);
    weiri_limiter_give_back(limiter, a, 500);
    weiri_limiter_give_back(limiter, weir_key_string("b"), 500);
    CHECK_INT(when(limiter, "a", 500), ==, WEIR_MS(300));
    for (int i = 0; i < 4; i++) {
        CHECK_INT(when(limiter, "b", 0), ==, i < 3 ? 0 : WEIR_MS(100));
    }
    for (int i = 0; i < 10; i++) {
        weiri_limiter_give_back(limiter, a, 500);
    }
    for (int i = 0; i < 4; i++) {
        CHECK_INT(when(limiter, "a", 500), ==, i < 3 ? 0 : WEIR_MS(100));
    }
    weir_limiter_free(limiter);
}

TEST(item_bucket_undo, "an undone try leaves no memory that it made, and what others left")
{
    weir_limiter *limiter = item_bucket(10, 3);
    struct weir_key a = weir_key_string("a");
    const struct weiri_item_limiter *self = limiter->self;
    CHECK_INT(when(limiter, "a", 500), ==, 0);
    CHECK_INT(when(limiter, "a", 500), ==, 0);
    weiri_limiter_undo(limiter, a, 500);
    CHECK_INT(self->remembered.table.count, ==, 1);
    weiri_limiter_undo(limiter, a, 500);
    CHECK_INT(self->remembered.table.count, ==, 0);
    weiri_limiter_undo(limiter, a, 500);
    for (int i = 0; i < 4; i++) {
        CHECK_INT(when(limiter, "a", 500), ==, i < 3 ? 0 : WEIR_MS(100));
    }
    weir_limiter_free(limiter);
}

TEST(counts_end, "a count of failures stays at its end")
{
    weir_limiter *limiter = exponential(1, 1000);
    struct weir_key a = weir_key_string("a");
    CHECK_INT(when(limiter, "a", 0), ==, 1);
    /* No test can count that far, so this one writes the number. */
    struct weiri_item_limiter *self = limiter->self;
    weiri_remembered_find(&self->remembered, a)->failures = UINT64_MAX - 1;
    CHECK_INT(when(limiter, "a", 0), ==, 1000);
    CHECK_INT(when(limiter, "a", 0), ==, 1000);
    CHECK(count_of(limiter, "a") == UINT64_MAX);
    weir_limiter_free(limiter);
}

TEST(counts_undo, "a failure taken back was none; more than there are cannot be taken back")
{
    weir_limiter *limiter = exponential(1, 1000);
    struct weir_key a = weir_key_string("a");
    weiri_limiter_undo(limiter, a, 0);
    CHECK_INT(count_of(limiter, "a"), ==, 0);
    CHECK_INT(when(limiter, "a", 0), ==, 1);
    CHECK_INT(when(limiter, "a", 0), ==, 2);
    weiri_limiter_undo(limiter, a, 0);
    CHECK_INT(count_of(limiter, "a"), ==, 1);
    CHECK_INT(when(limiter, "a", 0), ==, 2);
    weiri_limiter_undo(limiter, a, 0);
    weiri_limiter_undo(limiter, a, 0);
    weiri_limiter_undo(limiter, a, 0);
    CHECK_INT(count_of(limiter, "a"), ==, 0);
    struct weiri_item_limiter *self = limiter->self;
    CHECK_INT(self->remembered.table.count, ==, 0);
    weir_limiter_free(limiter);
}

TEST(bucket_backwards, "a time before the latest one gains nothing and loses nothing")
{
    for (int round = 0; round < 2; round++) {
        weir_limiter *limiter = round == 0 ? bucket(10, 1) : item_bucket(10, 1);
        CHECK_INT(when(limiter, "a", WEIR_SECONDS(10)), ==, 0);
        CHECK_INT(when(limiter, "a", WEIR_SECONDS(5)), ==, WEIR_MS(100));
        CHECK_INT(when(limiter, "a", WEIR_SECONDS(10)), ==, WEIR_MS(200));
        CHECK_INT(when(limiter, "a", INT64_MIN), ==, WEIR_MS(300));
        CHECK_INT(when(limiter, "a", INT64_MAX), ==, 0);
        weir_limiter_free(limiter);
        limiter = round == 0 ? bucket(10, 1) : item_bucket(10, 1);
        CHECK_INT(when(limiter, "a", INT64_MIN), ==, 0);
        CHECK_INT(when(limiter, "a", INT64_MIN), ==, WEIR_MS(100));
        weir_limiter_free(limiter);
    }
}

TEST(w7_give_back, "a token given back serves the next one; none is gained beyond the burst")
{
    weir_limiter *limiter = bucket(10, 2);
    struct weir_key key = weir_key_string("a");
    CHECK_INT(when(limiter, "a", 0), ==, 0);
    CHECK_INT(when(limiter, "a", 0), ==, 0);
    /* A thousand tries whose reservations are returned have no effect. */
    for (int i = 0; i < 1000; i++) {
        CHECK_INT(when(limiter, "a", 0), ==, WEIR_MS(100));
        weiri_limiter_give_back(limiter, key, 0);
    }
    for (int i = 0; i < 5; i++) {
        weiri_limiter_give_back(limiter, key, 0);
    }
    CHECK_INT(when(limiter, "a", 0), ==, 0);
    CHECK_INT(when(limiter, "a", 0), ==, 0);
    CHECK_INT(when(limiter, "a", 0), ==, WEIR_MS(100));
    weir_limiter_free(limiter);
}

TEST(w7_give_back_keeps_counts, "inside others a token is given back and the count stays")
{
    weir_limiter *limiter =
        max_wait(jitter(max_of(exponential(1, 1000), bucket(10, 1)), 0, 1), WEIR_SECONDS(100));
    struct weir_key key = weir_key_string("a");
    CHECK_INT(when(limiter, "a", 0), ==, 1);
    for (int i = 0; i < 20; i++) {
        CHECK_INT(when(limiter, "a", 0), ==, WEIR_MS(100));
        weiri_limiter_give_back(limiter, key, 0);
    }
    CHECK_INT(count_of(limiter, "a"), ==, 21);
    weir_limiter_free(limiter);
}

TEST(undo, "a try that was not made leaves neither a count nor a token behind")
{
    weir_limiter *limiter =
        max_wait(jitter(max_of(exponential(1, 1000), bucket(10, 1)), 0, 1), WEIR_SECONDS(100));
    struct weir_key key = weir_key_string("a");
    for (int i = 0; i < 20; i++) {
        CHECK_INT(when(limiter, "a", 0), ==, 1);
        weiri_limiter_undo(limiter, key, 0);
        CHECK_INT(count_of(limiter, "a"), ==, 0);
    }
    CHECK_INT(when(limiter, "a", 0), ==, 1);
    CHECK_INT(when(limiter, "a", 0), ==, WEIR_MS(100));
    weiri_limiter_undo(limiter, key, 0);
    CHECK_INT(count_of(limiter, "a"), ==, 1);
    weir_limiter_free(limiter);
}

TEST(max_of_undoes, "when one limiter refuses, those called before it have counted nothing")
{
    struct answer refusal = {.status = WEIR_EFULL};
    weir_limiter *refusing = answering_limiter(&refusal);
    weir_limiter *tokens = bucket(10, 1);
    weir_limiter *parts[] = {exponential(1, 1000), tokens, refusing};
    weir_limiter *limiter;
    CHECK_STATUS(weir_limiter_max_of_new(parts, 3, test_allocator(), &limiter, NULL), WEIR_OK);
    for (int i = 0; i < 10; i++) {
        int64_t delay_ns = 123;
        CHECK_STATUS(weir_limiter_when(limiter, weir_key_string("a"), 0, &delay_ns), WEIR_EFULL);
        CHECK_INT(delay_ns, ==, 123);
    }
    CHECK_INT(count_of(limiter, "a"), ==, 0);
    CHECK_INT(when(tokens, "a", 0), ==, 0);
    weir_limiter_free(limiter);
}

TEST(max_of_in_place, "the result may replace the pointer to a limiter that was taken")
{
    weir_limiter *parts[] = {exponential(1, 1000), bucket(10, 1)};
    CHECK_STATUS(weir_limiter_max_of_new(parts, 2, test_allocator(), &parts[0], NULL), WEIR_OK);
    CHECK_INT(when(parts[0], "a", 0), ==, 1);
    CHECK_INT(when(parts[0], "a", 0), ==, WEIR_MS(100));
    CHECK_STATUS(weir_limiter_free(parts[0]), WEIR_OK);
}

TEST(w10_jitter, "items that failed together come back apart, each no earlier than without jitter")
{
    enum {
        ITEMS = 1000
    };
    int64_t base = WEIR_SECONDS(10);
    weir_limiter *limiter = jitter(exponential(base, base), 0.5, test_random());
    unsigned quarters[4] = {0};
    int64_t previous = -1;
    unsigned repeats = 0;
    for (int i = 0; i < ITEMS; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "%d", i);
        int64_t delay_ns = when(limiter, name, 0);
        CHECK_INT(delay_ns, >=, base);
        CHECK_INT(delay_ns, <, base + base / 2);
        quarters[(delay_ns - base) / (base / 8)]++;
        repeats += delay_ns == previous;
        previous = delay_ns;
    }
    for (int i = 0; i < 4; i++) {
        /* 250 expected, standard deviation 14. */
        CHECK_INT(quarters[i], >, 150);
        CHECK_INT(quarters[i], <, 350);
    }
    CHECK_INT(repeats, <, 3);
    weir_limiter_free(limiter);
}

TEST(jitter_seed, "the same seed gives the same waits, another seed others")
{
    weir_limiter *first = jitter(fast_slow(WEIR_SECONDS(1), 0, UINT64_MAX), 1, 42);
    weir_limiter *second = jitter(fast_slow(WEIR_SECONDS(1), 0, UINT64_MAX), 1, 42);
    weir_limiter *other = jitter(fast_slow(WEIR_SECONDS(1), 0, UINT64_MAX), 1, 43);
    weir_limiter *fresh = jitter(fast_slow(WEIR_SECONDS(1), 0, UINT64_MAX), 1, 0);
    unsigned same_other = 0;
    unsigned same_fresh = 0;
    for (int i = 0; i < 100; i++) {
        int64_t delay_ns = when(first, "a", 0);
        CHECK_INT(delay_ns, ==, when(second, "a", 0));
        same_other += delay_ns == when(other, "a", 0);
        same_fresh += delay_ns == when(fresh, "a", 0);
    }
    CHECK_INT(same_other, <, 3);
    CHECK_INT(same_fresh, <, 3);
    weir_limiter_free(first);
    weir_limiter_free(second);
    weir_limiter_free(other);
    weir_limiter_free(fresh);
}

TEST(jitter_ends, "no fraction and no wait change nothing; the end of time is not passed")
{
    weir_limiter *none = jitter(exponential(WEIR_MS(1), WEIR_MS(8)), 0, 1);
    CHECK_INT(when(none, "a", 0), ==, WEIR_MS(1));
    CHECK_INT(when(none, "a", 0), ==, WEIR_MS(2));
    weir_limiter *zero = jitter(exponential(0, 0), 100, 1);
    CHECK_INT(when(zero, "a", 0), ==, 0);
    weir_limiter *far = jitter(exponential(INT64_MAX / 2, INT64_MAX), 1e300, 1);
    CHECK_INT(when(far, "a", 0), ==, INT64_MAX);
    CHECK_INT(when(far, "a", 0), ==, INT64_MAX);
    weir_limiter_free(none);
    weir_limiter_free(zero);
    weir_limiter_free(far);
}

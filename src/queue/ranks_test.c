/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/ranks.h"

#include <weir/duration.h>

#include "support/harness.h"

#define COUNT 1000

static struct weir_item items[COUNT];

/* What the heap should hold, in no order, and the order by the definition: the sum that the heap
 * never forms, in twice the width. */
__extension__ typedef __int128 wide;

struct expected {
    int32_t priority;
    int64_t since_ns;
    uint64_t arrival;
    bool is_there;
};

static struct expected expected[COUNT];

static bool comes_before(const struct expected *a, const struct expected *b, int64_t aging_ns)
{
    wide rank_a = aging_ns == 0 ? a->priority : (wide)a->priority * aging_ns + a->since_ns;
    wide rank_b = aging_ns == 0 ? b->priority : (wide)b->priority * aging_ns + b->since_ns;
    return rank_a < rank_b || (rank_a == rank_b && a->arrival < b->arrival);
}

static size_t first_expected(int64_t aging_ns)
{
    size_t first = COUNT;
    for (size_t i = 0; i < COUNT; i++) {
        if (expected[i].is_there &&
            (first == COUNT || comes_before(&expected[i], &expected[first], aging_ns))) {
            first = i;
        }
    }
    return first;
}

static void push(struct weiri_ranks *ranks, size_t i, int32_t priority)
{
    CHECK_STATUS(weiri_ranks_reserve(ranks, test_allocator(), ranks->count + 1), WEIR_OK);
    expected[i] = (struct expected){priority, ranks->now_ns, ranks->arrivals, true};
    if (ranks->aging_ns == 0 && test_random_below(2) == 0) {
        weiri_ranks_put(ranks, &items[i], priority);
    } else {
        weiri_ranks_push(ranks, &items[i], priority);
    }
}

static void pop(struct weiri_ranks *ranks)
{
    size_t first = first_expected(ranks->aging_ns);
    struct weir_item *item = weiri_ranks_pop(ranks);
    if (first == COUNT) {
        CHECK(item == NULL);
        return;
    }
    CHECK(item == &items[first]);
    expected[first].is_there = false;
    weiri_ranks_trim(ranks, test_allocator(), ranks->count);
}

static int32_t random_priority(bool is_wild)
{
    static const int32_t wild[] = {INT32_MIN, INT32_MIN + 1, -1, 0, 1, INT32_MAX - 1, INT32_MAX};
    return is_wild ? wild[test_random_below(7)] : (int32_t)test_random_below(7) - 3;
}

/* Any sequence of pushes, raises, removals, sorts and pops. */
static void churn(int64_t aging_ns, int64_t step_ns, bool is_wild)
{
    struct weiri_ranks ranks = {.aging_ns = aging_ns};
    memset(expected, 0, sizeof(expected));
    for (unsigned turn = 0; turn < 6000; turn++) {
        size_t i = (size_t)test_random_below(COUNT);
        int64_t room_ns = INT64_MAX - ranks.now_ns;
        ranks.now_ns += (int64_t)test_random_below((uint64_t)(step_ns < room_ns ? step_ns : 0) + 1);
        switch (test_random_below(turn % 2000 < 1000 ? 8 : 5)) {
        case 0:
            pop(&ranks);
            break;
        case 1:
            pop(&ranks);
            pop(&ranks);
            break;
        case 2:
            if (expected[i].is_there) {
                weiri_ranks_remove(&ranks, &items[i]);
                expected[i].is_there = false;
            }
            break;
        case 3:
            if (expected[i].is_there) {
                int32_t priority = random_priority(is_wild);
                weiri_ranks_raise(&ranks, &items[i], priority);
                if (priority < expected[i].priority) {
                    expected[i].priority = priority;
                }
            }
            if (turn % 100 == 0) {
                weiri_ranks_sort(&ranks);
            }
            break;
        default:
            if (!expected[i].is_there) {
                push(&ranks, i, random_priority(is_wild));
            }
        }
    }
    for (size_t left = ranks.count; left > 0; left--) {
        pop(&ranks);
    }
    pop(&ranks);
    CHECK_INT(ranks.count, ==, 0);
    weiri_ranks_fini(&ranks, test_allocator());
}

TEST(order,
     "items come out by priority, equal ones in order of arrival, whatever was done to others")
{
    churn(0, 0, false);
    churn(0, 10, true);
}

TEST(aging, "with aging they come out by priority * aging_ns + since_ns")
{
    churn(1, 3, false);
    churn(1000, 700, false);
    churn(WEIR_SECONDS(1), WEIR_SECONDS(1), false);
}

TEST(aging_extremes, "so too where that sum has no room in 64 bits")
{
    churn(INT64_MAX, INT64_MAX / 4000, true);
    churn(WEIR_SECONDS(86400), WEIR_SECONDS(86400) * 300, true);
    churn((int64_t)1 << 31, INT64_MAX / 4000, true);
    churn(1, INT64_MAX / 4000, true);
}

TEST(fifo, "items of one priority come out in the order they went in")
{
    struct weiri_ranks ranks = {.aging_ns = 0};
    for (size_t i = 0; i < COUNT; i++) {
        push(&ranks, i, 5);
    }
    for (size_t i = 0; i < COUNT; i++) {
        CHECK(weiri_ranks_pop(&ranks) == &items[i]);
    }
    weiri_ranks_fini(&ranks, test_allocator());
}

static void push_at(struct weiri_ranks *ranks, size_t i, int32_t priority)
{
    CHECK_STATUS(weiri_ranks_reserve(ranks, test_allocator(), ranks->count + 1), WEIR_OK);
    weiri_ranks_push(ranks, &items[i], priority);
}

/* Through many rounds of the array, which grows and shrinks wherever its first entry is. */
static void check_in_order(int64_t aging_ns)
{
    struct weiri_ranks ranks = {.aging_ns = aging_ns};
    size_t in = 0;
    size_t out = 0;
    for (unsigned turn = 0; turn < 20000; turn++) {
        bool grows = turn % 4000 < 2000;
        if (test_random_below(10) < (grows ? 6u : 3u) && in - out < COUNT) {
            ranks.now_ns += (int64_t)test_random_below(2);
            push(&ranks, in++ % COUNT, 7);
        } else if (test_random_below(20) == 0 && out < in) {
            weiri_ranks_remove(&ranks, &items[out++ % COUNT]); /* the first */
        } else if (test_random_below(20) == 0 && out < in) {
            weiri_ranks_remove(&ranks, &items[--in % COUNT]); /* the last */
        } else {
            CHECK(weiri_ranks_pop(&ranks) == (out < in ? &items[out++ % COUNT] : NULL));
            weiri_ranks_trim(&ranks, test_allocator(), ranks.count);
        }
        CHECK(!ranks.is_mixed);
        CHECK_INT(ranks.count, ==, in - out);
    }
    weiri_ranks_fini(&ranks, test_allocator());
}

TEST(in_order, "as long as items come in order no other has to move when one leaves at an end")
{
    check_in_order(0);
    check_in_order(1000);
}

TEST(in_order_again, "the entries are in order again once one is left, or when they were sorted")
{
    struct weiri_ranks ranks = {.aging_ns = 0};
    push_at(&ranks, 0, 1);
    push_at(&ranks, 1, 3);
    CHECK(!ranks.is_mixed);
    push_at(&ranks, 2, 2);
    CHECK(ranks.is_mixed);
    CHECK(weiri_ranks_pop(&ranks) == &items[0]);
    CHECK(ranks.is_mixed);
    CHECK(weiri_ranks_pop(&ranks) == &items[2]);
    CHECK(!ranks.is_mixed);
    push_at(&ranks, 2, 2);
    CHECK(ranks.is_mixed);
    weiri_ranks_remove(&ranks, &items[weiri_ranks_at(&ranks, 1)->item - items]);
    CHECK(!ranks.is_mixed);
    weiri_ranks_put(&ranks, &items[3], 5);
    weiri_ranks_put(&ranks, &items[4], 9);
    CHECK(!ranks.is_mixed);
    weiri_ranks_raise(&ranks, &items[2], -1); /* the first is the first still */
    CHECK(!ranks.is_mixed);
    weiri_ranks_raise(&ranks, &items[4], 4);
    CHECK(ranks.is_mixed);
    weiri_ranks_sort(&ranks);
    CHECK(!ranks.is_mixed);
    CHECK(weiri_ranks_pop(&ranks) == &items[2]);
    weiri_ranks_put(&ranks, &items[2], 4);
    CHECK(ranks.is_mixed);
    weiri_ranks_remove(&ranks, &items[4]);
    CHECK(weiri_ranks_pop(&ranks) == &items[2]);
    CHECK(weiri_ranks_pop(&ranks) == &items[3]);
    weiri_ranks_fini(&ranks, test_allocator());
}

TEST(raise, "an item that is raised stands where it would had it come with its new priority")
{
    struct weiri_ranks ranks = {.aging_ns = 0};
    push(&ranks, 0, 1);
    push(&ranks, 1, 9);
    push(&ranks, 2, 1);
    weiri_ranks_raise(&ranks, &items[1], 1);
    weiri_ranks_raise(&ranks, &items[0], 7);
    CHECK(weiri_ranks_pop(&ranks) == &items[0]);
    CHECK(weiri_ranks_pop(&ranks) == &items[1]);
    CHECK(weiri_ranks_pop(&ranks) == &items[2]);
    weiri_ranks_fini(&ranks, test_allocator());
}

TEST(sort, "sorted entries lie in the order in which they come out")
{
    static struct weir_item *order[COUNT];
    struct weiri_ranks ranks = {.aging_ns = 10};
    for (size_t i = 0; i < COUNT; i++) {
        ranks.now_ns += (int64_t)test_random_below(5);
        push(&ranks, i, random_priority(false));
    }
    weiri_ranks_sort(&ranks);
    CHECK_INT(ranks.count, ==, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        order[i] = weiri_ranks_at(&ranks, i)->item;
        CHECK(weiri_ranks_of(&ranks, order[i]) == weiri_ranks_at(&ranks, i));
    }
    for (size_t i = 0; i < COUNT; i++) {
        CHECK(weiri_ranks_pop(&ranks) == order[i]);
    }
    weiri_ranks_sort(&ranks);
    weiri_ranks_fini(&ranks, test_allocator());
}

TEST(trim_returns_memory, "after a burst the array is small again")
{
    struct weiri_ranks ranks = {.aging_ns = 0};
    for (size_t i = 0; i < COUNT; i++) {
        push(&ranks, i, 0);
    }
    while (weiri_ranks_pop(&ranks) != NULL) {
    }
    weiri_ranks_trim(&ranks, test_allocator(), 0);
    CHECK_INT(test_allocated_bytes(), <=, WEIRI_RANKS_CAPACITY_MIN * sizeof(struct weiri_rank));
    weiri_ranks_fini(&ranks, test_allocator());
}

TEST(reserve_failure, "a failed reserve and a failed trim change nothing")
{
    struct weiri_ranks ranks = {.aging_ns = 0};
    for (size_t i = 0; i < COUNT; i++) {
        push(&ranks, i, (int32_t)(i % 3));
    }
    test_fail_allocation(1, true);
    CHECK_STATUS(weiri_ranks_reserve(&ranks, test_allocator(), ranks.capacity + 1), WEIR_ENOMEM);
    CHECK_STATUS(weiri_ranks_reserve(&ranks, test_allocator(), SIZE_MAX), WEIR_ENOMEM);
    for (size_t i = 0; i < COUNT; i++) {
        pop(&ranks);
    }
    test_fail_allocation(0, false);
    CHECK_INT(ranks.capacity, >=, COUNT);
    weiri_ranks_fini(&ranks, test_allocator());
}

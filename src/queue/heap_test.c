/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/heap.h"

#include <weir/duration.h>

#include "support/harness.h"

#define COUNT 1000

static struct weir_item items[COUNT];

/* The expected contents of the heap, in no order. */
struct expected {
    int64_t time_ns;
    int32_t priority;
    uint64_t arrival;
    bool is_there;
};

static struct expected expected[COUNT];

/* The state of a test: a heap, and the choice of its times and priorities. */
struct churn {
    struct weiri_heap heap;
    int64_t time_limit;
    bool is_wild; /* priorities and times at the ends of their ranges */
};

__extension__ typedef __int128 wide;

/* The order as heap.h defines it. */
static bool comes_before(const struct churn *c, const struct expected *a, const struct expected *b)
{
    wide rank_a = c->heap.step == 0 ? a->time_ns : (wide)a->priority * c->heap.step + a->time_ns;
    wide rank_b = c->heap.step == 0 ? b->time_ns : (wide)b->priority * c->heap.step + b->time_ns;
    return rank_a < rank_b || (rank_a == rank_b && a->arrival < b->arrival);
}

static size_t first_expected(const struct churn *c)
{
    size_t first = COUNT;
    for (size_t i = 0; i < COUNT; i++) {
        if (expected[i].is_there &&
            (first == COUNT || comes_before(c, &expected[i], &expected[first]))) {
            first = i;
        }
    }
    return first;
}

static int64_t random_time(const struct churn *c)
{
    static const int64_t wild[] = {INT64_MIN, -1, 0, 1, INT64_MAX - 1, INT64_MAX};
    if (c->is_wild && test_random_below(2) == 0) {
        return wild[test_random_below(6)];
    }
    return (int64_t)test_random_below((uint64_t)c->time_limit);
}

static int32_t random_priority(const struct churn *c)
{
    static const int32_t wild[] = {INT32_MIN, INT32_MIN + 1, -1, 0, 1, INT32_MAX - 1, INT32_MAX};
    return c->is_wild ? wild[test_random_below(7)] : (int32_t)test_random_below(7) - 3;
}

static void push(struct churn *c, size_t i)
{
    CHECK_STATUS(weiri_heap_reserve(&c->heap, test_allocator(), c->heap.count + 1), WEIR_OK);
    expected[i] = (struct expected){random_time(c), random_priority(c), c->heap.arrivals, true};
    weiri_heap_push(&c->heap, &items[i], expected[i].time_ns, expected[i].priority);
}

static void remove_item(struct churn *c, size_t i)
{
    weiri_heap_remove(&c->heap, &items[i]);
    expected[i].is_there = false;
    CHECK(c->heap.step != 0 || items[i].weir_wait == 0);
    if (weiri_is_sparse(c->heap.capacity, c->heap.count)) {
        weiri_heap_shrink(&c->heap, test_allocator(), c->heap.count);
    }
}

static void pop(struct churn *c)
{
    size_t first = first_expected(c);
    if (first == COUNT) {
        CHECK_INT(c->heap.count, ==, 0);
        return;
    }
    CHECK(c->heap.entries != NULL && c->heap.entries[0].item == &items[first]);
    remove_item(c, first);
}

static void change(struct churn *c, size_t i)
{
    if (test_random_below(2) == 0) {
        expected[i].time_ns = random_time(c);
        expected[i].arrival = c->heap.arrivals;
        weiri_heap_set_time(&c->heap, &items[i], expected[i].time_ns);
    } else {
        expected[i].priority = random_priority(c);
        weiri_heap_set_priority(&c->heap, &items[i], expected[i].priority);
    }
}

static void check_entries(const struct churn *c)
{
    size_t count = 0;
    for (size_t i = 0; i < COUNT; i++) {
        if (expected[i].is_there) {
            const struct weiri_heap_entry *entry = weiri_heap_entry(&c->heap, &items[i]);
            CHECK(entry->item == &items[i]);
            CHECK(entry->time_ns == expected[i].time_ns);
            CHECK_INT(entry->priority, ==, expected[i].priority);
            count++;
        }
    }
    CHECK_INT(c->heap.count, ==, count);
}

static void check_sorted(struct churn *c)
{
    weiri_heap_sort(&c->heap);
    check_entries(c);
    for (size_t i = 1; i < c->heap.count; i++) {
        CHECK(comes_before(c, &expected[c->heap.entries[i - 1].item - items],
                           &expected[c->heap.entries[i].item - items]));
    }
}

/* Any sequence of pushes, changes, removals, sorts and pops. */
static void churn(int64_t step, int64_t time_limit, bool is_wild)
{
    struct churn c = {.heap = {.step = step}, .time_limit = time_limit, .is_wild = is_wild};
    memset(items, 0, sizeof(items));
    memset(expected, 0, sizeof(expected));
    for (unsigned turn = 0; turn < 6000; turn++) {
        size_t i = (size_t)test_random_below(COUNT);
        uint64_t move = test_random_below(turn % 2000 < 1000 ? 8 : 5);
        if (move <= 1) {
            pop(&c);
        } else if (!expected[i].is_there) {
            push(&c, i);
        } else if (move == 2) {
            remove_item(&c, i);
        } else {
            change(&c, i);
        }
        if (turn % 100 == 0) {
            check_entries(&c);
        }
        if (turn % 500 == 0) {
            check_sorted(&c);
        }
    }
    while (c.heap.count > 0) {
        pop(&c);
    }
    weiri_heap_fini(&c.heap, test_allocator());
    CHECK_INT(c.heap.step, ==, step);
}

TEST(times, "the earliest time comes first, of equal ones the one that was pushed or set first")
{
    churn(0, 10, false);
    churn(0, WEIR_SECONDS(10), false);
    churn(0, 10, true);
}

TEST(priorities, "the most urgent comes first, of equals the first pushed, also after a change")
{
    churn(1, 1, false);
    churn(1, 1, true);
}

TEST(aging, "with aging the sum of both decides, at the ends of all ranges too")
{
    static const int64_t steps[] = {2, 100, WEIR_SECONDS(60), INT64_MAX};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        churn(steps[i], 1000, false);
        churn(steps[i], 1000, true);
    }
}

TEST(memory, "a failed reserve changes nothing, and after a burst the memory is small again")
{
    struct churn c = {.time_limit = 100};
    memset(expected, 0, sizeof(expected));
    for (size_t i = 0; i < WEIRI_CAPACITY_MIN; i++) {
        push(&c, i);
    }
    CHECK_INT(c.heap.capacity, ==, WEIRI_CAPACITY_MIN);
    test_fail_allocation(1, true);
    CHECK_STATUS(weiri_heap_reserve(&c.heap, test_allocator(), WEIRI_CAPACITY_MIN), WEIR_OK);
    CHECK_STATUS(weiri_heap_reserve(&c.heap, test_allocator(), WEIRI_CAPACITY_MIN + 1),
                 WEIR_ENOMEM);
    test_fail_allocation(0, false);
    CHECK_STATUS(weiri_heap_reserve(&c.heap, test_allocator(), SIZE_MAX), WEIR_ENOMEM);
    CHECK_STATUS(weiri_heap_reserve(&c.heap, test_allocator(), UINT32_MAX), WEIR_ENOMEM);
    check_sorted(&c);
    for (size_t i = WEIRI_CAPACITY_MIN; i < COUNT; i++) {
        push(&c, i);
    }
    size_t capacity = c.heap.capacity;
    while (c.heap.count > 2) {
        test_fail_allocation(c.heap.count > 100, true);
        pop(&c);
        test_fail_allocation(0, false);
        CHECK(c.heap.count <= 100 || c.heap.capacity == capacity);
    }
    check_sorted(&c);
    CHECK_INT(c.heap.capacity, ==, WEIRI_CAPACITY_MIN);
    CHECK_INT(test_allocated_bytes(), ==, c.heap.capacity * sizeof(struct weiri_heap_entry));
    weiri_heap_fini(&c.heap, test_allocator());
}

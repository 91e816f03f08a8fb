/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/asks.h"

#include "support/harness.h"

#define COUNT 600

static struct weir_item items[COUNT];
static int32_t expected[COUNT][2];

static void check(const struct weiri_asks *asks)
{
    size_t count = 0;
    for (size_t i = 0; i < COUNT; i++) {
        CHECK_INT(weiri_asks_get(asks, &items[i], WEIRI_ASK_DIRTY), ==, expected[i][0]);
        CHECK_INT(weiri_asks_get(asks, &items[i], WEIRI_ASK_WAITING), ==, expected[i][1]);
        count += expected[i][0] != 0 || expected[i][1] != 0;
    }
    CHECK_INT(asks->count, ==, count);
}

static void set(struct weiri_asks *asks, size_t i, enum weiri_ask_kind kind, int32_t priority)
{
    if (priority != 0) {
        CHECK_STATUS(weiri_asks_reserve(asks, test_allocator()), WEIR_OK);
    }
    weiri_asks_set(asks, test_allocator(), &items[i], kind, priority);
    expected[i][kind] = priority;
}

TEST(any_sequence, "what was asked last is found, across growth, shrinking and closed gaps")
{
    struct weiri_asks asks = {0};
    check(&asks);
    for (unsigned turn = 0; turn < 40000; turn++) {
        /* The share of items that have asks rises and falls. */
        size_t i = (size_t)test_random_below(COUNT);
        enum weiri_ask_kind kind = test_random_below(2) == 0 ? WEIRI_ASK_DIRTY : WEIRI_ASK_WAITING;
        if (test_random_below(20000) < turn % 20000) {
            CHECK_INT(weiri_asks_take(&asks, test_allocator(), &items[i], kind), ==,
                      expected[i][kind]);
            expected[i][kind] = 0;
        } else {
            set(&asks, i, kind, (int32_t)test_random_below(5) - 2);
        }
        if (turn % 500 == 0) {
            check(&asks);
        }
    }
    for (size_t i = 0; i < COUNT; i++) {
        set(&asks, i, WEIRI_ASK_DIRTY, 0);
        set(&asks, i, WEIRI_ASK_WAITING, 0);
    }
    check(&asks);
    CHECK_INT(test_allocated_bytes(), <=, 32 * sizeof(struct weiri_ask));
    weiri_asks_fini(&asks, test_allocator());
}

TEST(extremes, "every priority is kept as it is")
{
    struct weiri_asks asks = {0};
    set(&asks, 0, WEIRI_ASK_DIRTY, INT32_MIN);
    set(&asks, 0, WEIRI_ASK_WAITING, INT32_MAX);
    check(&asks);
    weiri_asks_fini(&asks, test_allocator());
}

TEST(nothing_asked, "an empty table without memory says 0, and takes 0")
{
    struct weiri_asks asks = {0};
    CHECK_INT(weiri_asks_take(&asks, test_allocator(), &items[0], WEIRI_ASK_DIRTY), ==, 0);
    weiri_asks_set(&asks, test_allocator(), &items[0], WEIRI_ASK_WAITING, 0);
    CHECK(asks.slots == NULL);
}

TEST(no_memory, "a failed reserve changes nothing; a failed shrink is no failure")
{
    struct weiri_asks asks = {0};
    test_fail_allocation(1, true);
    CHECK_STATUS(weiri_asks_reserve(&asks, test_allocator()), WEIR_ENOMEM);
    test_fail_allocation(0, false);
    size_t count = 0;
    for (; count < 12 || asks.count < asks.capacity / 4 * 3; count++) {
        set(&asks, count, WEIRI_ASK_WAITING, 1);
    }
    test_fail_allocation(1, true);
    CHECK_STATUS(weiri_asks_reserve(&asks, test_allocator()), WEIR_ENOMEM);
    check(&asks);
    for (size_t i = 0; i < count; i++) {
        weiri_asks_set(&asks, test_allocator(), &items[i], WEIRI_ASK_WAITING, 0);
        expected[i][WEIRI_ASK_WAITING] = 0;
        check(&asks);
    }
    test_fail_allocation(0, false);
    weiri_asks_fini(&asks, test_allocator());
}

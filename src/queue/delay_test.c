/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/delay.h"

#include <stdlib.h>

#include "support/harness.h"

#define COUNT 2000

static struct weir_item items[COUNT];

static void insert(struct weiri_delay *delay, struct weir_item *item, int64_t time_ns)
{
    CHECK_STATUS(weiri_delay_reserve(delay, test_allocator(), delay->count + 1), WEIR_OK);
    weiri_delay_insert(delay, item, time_ns);
}

/* Every node is later than its parent, and every item knows its index. */
static void check_heap(const struct weiri_delay *delay)
{
    for (size_t i = 0; i < delay->count; i++) {
        CHECK_INT(delay->entries[i].item->weir_wait, ==, i + 1);
        if (i > 0) {
            CHECK_INT(delay->entries[(i - 1) / 4].time_ns, <=, delay->entries[i].time_ns);
        }
    }
}

TEST(order, "items come out in order of time, those of equal times in order of arrival")
{
    struct weiri_delay delay = {0};
    static int64_t times[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        times[i] = (int64_t)test_random_below(50);
        insert(&delay, &items[i], times[i]);
    }
    check_heap(&delay);
    int64_t last_time = -1;
    const struct weir_item *last = NULL;
    for (size_t i = 0; i < COUNT; i++) {
        const struct weir_item *item = weiri_delay_pop_due(&delay, INT64_MAX);
        CHECK(item != NULL);
        int64_t time = times[item - items];
        CHECK_INT(time, >=, last_time);
        CHECK(time > last_time || item > last);
        last_time = time;
        last = item;
    }
    CHECK(weiri_delay_pop_due(&delay, INT64_MAX) == NULL);
    weiri_delay_fini(&delay, test_allocator());
}

TEST(never_early, "an item is due at its time and not one nanosecond before")
{
    struct weiri_delay delay = {0};
    insert(&delay, &items[0], 100);
    CHECK_INT(weiri_delay_next(&delay), ==, 100);
    CHECK(weiri_delay_pop_due(&delay, 99) == NULL);
    CHECK(weiri_delay_pop_due(&delay, 100) == &items[0]);
    CHECK_INT(items[0].weir_wait, ==, 0);
    CHECK_INT(weiri_delay_next(&delay), ==, INT64_MAX);
    weiri_delay_fini(&delay, test_allocator());
}

TEST(random_changes, "inserts, moves and removals in any order keep the heap a heap")
{
    struct weiri_delay delay = {0};
    static int64_t times[COUNT]; /* 0: not waiting */
    for (uint64_t step = 0; step < test_scaled(200000); step++) {
        size_t i = (size_t)test_random_below(COUNT);
        int64_t time = 1 + (int64_t)test_random_below(1000);
        if (items[i].weir_wait == 0) {
            insert(&delay, &items[i], time);
            times[i] = time;
        } else if (test_random_below(2) == 0) {
            weiri_delay_move(&delay, &items[i], time);
            times[i] = time;
        } else {
            weiri_delay_remove(&delay, &items[i]);
            times[i] = 0;
        }
        if (times[i] != 0) {
            CHECK_INT(weiri_delay_time(&delay, &items[i]), ==, times[i]);
        }
        if (step % 1000 == 0) {
            check_heap(&delay);
        }
    }
    int64_t last = 0;
    for (struct weir_item *item = weiri_delay_pop_due(&delay, INT64_MAX); item != NULL;
         item = weiri_delay_pop_due(&delay, INT64_MAX)) {
        CHECK_INT(times[item - items], >=, last);
        last = times[item - items];
    }
    weiri_delay_fini(&delay, test_allocator());
}

TEST(memory, "a failed reserve changes nothing, and trimming gives memory back")
{
    struct weiri_delay delay = {0};
    for (size_t i = 0; i < 1024; i++) {
        insert(&delay, &items[i], (int64_t)i);
    }
    CHECK_STATUS(weiri_delay_reserve(&delay, test_allocator(), UINT32_MAX), WEIR_ENOMEM);
    test_fail_allocation(1, true);
    CHECK_STATUS(weiri_delay_reserve(&delay, test_allocator(), 1025), WEIR_ENOMEM);
    test_fail_allocation(0, false);
    check_heap(&delay);
    for (int64_t i = 0; i < 1020; i++) {
        CHECK(weiri_delay_pop_due(&delay, i) == &items[i]);
    }
    test_fail_allocation(1, true);
    weiri_delay_trim(&delay, test_allocator());
    test_fail_allocation(0, false);
    CHECK_INT(delay.capacity, ==, 1024);
    weiri_delay_trim(&delay, test_allocator());
    CHECK_INT(delay.capacity, ==, 16);
    check_heap(&delay);
    weiri_delay_fini(&delay, test_allocator());
}

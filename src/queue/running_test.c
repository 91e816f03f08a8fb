/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/running.h"

#include "support/harness.h"

#define COUNT 1000

static struct weir_item items[COUNT];

static void insert(struct weiri_running *running, struct weir_item *item)
{
    weiri_running_insert(running, test_allocator(), item);
}

static void remove_item(struct weiri_running *running, struct weir_item *item)
{
    weiri_running_remove(running, test_allocator(), item);
}

TEST(any_order, "items leave in any order, and each that is left knows its index")
{
    struct weiri_running running = {0};
    for (size_t i = 0; i < COUNT; i++) {
        insert(&running, &items[i]);
    }
    for (size_t i = 0; i < COUNT; i++) {
        remove_item(&running, &items[(i * 389) % COUNT]);
        for (size_t j = 0; j < running.named; j++) {
            CHECK_INT(running.items[j]->weir_running, ==, j);
        }
        CHECK_INT(weiri_running_count(&running), ==, COUNT - 1 - i);
    }
    CHECK_INT(running.capacity, <=, 4 * WEIRI_RUNNING_CAPACITY_MIN);
    weiri_running_fini(&running, test_allocator());
}

TEST(memory, "without memory items are counted, and named again when there is some")
{
    struct weiri_running running = {0};
    test_fail_allocation(1, true);
    insert(&running, &items[0]);
    CHECK_INT(running.named, ==, 0);
    CHECK_INT(weiri_running_count(&running), ==, 1);
    test_fail_allocation(0, false);
    for (size_t i = 1; i <= 128; i++) {
        insert(&running, &items[i]);
    }
    CHECK_INT(running.named, ==, 128);
    test_fail_allocation(1, true);
    insert(&running, &items[129]);
    CHECK_INT(weiri_running_count(&running), ==, 130);
    for (size_t i = 0; i <= 129; i++) {
        remove_item(&running, &items[i]);
    }
    test_fail_allocation(0, false);
    CHECK_INT(weiri_running_count(&running), ==, 0);
    CHECK_INT(running.capacity, ==, 128);
    weiri_running_fini(&running, test_allocator());
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/ring.h"

#include "support/harness.h"

#define COUNT 1000

static struct weir_item items[COUNT];

static void fill(struct weiri_ring *ring, size_t count)
{
    CHECK_STATUS(weiri_ring_reserve(ring, test_allocator(), count), WEIR_OK);
    for (size_t i = 0; i < count; i++) {
        weiri_ring_push(ring, &items[i]);
    }
}

TEST(fifo, "items come out in the order they went in, across growth and the array's end")
{
    struct weiri_ring ring = {0};
    for (size_t round = 1; round <= COUNT; round += 37) {
        fill(&ring, round);
        CHECK_INT(weiri_ring_count(&ring), ==, round);
        for (size_t i = 0; i < round; i++) {
            CHECK(weiri_ring_pop(&ring) == &items[i]);
        }
        CHECK(weiri_ring_pop(&ring) == NULL);
    }
    weiri_ring_fini(&ring, test_allocator());
}

/* So many fill the smallest array. */
#define FULL ((size_t)WEIRI_RING_CAPACITY_MIN)

TEST(holes, "an item taken out of the middle is skipped, and its room is found again")
{
    struct weiri_ring ring = {0};
    fill(&ring, FULL);
    CHECK_INT(ring.capacity, ==, FULL);
    for (size_t i = 1; i < FULL; i += 2) {
        weiri_ring_remove(&ring, &items[i]);
    }
    CHECK_INT(weiri_ring_count(&ring), ==, FULL / 2);
    for (size_t i = 0; i < FULL / 2; i++) {
        weiri_ring_push(&ring, &items[FULL + i]); /* closes the holes: the array is full of them */
    }
    CHECK_INT(ring.capacity, ==, FULL);
    for (size_t i = 0; i < FULL; i += 2) {
        CHECK(weiri_ring_pop(&ring) == &items[i]);
    }
    for (size_t i = 0; i < FULL / 2; i++) {
        CHECK(weiri_ring_pop(&ring) == &items[FULL + i]);
    }
    CHECK(weiri_ring_pop(&ring) == NULL);
    weiri_ring_fini(&ring, test_allocator());
}

TEST(growth_keeps_positions, "an item can be taken out after the array has grown or shrunk")
{
    struct weiri_ring ring = {0};
    fill(&ring, 10);
    CHECK(weiri_ring_pop(&ring) == &items[0]);
    CHECK_STATUS(weiri_ring_reserve(&ring, test_allocator(), COUNT), WEIR_OK);
    weiri_ring_remove(&ring, &items[5]);
    weiri_ring_trim(&ring, test_allocator(), weiri_ring_count(&ring));
    CHECK_INT(ring.capacity, <, COUNT);
    weiri_ring_remove(&ring, &items[7]);
    CHECK_INT(weiri_ring_count(&ring), ==, 7);
    CHECK(weiri_ring_pop(&ring) == &items[1]);
    weiri_ring_fini(&ring, test_allocator());
}

TEST(trim_returns_memory, "after a burst the array is small again")
{
    struct weiri_ring ring = {0};
    fill(&ring, COUNT);
    while (weiri_ring_pop(&ring) != NULL) {
    }
    weiri_ring_trim(&ring, test_allocator(), 0);
    CHECK_INT(test_allocated_bytes(), <=, FULL * sizeof(void *));
    weiri_ring_fini(&ring, test_allocator());
}

TEST(reserve_failure, "a failed reserve and a failed trim change nothing")
{
    struct weiri_ring ring = {0};
    fill(&ring, FULL);
    test_fail_allocation(1, true);
    CHECK_STATUS(weiri_ring_reserve(&ring, test_allocator(), FULL + 1), WEIR_ENOMEM);
    CHECK_STATUS(weiri_ring_reserve(&ring, test_allocator(), SIZE_MAX), WEIR_ENOMEM);
    test_fail_allocation(0, false);
    CHECK_STATUS(weiri_ring_reserve(&ring, test_allocator(), COUNT), WEIR_OK);
    test_fail_allocation(1, true);
    weiri_ring_trim(&ring, test_allocator(), 0);
    test_fail_allocation(0, false);
    for (size_t i = 0; i < FULL; i++) {
        CHECK(weiri_ring_pop(&ring) == &items[i]);
    }
    weiri_ring_fini(&ring, test_allocator());
}

TEST(comes_and_goes, "an item that is pushed and taken out again and again costs no room")
{
    struct weiri_ring ring = {0};
    fill(&ring, FULL - 1);
    for (size_t i = 0; i < 4 * FULL; i++) {
        uint64_t tail = ring.tail;
        weiri_ring_push(&ring, &items[FULL]);
        weiri_ring_remove(&ring, &items[FULL]);
        CHECK_INT(ring.tail, ==, tail);
    }
    for (size_t i = 0; i < FULL - 1; i++) {
        CHECK(weiri_ring_pop(&ring) == &items[i]);
    }
    weiri_ring_fini(&ring, test_allocator());
}

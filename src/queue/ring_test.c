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

TEST(front,
     "an item that is pushed to the front comes next, also where only a hole has room for it")
{
    struct weiri_ring ring = {0};
    fill(&ring, FULL);
    CHECK(weiri_ring_pop(&ring) == &items[0]);
    weiri_ring_push_front(&ring, &items[FULL]); /* where the other one was */
    weiri_ring_remove(&ring, &items[5]);
    weiri_ring_push_front(&ring, &items[FULL + 1]); /* closes the hole */
    CHECK_INT(ring.capacity, ==, FULL);
    CHECK_INT(weiri_ring_count(&ring), ==, FULL);
    weiri_ring_remove(&ring, &items[7]); /* all know where they are */
    CHECK(weiri_ring_pop(&ring) == &items[FULL + 1]);
    CHECK(weiri_ring_pop(&ring) == &items[FULL]);
    for (size_t i = 1; i < FULL; i++) {
        if (i != 5 && i != 7) {
            CHECK(weiri_ring_pop(&ring) == &items[i]);
        }
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

TEST(growth_leaves_items, "growth by any factor touches no item, and holes stay holes")
{
    for (size_t popped = 0; popped < 2 * FULL; popped += 5) {
        for (size_t capacity = 2 * FULL; capacity <= 8 * FULL; capacity *= 2) {
            struct weiri_ring ring = {0};
            fill(&ring, FULL);
            for (size_t i = 0; i < popped; i++) {
                struct weir_item *first = weiri_ring_pop(&ring);
                weiri_ring_push(&ring, first);
            }
            weiri_ring_remove(&ring, &items[7]);
            uint64_t positions[FULL];
            for (size_t i = 0; i < FULL; i++) {
                positions[i] = items[i].weir_position;
            }
            CHECK_STATUS(weiri_ring_reserve(&ring, test_allocator(), capacity), WEIR_OK);
            CHECK_INT(ring.capacity, ==, capacity);
            for (size_t i = 0; i < FULL; i++) {
                CHECK_INT(items[i].weir_position, ==, positions[i]);
                CHECK(i == 7 || ring.slots[positions[i] & (capacity - 1)] == &items[i]);
            }
            for (size_t i = 0; i < FULL; i++) {
                size_t next = (popped + i) % FULL;
                CHECK(next == 7 || weiri_ring_pop(&ring) == &items[next]);
            }
            CHECK(weiri_ring_pop(&ring) == NULL);
            weiri_ring_fini(&ring, test_allocator());
        }
    }
}

/* A naive ring: the items in order. */
struct line {
    struct weir_item *items[COUNT];
    size_t count;
};

static void take_out(struct line *line, size_t at)
{
    line->count--;
    memmove(&line->items[at], &line->items[at + 1],
            (line->count - at) * sizeof(struct weir_item *));
}

static void put_in(struct line *line, size_t at, struct weir_item *item)
{
    memmove(&line->items[at + 1], &line->items[at],
            (line->count - at) * sizeof(struct weir_item *));
    line->items[at] = item;
    line->count++;
}

/* An item that is not in line; there is one. */
static struct weir_item *find_free(const struct line *line)
{
    for (;;) {
        struct weir_item *item = &items[test_random_below(COUNT)];
        size_t at = 0;
        while (at < line->count && line->items[at] != item) {
            at++;
        }
        if (at == line->count) {
            return item;
        }
    }
}

static void check_line(const struct weiri_ring *ring, const struct line *line)
{
    uint64_t position = ring->head;
    for (size_t i = 0; i < line->count; i++) {
        CHECK(weiri_ring_from(ring, &position) == line->items[i]);
        CHECK_INT(line->items[i]->weir_position, ==, position - 1);
    }
    CHECK(weiri_ring_from(ring, &position) == NULL);
    CHECK_INT(weiri_ring_count(ring), ==, line->count);
}

TEST(as_a_line, "random moves do what they do to a plain line, also where memory fails")
{
    struct weiri_ring ring = {0};
    static struct line line;
    line.count = 0;
    bool rises = true;
    for (uint64_t step = 0; step < test_scaled(60000); step++) {
        rises = line.count == 0 || (line.count < COUNT / 2 && (step % 500 != 0 ? rises : !rises));
        uint64_t move = test_random_below(10);
        test_fail_allocation(test_random_below(4) == 0, true);
        if (move < (rises ? 7u : 4u)) {
            if (weiri_ring_reserve(&ring, test_allocator(), line.count + 1) == WEIR_OK) {
                struct weir_item *item = find_free(&line);
                if (move == 0) {
                    weiri_ring_push_front(&ring, item);
                    put_in(&line, 0, item);
                } else {
                    weiri_ring_push(&ring, item);
                    put_in(&line, line.count, item);
                }
            }
        } else if (move == 9 && line.count > 0) {
            size_t at = (size_t)test_random_below(line.count);
            weiri_ring_remove(&ring, line.items[at]);
            take_out(&line, at);
        } else if (line.count > 0) {
            CHECK(weiri_ring_pop(&ring) == line.items[0]);
            take_out(&line, 0);
        }
        weiri_ring_trim(&ring, test_allocator(), line.count);
        test_fail_allocation(0, false);
        check_line(&ring, &line);
    }
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

TEST(trim_closes_holes, "few items that are far apart come together where memory is given back")
{
    struct weiri_ring ring = {0};
    for (uint64_t fails = 0; fails < 2; fails++) {
        fill(&ring, COUNT);
        for (size_t i = 2; i < COUNT - 2; i++) {
            weiri_ring_remove(&ring, &items[i]);
        }
        size_t before = ring.capacity;
        test_fail_allocation(fails, true);
        weiri_ring_trim(&ring, test_allocator(), weiri_ring_count(&ring));
        test_fail_allocation(0, false);
        CHECK_INT(ring.capacity, ==, fails == 1 ? before : FULL);
        weiri_ring_remove(&ring, &items[COUNT - 2]); /* it knows where it is */
        weiri_ring_push(&ring, &items[2]);
        CHECK_INT(weiri_ring_count(&ring), ==, 4);
        CHECK(weiri_ring_pop(&ring) == &items[0]);
        CHECK(weiri_ring_pop(&ring) == &items[1]);
        CHECK(weiri_ring_pop(&ring) == &items[COUNT - 1]);
        CHECK(weiri_ring_pop(&ring) == &items[2]);
        CHECK(weiri_ring_pop(&ring) == NULL);
    }
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

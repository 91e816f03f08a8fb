/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/ring.h"

#include "support/harness.h"

#define COUNT 1000
#define FULL WEIRI_CAPACITY_MIN /* so many fill the smallest ring */

static struct weir_item items[COUNT];

static void push(struct weiri_ring *ring, struct weir_item *item)
{
    CHECK_INT(ring->count, <, ring->capacity);
    weiri_ring_push(ring, test_allocator(), item);
}

static void fill(struct weiri_ring *ring, size_t count)
{
    CHECK_STATUS(weiri_ring_reserve(ring, test_allocator(), count), WEIR_OK);
    for (size_t i = 0; i < count; i++) {
        push(ring, &items[i]);
    }
}

/* The item at the head, taken out; NULL: there is none. */
static struct weir_item *pop(struct weiri_ring *ring)
{
    struct weir_item *item = weiri_ring_first(ring);
    if (item != NULL) {
        CHECK(weiri_ring_first(ring) == item);
        weiri_ring_remove(ring, item);
    }
    return item;
}

/* A queue after an item has left it. */
static void shrink(struct weiri_ring *ring)
{
    if (weiri_is_sparse(ring->capacity, ring->count)) {
        weiri_ring_shrink(ring, test_allocator(), ring->count);
    }
}

TEST(fifo, "items come out in the order they went in, across growth and the ring's end")
{
    struct weiri_ring ring = {0};
    CHECK(weiri_ring_first(&ring) == NULL);
    for (size_t round = 1; round <= COUNT; round += 37) {
        fill(&ring, round);
        CHECK_INT(ring.count, ==, round);
        for (size_t i = 0; i < round; i++) {
            CHECK(pop(&ring) == &items[i]);
        }
        CHECK(pop(&ring) == NULL);
    }
    weiri_ring_fini(&ring, test_allocator());
}

TEST(behind, "an item is found by its distance from the head, and no slot beyond the tail is read")
{
    struct weiri_ring ring = {0};
    CHECK(weiri_ring_behind(&ring, 0) == NULL);
    fill(&ring, 5);
    weiri_ring_remove(&ring, &items[2]);
    CHECK(weiri_ring_behind(&ring, 0) == &items[0]);
    CHECK(weiri_ring_behind(&ring, 2) == NULL);
    CHECK(weiri_ring_behind(&ring, 4) == &items[4]);
    CHECK(weiri_ring_behind(&ring, 5) == NULL);
    (void)pop(&ring);
    CHECK(weiri_ring_behind(&ring, 3) == &items[4]);
    CHECK(weiri_ring_behind(&ring, 4) == NULL);
    weiri_ring_fini(&ring, test_allocator());
}

TEST(empty_slots, "an item taken out of the middle is skipped, and its slot is used again")
{
    struct weiri_ring ring = {0};
    fill(&ring, FULL);
    CHECK_INT(ring.capacity, ==, FULL);
    for (size_t i = 1; i < FULL; i += 2) {
        weiri_ring_remove(&ring, &items[i]);
    }
    CHECK_INT(ring.count, ==, FULL / 2);
    for (size_t i = 0; i < FULL / 2; i++) {
        push(&ring, &items[FULL + i]);
    }
    CHECK_INT(ring.capacity, ==, FULL);
    for (size_t i = 0; i < FULL; i += 2) {
        CHECK(pop(&ring) == &items[i]);
    }
    for (size_t i = 0; i < FULL / 2; i++) {
        CHECK(pop(&ring) == &items[FULL + i]);
    }
    CHECK(pop(&ring) == NULL);
    weiri_ring_fini(&ring, test_allocator());
}

TEST(few_empty_slots, "a ring with few empty slots doubles, or closes them where memory lacks")
{
    for (uint64_t fails = 0; fails < 2; fails++) {
        struct weiri_ring ring = {0};
        fill(&ring, FULL);
        weiri_ring_remove(&ring, &items[5]);
        test_fail_allocation(fails, true);
        push(&ring, &items[FULL]);
        test_fail_allocation(0, false);
        CHECK_INT(ring.capacity, ==, fails == 1 ? FULL : 2 * FULL);
        weiri_ring_remove(&ring, &items[7]); /* all know their positions */
        for (size_t i = 0; i <= FULL; i++) {
            CHECK(i == 5 || i == 7 || pop(&ring) == &items[i]);
        }
        CHECK(pop(&ring) == NULL);
        weiri_ring_fini(&ring, test_allocator());
    }
}

TEST(growth_leaves_items, "growth changes no position, and empty slots stay empty")
{
    for (size_t popped = 0; popped < 2 * FULL; popped += 5) {
        for (size_t capacity = 2 * FULL; capacity <= 8 * FULL; capacity *= 2) {
            struct weiri_ring ring = {0};
            fill(&ring, FULL);
            for (size_t i = 0; i < popped; i++) {
                push(&ring, pop(&ring));
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
            }
            for (size_t i = 0; i < FULL; i++) {
                size_t next = (popped + i) % FULL;
                CHECK(next == 7 || pop(&ring) == &items[next]);
            }
            CHECK(pop(&ring) == NULL);
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
        CHECK(weiri_ring_next(ring, &position) == line->items[i]);
        CHECK_INT(line->items[i]->weir_position, ==, position - 1);
    }
    CHECK(weiri_ring_next(ring, &position) == NULL);
    CHECK_INT(ring->count, ==, line->count);
}

TEST(as_a_line, "random moves do what they do to a plain line, also where memory lacks")
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
                push(&ring, item);
                line.items[line.count++] = item;
            }
        } else if (move == 9 && line.count > 0) {
            size_t at = (size_t)test_random_below(line.count);
            weiri_ring_remove(&ring, line.items[at]);
            take_out(&line, at);
        } else if (line.count > 0) {
            CHECK(pop(&ring) == line.items[0]);
            take_out(&line, 0);
        }
        shrink(&ring);
        test_fail_allocation(0, false);
        check_line(&ring, &line);
    }
    weiri_ring_fini(&ring, test_allocator());
}

TEST(shrink_returns_memory, "after a burst the ring is small again")
{
    struct weiri_ring ring = {0};
    fill(&ring, COUNT);
    while (pop(&ring) != NULL) {
    }
    shrink(&ring);
    CHECK_INT(test_allocated_bytes(), <=, FULL * sizeof(void *));
    weiri_ring_fini(&ring, test_allocator());
}

TEST(shrink_closes_slots, "few items that are far apart come together where the ring shrinks")
{
    for (uint64_t fails = 0; fails < 2; fails++) {
        struct weiri_ring ring = {0};
        fill(&ring, COUNT);
        for (size_t i = 2; i < COUNT - 2; i++) {
            weiri_ring_remove(&ring, &items[i]);
        }
        size_t before = ring.capacity;
        test_fail_allocation(fails, true);
        shrink(&ring);
        test_fail_allocation(0, false);
        CHECK_INT(ring.capacity, ==, fails == 1 ? before : 2 * FULL);
        weiri_ring_remove(&ring, &items[COUNT - 2]); /* it knows its position */
        push(&ring, &items[2]);
        CHECK_INT(ring.count, ==, 4);
        CHECK(pop(&ring) == &items[0]);
        CHECK(pop(&ring) == &items[1]);
        CHECK(pop(&ring) == &items[COUNT - 1]);
        CHECK(pop(&ring) == &items[2]);
        CHECK(pop(&ring) == NULL);
        weiri_ring_fini(&ring, test_allocator());
    }
}

TEST(reserve_failure, "a failed reserve changes nothing")
{
    struct weiri_ring ring = {0};
    fill(&ring, FULL);
    test_fail_allocation(1, true);
    CHECK_STATUS(weiri_ring_reserve(&ring, test_allocator(), FULL), WEIR_OK);
    CHECK_STATUS(weiri_ring_reserve(&ring, test_allocator(), FULL + 1), WEIR_ENOMEM);
    CHECK_STATUS(weiri_ring_reserve(&ring, test_allocator(), SIZE_MAX), WEIR_ENOMEM);
    test_fail_allocation(0, false);
    CHECK_STATUS(weiri_ring_reserve(&ring, test_allocator(), SIZE_MAX / 4), WEIR_ENOMEM);
    CHECK_INT(ring.capacity, ==, FULL);
    for (size_t i = 0; i < FULL; i++) {
        CHECK(pop(&ring) == &items[i]);
    }
    weiri_ring_fini(&ring, test_allocator());
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/blocks.h"

#include "support/harness.h"

/* Sixteen of them fit into a block, and a rest is left. */
#define PART ((size_t)123376)
#define PARTS (WEIRI_BLOCK_SIZE / PART)
#define NUMBERS (12 * PARTS)

static struct weiri_blocks blocks;
static unsigned char *parts[NUMBERS];

static void mark(size_t number)
{
    memset(parts[number], (int)(number % 251), 100);
    memset(parts[number] + PART - 100, (int)(number % 251), 100);
}

static void check_mark(size_t number)
{
    for (size_t at = 0; at < 100; at++) {
        CHECK_INT(parts[number][at], ==, number % 251);
        CHECK_INT(parts[number][PART - 100 + at], ==, number % 251);
    }
}

static void *take(size_t number)
{
    CHECK(parts[number] == NULL);
    parts[number] = weiri_blocks_take(&blocks, test_allocator(), PART, number);
    if (parts[number] != NULL) {
        CHECK_INT((uintptr_t)parts[number] % 16, ==, 0);
        mark(number);
    }
    return parts[number];
}

static void give_back(size_t number)
{
    check_mark(number);
    weiri_blocks_give_back(&blocks, test_allocator(), PART, number, parts[number]);
    parts[number] = NULL;
}

TEST(few, "as many parts as fit into a block take no more than they are")
{
    for (size_t i = 0; i < PARTS; i++) {
        CHECK(take(i) != NULL);
        CHECK_INT(test_allocated_bytes(), ==, (i + 1) * PART);
    }
    for (size_t i = 0; i < PARTS; i++) {
        give_back(i);
    }
    CHECK_INT(test_allocated_blocks(), ==, 0);
}

TEST(many, "the others share blocks, which go with their last part, and at last all is as it was")
{
    for (size_t i = 0; i < NUMBERS; i++) {
        CHECK(take(i) != NULL);
    }
    const size_t array = 16 * sizeof(struct weiri_block);
    CHECK_INT(test_allocated_bytes(), ==, PARTS * PART + 11 * WEIRI_BLOCK_SIZE + array);
    /* One part of a block in the middle stays; and another block is kept in reserve. */
    const size_t stays = 5 * PARTS + 3;
    for (size_t i = PARTS; i < NUMBERS; i++) {
        if (i != stays) {
            give_back(i);
        }
    }
    CHECK_INT(test_allocated_blocks(), ==, PARTS + 3);
    check_mark(stays);
    CHECK(take(stays + 1) != NULL);
    CHECK_INT(test_allocated_blocks(), ==, PARTS + 3);
    give_back(stays);
    give_back(stays + 1);
    CHECK_INT(test_allocated_blocks(), ==, PARTS + 2);
    for (size_t i = 0; i < PARTS; i++) {
        give_back(i);
    }
    CHECK_INT(test_allocated_blocks(), ==, 0);
}

TEST(border, "a part that comes and goes at a block's border takes no memory each time")
{
    for (size_t border = PARTS; border < 4 * PARTS; border += PARTS) {
        for (size_t i = 0; i < border; i++) {
            CHECK(take(i) != NULL);
        }
        CHECK(take(border) != NULL);
        give_back(border);
        for (int turn = 0; turn < 3; turn++) {
            test_fail_allocation(1, true);
            CHECK(take(border) != NULL);
            test_fail_allocation(0, false);
            give_back(border);
        }
        /* The reserve goes when hardly anything is left. */
        for (size_t i = 0; i < border; i++) {
            give_back(i);
            CHECK((blocks.reserve != 0) == (border - i - 1 >= PARTS / 2));
        }
        CHECK_INT(test_allocated_blocks(), ==, 0);
    }
}

TEST(any_order, "parts keep their bytes while others come and go, also where memory fails")
{
    for (uint64_t step = 0; step < test_scaled(3000); step++) {
        size_t number = (size_t)test_random_below(test_random_below(2) == 0 ? NUMBERS : 2 * PARTS);
        if (parts[number] != NULL) {
            test_fail_allocation(test_random_below(2), true);
            give_back(number);
        } else {
            size_t bytes = test_allocated_bytes();
            size_t count = blocks.count;
            size_t nth = (size_t)test_random_below(4);
            test_fail_allocation(nth, false);
            if (take(number) == NULL) {
                CHECK_INT(nth, >, 0);
                CHECK_INT(blocks.count, ==, count);
                CHECK_INT(test_allocated_bytes(), <=, bytes + 16 * sizeof(struct weiri_block));
            }
        }
        test_fail_allocation(0, false);
    }
    for (size_t i = 0; i < NUMBERS; i++) {
        if (parts[i] != NULL) {
            give_back(i);
        }
    }
    CHECK_INT(blocks.count, ==, 0);
    CHECK_INT(test_allocated_blocks(), ==, 0);
}

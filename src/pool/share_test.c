/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/share.h"

#include "support/harness.h"

TEST(takes_in_order, "the owner takes its chunks in order, each once")
{
    struct weiri_share share = {.range = 0};
    uint32_t chunk = 77;
    CHECK(!weiri_share_take(&share, &chunk));
    CHECK_INT(chunk, ==, 77);
    weiri_share_put(&share, 3, 6);
    for (uint32_t expected = 3; expected < 6; expected++) {
        CHECK_INT(weiri_share_left(&share), ==, 6 - expected);
        CHECK(weiri_share_take(&share, &chunk));
        CHECK_INT(chunk, ==, expected);
    }
    CHECK_INT(weiri_share_left(&share), ==, 0);
    CHECK(!weiri_share_take(&share, &chunk));
}

TEST(steals_half, "a thief gets the later half, rounded up: one in hand, the others in its share")
{
    static const struct {
        uint32_t left, kept, stolen; /* stolen: besides the one in hand */
    } cases[] = {{1, 0, 0}, {2, 1, 0}, {3, 1, 1}, {4, 2, 1}, {9, 4, 4}, {10, 5, 4}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct weiri_share from = {.range = 0};
        struct weiri_share own = {.range = 0};
        weiri_share_put(&from, 100, 100 + cases[i].left);
        uint32_t chunk = 0;
        CHECK(weiri_share_steal(&from, &own, &chunk));
        CHECK_INT(weiri_share_left(&from), ==, cases[i].kept);
        CHECK_INT(weiri_share_left(&own), ==, cases[i].stolen);
        CHECK_INT(chunk, ==, 100 + cases[i].kept);
        for (uint32_t expected = chunk + 1; expected < 100 + cases[i].left; expected++) {
            CHECK(weiri_share_take(&own, &chunk));
            CHECK_INT(chunk, ==, expected);
        }
    }
    struct weiri_share empty = {.range = 0};
    struct weiri_share own = {.range = 0};
    uint32_t chunk = 77;
    CHECK(!weiri_share_steal(&empty, &own, &chunk));
    CHECK_INT(chunk, ==, 77);
}

TEST(largest, "the largest numbers do not run over")
{
    struct weiri_share share = {.range = 0};
    struct weiri_share own = {.range = 0};
    uint32_t chunk = 0;
    weiri_share_put(&share, 0, WEIRI_SHARE_CHUNKS_MAX);
    CHECK_INT(weiri_share_left(&share), ==, WEIRI_SHARE_CHUNKS_MAX);
    CHECK(weiri_share_steal(&share, &own, &chunk));
    CHECK_INT(chunk, ==, WEIRI_SHARE_CHUNKS_MAX / 2);
    CHECK_INT(weiri_share_left(&own), ==, WEIRI_SHARE_CHUNKS_MAX / 2);
    weiri_share_put(&share, WEIRI_SHARE_CHUNKS_MAX - 1, WEIRI_SHARE_CHUNKS_MAX);
    CHECK(weiri_share_take(&share, &chunk));
    CHECK_INT(chunk, ==, WEIRI_SHARE_CHUNKS_MAX - 1);
    CHECK(!weiri_share_take(&share, &chunk));
}

#define CHUNKS 30000
#define THIEVES 3

static struct weiri_share shares[THIEVES];
static _Atomic unsigned char taken[CHUNKS];
static atomic_uint count;

/* Takes from the own share, else from whoever has something, until everything was taken. */
static void take_all(void *arg)
{
    size_t self = *(const size_t *)arg;
    while (atomic_load(&count) < CHUNKS) {
        uint32_t chunk;
        bool has_one = weiri_share_take(&shares[self], &chunk);
        for (size_t i = 1; i < THIEVES && !has_one; i++) {
            has_one = weiri_share_steal(&shares[(self + i) % THIEVES], &shares[self], &chunk);
        }
        if (has_one) {
            CHECK_INT(atomic_fetch_add(&taken[chunk], 1), ==, 0);
            atomic_fetch_add(&count, 1);
        }
    }
}

TEST(each_once, "threads that take and steal at once take each chunk once")
{
    weiri_share_put(&shares[0], 0, CHUNKS);
    size_t numbers[THIEVES];
    struct test_thread *threads[THIEVES];
    for (size_t i = 0; i < THIEVES; i++) {
        numbers[i] = i;
        threads[i] = test_start(take_all, &numbers[i]);
    }
    for (size_t i = 0; i < THIEVES; i++) {
        test_join(threads[i]);
    }
    CHECK_INT(atomic_load(&count), ==, CHUNKS);
    for (size_t i = 0; i < THIEVES; i++) {
        CHECK_INT(weiri_share_left(&shares[i]), ==, 0);
    }
}

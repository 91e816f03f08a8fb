/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "support/harness.h"

#define SIZE_MAX_TESTED 80

static void fill_random(unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (unsigned char)test_random();
    }
}

TEST(exact_bytes, "every size reads its own bytes only, wherever they lie")
{
    for (size_t size = 0; size <= SIZE_MAX_TESTED; size++) {
        uint64_t seed = test_random();
        unsigned char around[SIZE_MAX_TESTED + 16];
        fill_random(around, sizeof(around));
        /* A block of exactly this size, for the sanitizers to watch. */
        unsigned char *exact = malloc(size + (size == 0));
        CHECK(exact != NULL);
        memcpy(exact, around + 3, size);
        uint64_t hash = weiri_hash(exact, size, seed);
        CHECK(weiri_hash(around + 3, size, seed) == hash);
        around[2] ^= 0xff;
        around[3 + size] ^= 0xff;
        CHECK(weiri_hash(around + 3, size, seed) == hash);
        free(exact);
    }
    CHECK(weiri_hash(NULL, 0, 1) == weiri_hash("", 0, 1));
}

TEST(sizes_count, "keys of the same bytes and different sizes have different hashes")
{
    static const unsigned char zeros[SIZE_MAX_TESTED];
    uint64_t hashes[SIZE_MAX_TESTED + 1];
    uint64_t seed = test_random();
    for (size_t size = 0; size <= SIZE_MAX_TESTED; size++) {
        hashes[size] = weiri_hash(zeros, size, seed);
        for (size_t other = 0; other < size; other++) {
            CHECK(hashes[size] != hashes[other]);
        }
    }
}

TEST(seeds_count, "another seed gives another order of the same keys")
{
    unsigned same_order = 0;
    for (int i = 0; i < 1000; i++) {
        char a[16];
        char b[16];
        (void)snprintf(a, sizeof(a), "key-%d", i);
        (void)snprintf(b, sizeof(b), "key-%d", i + 1);
        bool first = weiri_hash(a, strlen(a), 1) < weiri_hash(b, strlen(b), 1);
        bool second = weiri_hash(a, strlen(a), 2) < weiri_hash(b, strlen(b), 2);
        same_order += first == second;
    }
    /* 500 expected, standard deviation about 16. */
    CHECK_INT(same_order, >, 400);
    CHECK_INT(same_order, <, 600);
}

TEST(avalanche, "each bit of a key changes each bit of the hash about half of the time")
{
    enum {
        KEYS = 512
    };
    for (size_t size = 1; size <= 40; size++) {
        for (size_t bit = 0; bit < size * 8; bit++) {
            unsigned changed[64] = {0};
            for (int i = 0; i < KEYS; i++) {
                unsigned char key[40];
                fill_random(key, size);
                uint64_t seed = test_random();
                uint64_t before = weiri_hash(key, size, seed);
                key[bit / 8] ^= (unsigned char)(1u << (bit % 8));
                uint64_t difference = before ^ weiri_hash(key, size, seed);
                for (unsigned out = 0; out < 64; out++) {
                    changed[out] += (unsigned)(difference >> out) & 1u;
                }
            }
            for (unsigned out = 0; out < 64; out++) {
                /* 256 expected, standard deviation 11.3; seven of them on either side, for the
                 * 420,000 cases of this test. */
                CHECK_INT(changed[out], >, KEYS / 2 - 80);
                CHECK_INT(changed[out], <, KEYS / 2 + 80);
            }
        }
    }
}

/* Whether counts of n keys in buckets are farther from even than six standard deviations of a
 * random spread: chi-square has the mean buckets - 1 and twice that as variance. */
static bool is_uneven(const unsigned *counts, size_t buckets, size_t n)
{
    double expected = (double)n / (double)buckets;
    double sum = 0;
    for (size_t i = 0; i < buckets; i++) {
        double off = (double)counts[i] - expected;
        sum += off * off / expected;
    }
    double beyond = sum - (double)(buckets - 1);
    return beyond > 0 && beyond * beyond > 36.0 * 2.0 * (double)(buckets - 1);
}

static void check_spread(const uint64_t *hashes, size_t n)
{
    enum {
        BUCKETS = 1024
    };
    for (unsigned shift = 0; shift <= 54; shift += 9) {
        unsigned counts[BUCKETS] = {0};
        for (size_t i = 0; i < n; i++) {
            counts[(hashes[i] >> shift) % BUCKETS]++;
        }
        CHECK(!is_uneven(counts, BUCKETS, n));
    }
}

static int compare_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* 100,000 hashes: about 1.2 pairs with the same 32 bits are expected. */
static void check_collisions(const uint64_t *hashes, size_t n)
{
    uint32_t *low = malloc(n * sizeof(*low));
    CHECK(low != NULL);
    for (size_t i = 0; i < n; i++) {
        low[i] = (uint32_t)hashes[i];
    }
    qsort(low, n, sizeof(*low), compare_u32);
    unsigned pairs = 0;
    for (size_t i = 1; i < n; i++) {
        pairs += low[i] == low[i - 1];
    }
    CHECK_INT(pairs, <, 12);
    free(low);
}

TEST(spread, "names that count up, small numbers and addresses spread evenly over every ten bits")
{
    enum {
        KEYS = 100000
    };
    static uint64_t hashes[KEYS];
    static char items[KEYS][24];
    uint64_t seed = test_random();
    for (size_t i = 0; i < KEYS; i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "key-%zu", i);
        hashes[i] = weiri_hash(name, strlen(name), seed);
    }
    check_spread(hashes, KEYS);
    check_collisions(hashes, KEYS);
    for (size_t i = 0; i < KEYS; i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "a-long-namespace/deployment-%zu", i);
        hashes[i] = weiri_hash(name, strlen(name), seed);
    }
    check_spread(hashes, KEYS);
    check_collisions(hashes, KEYS);
    for (uint32_t i = 0; i < KEYS; i++) {
        hashes[i] = weiri_hash(&i, sizeof(i), seed);
    }
    check_spread(hashes, KEYS);
    check_collisions(hashes, KEYS);
    for (size_t i = 0; i < KEYS; i++) {
        hashes[i] = weiri_hash_words((struct weiri_words){(uintptr_t)&items[i], 0}, SIZE_MAX, seed);
    }
    check_spread(hashes, KEYS);
    check_collisions(hashes, KEYS);
}

TEST(same_bytes, "the comparison sees every byte, and only those")
{
    for (size_t size = 0; size <= 40; size++) {
        unsigned char a[48];
        unsigned char b[48];
        fill_random(a, sizeof(a));
        memcpy(b, a, sizeof(b));
        b[size] ^= 1;
        CHECK(weiri_same_bytes(a, b, size));
        for (size_t i = 0; i < size; i++) {
            b[i] ^= (unsigned char)(1u << test_random_below(8));
            CHECK(!weiri_same_bytes(a, b, size));
            b[i] = a[i];
        }
    }
    CHECK(weiri_same_bytes(NULL, NULL, 0));
}

TEST(words, "short keys as words: their bytes in order, and zeros")
{
    for (size_t size = 0; size <= 16; size++) {
        unsigned char around[32];
        unsigned char expected[16] = {0};
        fill_random(around, sizeof(around));
        memcpy(expected, around + 3, size);
        struct weiri_words words = weiri_words(size == 0 ? NULL : around + 3, size);
        CHECK(memcmp(&words, expected, sizeof(words)) == 0);
    }
}

TEST(words_spread, "hashes of keys as words are spread evenly, also by their size alone")
{
    enum {
        COUNT = 20000
    };
    static uint64_t hashes[COUNT];
    uint64_t seed = test_random();
    for (size_t width = 5; width <= 12; width++) {
        for (int i = 0; i < COUNT; i++) {
            char key[32];
            int size = snprintf(key, sizeof(key), "%0*d", (int)width, i);
            hashes[i] = weiri_hash_words(weiri_words(key, (size_t)size), (size_t)size, seed);
        }
        check_spread(hashes, COUNT);
        check_collisions(hashes, COUNT);
    }
    for (size_t size = 1; size <= 16; size++) {
        CHECK(weiri_hash_words((struct weiri_words){0, 0}, size, seed) !=
              weiri_hash_words((struct weiri_words){0, 0}, size - 1, seed));
    }
}

TEST(chosen_keys, "an attacker with the constants cannot choose keys that collide")
{
    enum {
        CHOSEN = 20000
    };
    static uint64_t hashes[CHOSEN];
    for (size_t size = 16; size <= 48; size += 16) {
        uint64_t seed = test_random();
        for (uint64_t i = 0; i < CHOSEN; i++) {
            uint64_t words[6] = {WEIRI_HASH_A, i, i, ~i, i, i};
            hashes[i] = weiri_hash(words, size, seed);
        }
        check_spread(hashes, CHOSEN);
        check_collisions(hashes, CHOSEN);
    }
}

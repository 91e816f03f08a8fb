/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/remembered.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/harness.h"

#define HOUR INT64_C(3600000000000)

static void make(struct weiri_remembered *remembered, size_t limit, int64_t age_ns)
{
    weiri_remembered_init(remembered, test_allocator(), limit, age_ns, test_random());
}

/* How often the item was used before, as far as it is remembered. */
static uint64_t use(struct weiri_remembered *remembered, struct weir_key key, int64_t now_ns)
{
    int64_t last_ns = 12345;
    struct weiri_memory *memory = weiri_remembered_use(remembered, key, now_ns, &last_ns);
    CHECK(memory != NULL);
    CHECK((memory->failures == 0) == (last_ns == INT64_MIN));
    return memory->failures++;
}

static uint64_t uses_of(const struct weiri_remembered *remembered, struct weir_key key)
{
    const struct weiri_memory *memory = weiri_remembered_find(remembered, key);
    return memory != NULL ? memory->failures : 0;
}

/* The nth of many different keys, in a buffer of the caller. */
static struct weir_key nth_key(char *buffer, size_t size, size_t n)
{
    (void)snprintf(buffer, size, "item-%zu", n);
    return weir_key_string(buffer);
}

TEST(counts, "each item has a memory of its own until it is forgotten")
{
    struct weiri_remembered remembered;
    make(&remembered, 100, HOUR);
    struct weir_key a = weir_key_string("a");
    struct weir_key b = weir_key_string("b");
    CHECK_INT(uses_of(&remembered, a), ==, 0);
    CHECK_INT(use(&remembered, a, 0), ==, 0);
    CHECK_INT(use(&remembered, a, 0), ==, 1);
    CHECK_INT(use(&remembered, b, 0), ==, 0);
    CHECK_INT(uses_of(&remembered, a), ==, 2);
    CHECK_INT(uses_of(&remembered, b), ==, 1);
    weiri_remembered_forget(&remembered, a);
    weiri_remembered_forget(&remembered, a);
    CHECK_INT(uses_of(&remembered, a), ==, 0);
    CHECK_INT(uses_of(&remembered, b), ==, 1);
    CHECK_INT(use(&remembered, a, 0), ==, 0);
    weiri_remembered_fini(&remembered);
}

TEST(keys, "keys of any bytes and size, and embedded items, are distinguished")
{
    static const size_t sizes[] = {0, 1, 4, 8, 16, 31, 32, 33, 100, 5000};
    enum {
        SIZES = sizeof(sizes) / sizeof(sizes[0])
    };
    static char bytes[5000];
    struct weir_item items[2];
    struct weir_key keys[SIZES * 2 + 3];
    size_t count = 0;
    for (size_t i = 0; i < SIZES; i++) {
        keys[count++] = weir_key_bytes(bytes, sizes[i]);
        if (sizes[i] > 0) {
            char *other = malloc(sizes[i]);
            CHECK(other != NULL);
            memset(other, 0, sizes[i]);
            other[sizes[i] - 1] = 1;
            keys[count++] = weir_key_bytes(other, sizes[i]);
        }
    }
    keys[count++] = weir_key_item(&items[0]);
    keys[count++] = weir_key_item(&items[1]);
    /* The bytes of an item's address are not the item. */
    struct weir_item *address = &items[0];
    keys[count++] = weir_key_bytes(&address, sizeof(address));

    struct weiri_remembered remembered;
    make(&remembered, 100, HOUR);
    for (size_t i = 0; i < count; i++) {
        for (size_t n = 0; n <= i; n++) {
            CHECK_INT(use(&remembered, keys[i], 0), ==, n);
        }
    }
    for (size_t i = 0; i < count; i++) {
        CHECK_INT(uses_of(&remembered, keys[i]), ==, i + 1);
        if (i % 2 == 0) {
            weiri_remembered_forget(&remembered, keys[i]);
        }
    }
    for (size_t i = 0; i < count; i++) {
        CHECK_INT(uses_of(&remembered, keys[i]), ==, i % 2 == 0 ? 0 : i + 1);
    }
    weiri_remembered_fini(&remembered);
    for (size_t i = 1; i < SIZES; i++) {
        free((void *)(uintptr_t)keys[i * 2].data);
    }
}

TEST(ages, "an item that has not been used for the time is forgotten, never before")
{
    static const int64_t ages[] = {1, 63, 1000, HOUR, 24 * HOUR};
    for (size_t i = 0; i < sizeof(ages) / sizeof(ages[0]); i++) {
        int64_t age = ages[i];
        struct weiri_remembered remembered;
        make(&remembered, 100, age);
        struct weir_key a = weir_key_string("a");
        struct weir_key b = weir_key_string("b");
        (void)use(&remembered, a, 5);
        /* Used again before its age each time: counted on, for ever. */
        int64_t now = 5;
        for (uint64_t n = 1; n < 20; n++) {
            now += age - 1;
            CHECK_INT(use(&remembered, a, now), ==, n);
        }
        (void)use(&remembered, b, now + age - 1);
        CHECK_INT(uses_of(&remembered, a), ==, 20);
        (void)use(&remembered, b, now + age);
        CHECK_INT(uses_of(&remembered, a), ==, 0);
        CHECK_INT(use(&remembered, a, now + age), ==, 0);
        CHECK_INT(uses_of(&remembered, a), ==, 1);
        weiri_remembered_fini(&remembered);
    }
}

TEST(ages_out_of_order, "times that arrive out of order neither lose nor keep anything too long")
{
    struct weiri_remembered remembered;
    make(&remembered, 100, 63);
    struct weir_key a = weir_key_string("a");
    struct weir_key b = weir_key_string("b");
    (void)use(&remembered, a, 1000);
    CHECK_INT(use(&remembered, a, 10), ==, 1);
    CHECK_INT(use(&remembered, b, 10), ==, 0);
    CHECK_INT(use(&remembered, b, 1062), ==, 1);
    CHECK_INT(uses_of(&remembered, a), ==, 2);
    CHECK_INT(use(&remembered, b, 1063), ==, 2);
    CHECK_INT(uses_of(&remembered, a), ==, 0);
    weiri_remembered_fini(&remembered);
}

TEST(last, "a use tells when the item was used before, by the latest time seen")
{
    static const int64_t times[] = {INT64_MIN, INT64_MIN, 5, 3, 5 + HOUR - 1, 5 + 2 * HOUR - 1};
    static const int64_t before[] = {INT64_MIN, INT64_MIN + 1, INT64_MIN + 1, 5, 5, 5 + HOUR - 1};
    for (int round = 0; round < 2; round++) {
        bool is_aging = round == 1;
        struct weiri_remembered remembered;
        make(&remembered, 100, is_aging ? HOUR : INT64_MAX);
        for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
            bool is_too_old = is_aging && (i == 2 || i == 5);
            int64_t last_ns = 12345;
            CHECK(weiri_remembered_use(&remembered, weir_key_string("a"), times[i], &last_ns) !=
                  NULL);
            CHECK_INT(last_ns, ==, is_too_old ? INT64_MIN : before[i]);
        }
        weiri_remembered_fini(&remembered);
    }
}

TEST(ages_never, "without an age nothing is forgotten by itself")
{
    struct weiri_remembered remembered;
    make(&remembered, 100, INT64_MAX);
    struct weir_key a = weir_key_string("a");
    (void)use(&remembered, a, 0);
    (void)use(&remembered, weir_key_string("b"), INT64_MAX - 1);
    CHECK_INT(use(&remembered, a, INT64_MAX - 1), ==, 1);
    weiri_remembered_fini(&remembered);
}

TEST(expired_go, "the memory of expired items is released without another call for them")
{
    struct weiri_remembered remembered;
    make(&remembered, 100000, 1000);
    char name[32];
    for (size_t i = 0; i < 20000; i++) {
        (void)use(&remembered, nth_key(name, sizeof(name), i), 1);
    }
    CHECK_INT(remembered.table.count, ==, 20000);
    /* Also while others come, and sooner than they come. */
    for (size_t i = 0; i < 10000; i++) {
        (void)use(&remembered, nth_key(name, sizeof(name), 20000 + i), 2000);
    }
    CHECK_INT(remembered.table.count, ==, 10000);
    for (size_t i = 0; i < 5000; i++) {
        (void)use(&remembered, weir_key_string("other"), 4000);
    }
    CHECK_INT(remembered.table.count, ==, 1);
    CHECK_INT(test_allocated_bytes(), <, 20000);
    weiri_remembered_fini(&remembered);
}

/* V12: a million items that fail and are never forgotten. */
TEST(bounded,
     "past its limit the table does not grow, and forgets the item that was used longest ago")
{
    enum {
        LIMIT = 1 << 17,
        KEYS = 1000000
    };
    struct weiri_remembered remembered;
    make(&remembered, LIMIT, HOUR);
    char name[32];
    size_t peak = 0;
    for (size_t i = 0; i < KEYS; i++) {
        CHECK_INT(use(&remembered, nth_key(name, sizeof(name), i), (int64_t)i), ==, 0);
        peak = test_allocated_bytes() > peak ? test_allocated_bytes() : peak;
    }
    CHECK_INT(remembered.table.count, ==, LIMIT);
    CHECK_INT(peak, <=, (size_t)LIMIT * 82);
    for (size_t i = 0; i < KEYS; i++) {
        uint64_t expected = i >= KEYS - LIMIT;
        CHECK_INT(uses_of(&remembered, nth_key(name, sizeof(name), i)), ==, expected);
    }
    weiri_remembered_fini(&remembered);
}

TEST(bounded_keeps_active, "items that go on being used are not the ones forgotten past the limit")
{
    enum {
        LIMIT = 100
    };
    struct weiri_remembered remembered;
    make(&remembered, LIMIT, HOUR);
    char name[32];
    struct weir_key active = weir_key_string("active");
    for (size_t i = 0; i < 10000; i++) {
        int64_t now = (int64_t)i * 50000000;
        /* Once in each 50 of the others, which is 2.5 s. */
        if (i % 50 == 0) {
            CHECK_INT(use(&remembered, active, now), ==, i / 50);
        }
        (void)use(&remembered, nth_key(name, sizeof(name), i), now);
    }
    CHECK_INT(uses_of(&remembered, active), ==, 200);
    weiri_remembered_fini(&remembered);
}

TEST(gives_back, "memory goes back to the floor after a burst, also of long keys")
{
    struct weiri_remembered remembered;
    make(&remembered, 1 << 20, HOUR);
    (void)use(&remembered, weir_key_string("one"), 0);
    size_t floor = test_allocated_bytes();
    char name[100];
    memset(name, 'x', sizeof(name));
    for (size_t i = 0; i < 50000; i++) {
        memcpy(name + 50, &i, sizeof(i));
        (void)use(&remembered, weir_key_bytes(name, sizeof(name)), 0);
    }
    CHECK_INT(test_allocated_bytes(), >, 50000 * 156);
    for (size_t i = 0; i < 50000; i++) {
        size_t n = i * 7919 % 50000; /* in another order */
        memcpy(name + 50, &n, sizeof(n));
        weiri_remembered_forget(&remembered, weir_key_bytes(name, sizeof(name)));
    }
    CHECK_INT(uses_of(&remembered, weir_key_string("one")), ==, 1);
    /* What stays is one record's chunk, a spare one, and the list of the chunks. */
    CHECK_INT(test_allocated_bytes(), <=, floor + 16384);
    weiri_remembered_fini(&remembered);
}

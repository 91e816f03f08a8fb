/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/failures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/harness.h"

#define HOUR INT64_C(3600000000000)

static void make(struct weiri_failures *failures, size_t limit, int64_t age_ns)
{
    weiri_failures_init(failures, test_allocator(), limit, age_ns, test_random());
}

static uint64_t must_add(struct weiri_failures *failures, struct weir_key key, int64_t now_ns)
{
    uint64_t before = UINT64_MAX;
    CHECK_STATUS(weiri_failures_add(failures, key, now_ns, &before), WEIR_OK);
    return before;
}

/* The nth of many different keys, in a buffer of the caller. */
static struct weir_key nth_key(char *buffer, size_t size, size_t n)
{
    (void)snprintf(buffer, size, "item-%zu", n);
    return weir_key_string(buffer);
}

TEST(counts, "failures are counted per item until it is forgotten")
{
    struct weiri_failures failures;
    make(&failures, 100, HOUR);
    struct weir_key a = weir_key_string("a");
    struct weir_key b = weir_key_string("b");
    CHECK_INT(weiri_failures_count(&failures, a), ==, 0);
    CHECK_INT(must_add(&failures, a, 0), ==, 0);
    CHECK_INT(must_add(&failures, a, 0), ==, 1);
    CHECK_INT(must_add(&failures, b, 0), ==, 0);
    CHECK_INT(weiri_failures_count(&failures, a), ==, 2);
    CHECK_INT(weiri_failures_count(&failures, b), ==, 1);
    weiri_failures_forget(&failures, a);
    weiri_failures_forget(&failures, a);
    CHECK_INT(weiri_failures_count(&failures, a), ==, 0);
    CHECK_INT(weiri_failures_count(&failures, b), ==, 1);
    CHECK_INT(must_add(&failures, a, 0), ==, 0);
    weiri_failures_fini(&failures);
}

TEST(undo, "a failure taken back was none; more than there are cannot be taken back")
{
    struct weiri_failures failures;
    make(&failures, 100, HOUR);
    struct weir_key a = weir_key_string("a");
    weiri_failures_undo(&failures, a);
    CHECK_INT(weiri_failures_count(&failures, a), ==, 0);
    CHECK_INT(must_add(&failures, a, 0), ==, 0);
    CHECK_INT(must_add(&failures, a, 0), ==, 1);
    weiri_failures_undo(&failures, a);
    CHECK_INT(weiri_failures_count(&failures, a), ==, 1);
    CHECK_INT(must_add(&failures, a, 0), ==, 1);
    weiri_failures_undo(&failures, a);
    weiri_failures_undo(&failures, a);
    CHECK_INT(weiri_failures_count(&failures, a), ==, 0);
    CHECK_INT(failures.table.count, ==, 0);
    weiri_failures_fini(&failures);
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

    struct weiri_failures failures;
    make(&failures, 100, HOUR);
    for (size_t i = 0; i < count; i++) {
        for (size_t n = 0; n <= i; n++) {
            CHECK_INT(must_add(&failures, keys[i], 0), ==, n);
        }
    }
    for (size_t i = 0; i < count; i++) {
        CHECK_INT(weiri_failures_count(&failures, keys[i]), ==, i + 1);
        if (i % 2 == 0) {
            weiri_failures_forget(&failures, keys[i]);
        }
    }
    for (size_t i = 0; i < count; i++) {
        CHECK_INT(weiri_failures_count(&failures, keys[i]), ==, i % 2 == 0 ? 0 : i + 1);
    }
    weiri_failures_fini(&failures);
    for (size_t i = 1; i < SIZES; i++) {
        free((void *)(uintptr_t)keys[i * 2].data);
    }
}

TEST(saturates, "a count stays at its end")
{
    struct weiri_failures failures;
    make(&failures, 100, HOUR);
    struct weir_key a = weir_key_string("a");
    /* No test can count that far, so this one writes the number. */
    (void)must_add(&failures, a, 0);
    WEIRI_CONTAINER(failures.by_age.next, struct weiri_failure, by_age)->count = UINT64_MAX - 1;
    CHECK(must_add(&failures, a, 0) == UINT64_MAX - 1);
    CHECK(must_add(&failures, a, 0) == UINT64_MAX);
    CHECK(must_add(&failures, a, 0) == UINT64_MAX);
    CHECK(weiri_failures_count(&failures, a) == UINT64_MAX);
    weiri_failures_fini(&failures);
}

TEST(ages, "an item that has not failed for the time is forgotten, never before")
{
    static const int64_t ages[] = {1, 63, 1000, HOUR, 24 * HOUR};
    for (size_t i = 0; i < sizeof(ages) / sizeof(ages[0]); i++) {
        int64_t age = ages[i];
        struct weiri_failures failures;
        make(&failures, 100, age);
        struct weir_key a = weir_key_string("a");
        struct weir_key b = weir_key_string("b");
        (void)must_add(&failures, a, 5);
        /* Fails again before its age each time: counted on, for ever. */
        int64_t now = 5;
        for (uint64_t n = 1; n < 20; n++) {
            now += age - 1;
            CHECK_INT(must_add(&failures, a, now), ==, n);
        }
        (void)must_add(&failures, b, now + age - 1);
        CHECK_INT(weiri_failures_count(&failures, a), ==, 20);
        (void)must_add(&failures, b, now + age);
        CHECK_INT(weiri_failures_count(&failures, a), ==, 0);
        CHECK_INT(must_add(&failures, a, now + age), ==, 0);
        CHECK_INT(weiri_failures_count(&failures, a), ==, 1);
        weiri_failures_fini(&failures);
    }
}

TEST(ages_out_of_order, "times that arrive out of order neither lose nor keep anything too long")
{
    struct weiri_failures failures;
    make(&failures, 100, 63);
    struct weir_key a = weir_key_string("a");
    struct weir_key b = weir_key_string("b");
    (void)must_add(&failures, a, 1000);
    CHECK_INT(must_add(&failures, a, 10), ==, 1);
    CHECK_INT(must_add(&failures, b, 10), ==, 0);
    CHECK_INT(must_add(&failures, b, 1062), ==, 1);
    CHECK_INT(weiri_failures_count(&failures, a), ==, 2);
    CHECK_INT(must_add(&failures, b, 1063), ==, 2);
    CHECK_INT(weiri_failures_count(&failures, a), ==, 0);
    weiri_failures_fini(&failures);
}

TEST(ages_never, "without an age nothing is forgotten by itself")
{
    struct weiri_failures failures;
    make(&failures, 100, INT64_MAX);
    struct weir_key a = weir_key_string("a");
    (void)must_add(&failures, a, 0);
    (void)must_add(&failures, weir_key_string("b"), INT64_MAX - 1);
    CHECK_INT(must_add(&failures, a, INT64_MAX - 1), ==, 1);
    weiri_failures_fini(&failures);
}

TEST(expired_go, "the memory of expired items is released without another call for them")
{
    struct weiri_failures failures;
    make(&failures, 100000, 1000);
    char name[32];
    for (size_t i = 0; i < 20000; i++) {
        (void)must_add(&failures, nth_key(name, sizeof(name), i), 1);
    }
    CHECK_INT(failures.table.count, ==, 20000);
    /* Also while others come, and sooner than they come. */
    for (size_t i = 0; i < 10000; i++) {
        (void)must_add(&failures, nth_key(name, sizeof(name), 20000 + i), 2000);
    }
    CHECK_INT(failures.table.count, ==, 10000);
    for (size_t i = 0; i < 5000; i++) {
        (void)must_add(&failures, weir_key_string("other"), 4000);
    }
    CHECK_INT(failures.table.count, ==, 1);
    CHECK_INT(test_allocated_bytes(), <, 20000);
    weiri_failures_fini(&failures);
}

/* V12: a million items that fail and are never forgotten. */
TEST(bounded,
     "past its limit the table does not grow, and forgets the item that failed longest ago")
{
    enum {
        LIMIT = 1 << 17,
        KEYS = 1000000
    };
    struct weiri_failures failures;
    make(&failures, LIMIT, HOUR);
    char name[32];
    size_t peak = 0;
    for (size_t i = 0; i < KEYS; i++) {
        CHECK_INT(must_add(&failures, nth_key(name, sizeof(name), i), (int64_t)i), ==, 0);
        peak = test_allocated_bytes() > peak ? test_allocated_bytes() : peak;
    }
    CHECK_INT(failures.table.count, ==, LIMIT);
    CHECK_INT(peak, <=, (size_t)LIMIT * 82);
    for (size_t i = 0; i < KEYS; i++) {
        uint64_t expected = i >= KEYS - LIMIT;
        CHECK_INT(weiri_failures_count(&failures, nth_key(name, sizeof(name), i)), ==, expected);
    }
    weiri_failures_fini(&failures);
}

TEST(bounded_keeps_active, "items that go on failing are not the ones forgotten past the limit")
{
    enum {
        LIMIT = 100
    };
    struct weiri_failures failures;
    make(&failures, LIMIT, HOUR);
    char name[32];
    struct weir_key active = weir_key_string("active");
    for (size_t i = 0; i < 10000; i++) {
        int64_t now = (int64_t)i * 50000000;
        /* Once in each 50 of the others, which is 2.5 s. */
        if (i % 50 == 0) {
            CHECK_INT(must_add(&failures, active, now), ==, i / 50);
        }
        (void)must_add(&failures, nth_key(name, sizeof(name), i), now);
    }
    CHECK_INT(weiri_failures_count(&failures, active), ==, 200);
    weiri_failures_fini(&failures);
}

TEST(gives_back, "memory goes back to the floor after a burst, also of long keys")
{
    struct weiri_failures failures;
    make(&failures, 1 << 20, HOUR);
    (void)must_add(&failures, weir_key_string("one"), 0);
    size_t floor = test_allocated_bytes();
    char name[100];
    memset(name, 'x', sizeof(name));
    for (size_t i = 0; i < 50000; i++) {
        memcpy(name + 50, &i, sizeof(i));
        (void)must_add(&failures, weir_key_bytes(name, sizeof(name)), 0);
    }
    CHECK_INT(test_allocated_bytes(), >, 50000 * 156);
    for (size_t i = 0; i < 50000; i++) {
        size_t n = i * 7919 % 50000; /* in another order */
        memcpy(name + 50, &n, sizeof(n));
        weiri_failures_forget(&failures, weir_key_bytes(name, sizeof(name)));
    }
    CHECK_INT(weiri_failures_count(&failures, weir_key_string("one")), ==, 1);
    /* What stays is one record's chunk, a spare one, and the list of the chunks. */
    CHECK_INT(test_allocated_bytes(), <=, floor + 16384);
    weiri_failures_fini(&failures);
}

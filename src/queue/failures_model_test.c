/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/failures.h"

#include <stdio.h>
#include <string.h>

#include "support/harness.h"

/* Random operations against a list that is searched from end to end: both must agree in the count
 * of every key after every step. */

#define KEYS 40
#define LIMIT 12
#define AGE 50

struct entry {
    size_t key;
    uint64_t count;
    int64_t last_ns;
};

/* In order of last failure, the oldest first. */
struct reference {
    struct entry entries[LIMIT];
    size_t count;
    int64_t now_ns;
};

static void take_out(struct reference *reference, size_t index)
{
    reference->count--;
    memmove(&reference->entries[index], &reference->entries[index + 1],
            (reference->count - index) * sizeof(struct entry));
}

static void drop_old(struct reference *reference)
{
    while (reference->count > 0 && reference->now_ns - reference->entries[0].last_ns >= AGE) {
        take_out(reference, 0);
    }
}

static size_t position(const struct reference *reference, size_t key)
{
    size_t index = 0;
    while (index < reference->count && reference->entries[index].key != key) {
        index++;
    }
    return index;
}

static uint64_t reference_read(const struct reference *reference, size_t key)
{
    size_t index = position(reference, key);
    return index < reference->count ? reference->entries[index].count : 0;
}

static uint64_t reference_add(struct reference *reference, size_t key, int64_t now_ns)
{
    reference->now_ns = now_ns > reference->now_ns ? now_ns : reference->now_ns;
    drop_old(reference);
    uint64_t before = reference_read(reference, key);
    size_t index = position(reference, key);
    if (index < reference->count) {
        take_out(reference, index);
    } else if (reference->count == LIMIT) {
        take_out(reference, 0);
    }
    reference->entries[reference->count++] = (struct entry){key, before + 1, reference->now_ns};
    return before;
}

static void reference_remove(struct reference *reference, size_t key, uint64_t count)
{
    size_t index = position(reference, key);
    if (index < reference->count && reference->entries[index].count <= count) {
        take_out(reference, index);
    } else if (index < reference->count) {
        reference->entries[index].count -= count;
    }
}

/* Short keys, long keys and embedded items. */
static char names[KEYS][64];
static struct weir_item items[KEYS];

static struct weir_key key_of(size_t index)
{
    if (index % 3 == 0) {
        return weir_key_item(&items[index]);
    }
    (void)snprintf(names[index], sizeof(names[index]), "%s%zu",
                   index % 3 == 1 ? "" : "a-name-longer-than-a-record-holds-", index);
    return weir_key_string(names[index]);
}

static void step(struct weiri_failures *failures, struct reference *reference, int64_t *now_ns)
{
    size_t index = (size_t)test_random_below(test_random_below(2) == 0 ? 6 : KEYS);
    struct weir_key key = key_of(index);
    switch (test_random_below(10)) {
    case 0:
        weiri_failures_forget(failures, key);
        reference_remove(reference, index, UINT64_MAX);
        break;
    case 1:
        weiri_failures_undo(failures, key);
        reference_remove(reference, index, 1);
        break;
    case 2:
        *now_ns += (int64_t)test_random_below(test_random_below(8) == 0 ? 3 * AGE : 8);
        break;
    default: {
        uint64_t before = 12345;
        int64_t late = (int64_t)test_random_below(3);
        CHECK_STATUS(weiri_failures_add(failures, key, *now_ns - late, &before), WEIR_OK);
        CHECK_INT(before, ==, reference_add(reference, index, *now_ns - late));
    }
    }
    for (size_t i = 0; i < KEYS; i++) {
        struct weir_key each = key_of(i);
        CHECK_INT(weiri_failures_count(failures, each), ==, reference_read(reference, i));
    }
}

TEST(model, "the table remembers what a plain list does, after each of many random steps")
{
    uint64_t rounds = test_scaled(40);
    for (uint64_t i = 0; i < rounds; i++) {
        struct weiri_failures failures;
        weiri_failures_init(&failures, test_allocator(), LIMIT, AGE, test_random());
        struct reference reference = {.now_ns = INT64_MIN / 2};
        int64_t now_ns = 1000;
        for (int n = 0; n < 1000; n++) {
            step(&failures, &reference, &now_ns);
        }
        weiri_failures_fini(&failures);
    }
}

TEST(no_memory, "a failure that cannot be stored is not counted, and nothing else changes")
{
    struct weiri_failures failures;
    weiri_failures_init(&failures, test_allocator(), LIMIT, AGE, 1);
    struct reference reference = {.now_ns = 0};
    unsigned refused = 0;
    for (int n = 0; n < 4000; n++) {
        size_t index = (size_t)test_random_below(KEYS);
        struct weir_key key = key_of(index);
        uint64_t before = 12345;
        if (test_random_below(8) == 0) {
            weiri_failures_forget(&failures, key);
            reference_remove(&reference, index, UINT64_MAX);
        }
        test_fail_allocation(test_random_below(3), false);
        enum weir_status status = weiri_failures_add(&failures, key, 0, &before);
        test_fail_allocation(0, false);
        if (status == WEIR_OK) {
            CHECK_INT(before, ==, reference_add(&reference, index, 0));
        } else {
            CHECK_STATUS(status, WEIR_ENOMEM);
            CHECK_INT(before, ==, 12345);
            refused++;
        }
        for (size_t i = 0; i < KEYS; i++) {
            struct weir_key each = key_of(i);
            CHECK_INT(weiri_failures_count(&failures, each), ==, reference_read(&reference, i));
        }
    }
    CHECK_INT(refused, >, 100);
    weiri_failures_fini(&failures);
}

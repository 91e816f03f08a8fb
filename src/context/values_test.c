/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "context/values.h"

#include "support/harness.h"

#define COUNT 40

static char keys[COUNT];
static int numbers[COUNT];

TEST(few, "a value is found by its key's address until it is replaced or taken out")
{
    struct weiri_values values;
    values = (struct weiri_values){.count = 0};
    const struct weir_allocator *memory = test_allocator();
    CHECK(weiri_values_get(&values, &keys[0]) == NULL);
    CHECK_STATUS(weiri_values_set(&values, memory, &keys[0], &numbers[0]), WEIR_OK);
    CHECK_STATUS(weiri_values_set(&values, memory, &keys[1], &numbers[1]), WEIR_OK);
    CHECK(weiri_values_get(&values, &keys[0]) == &numbers[0]);
    CHECK(weiri_values_get(&values, &keys[1]) == &numbers[1]);
    CHECK_STATUS(weiri_values_set(&values, memory, &keys[0], &numbers[2]), WEIR_OK);
    CHECK(weiri_values_get(&values, &keys[0]) == &numbers[2]);
    CHECK_INT(values.count, ==, 2);
    CHECK_STATUS(weiri_values_set(&values, memory, &keys[0], NULL), WEIR_OK);
    CHECK_STATUS(weiri_values_set(&values, memory, &keys[0], NULL), WEIR_OK);
    CHECK(weiri_values_get(&values, &keys[0]) == NULL);
    CHECK(weiri_values_get(&values, &keys[1]) == &numbers[1]);
    weiri_values_clear(&values, memory);
    CHECK(weiri_values_get(&values, &keys[1]) == NULL);
}

TEST(memory, "eight values take no memory; more do until they are cleared")
{
    struct weiri_values values;
    values = (struct weiri_values){.count = 0};
    size_t blocks = test_allocated_blocks();
    for (int i = 0; i < COUNT; i++) {
        CHECK_STATUS(weiri_values_set(&values, test_allocator(), &keys[i], &numbers[i]), WEIR_OK);
        CHECK_INT(test_allocated_blocks(), ==, blocks + (i >= WEIRI_VALUES_INLINE));
    }
    weiri_values_clear(&values, test_allocator());
    CHECK_INT(test_allocated_blocks(), ==, blocks);
}

TEST_OOM(random_pairs,
         "whatever is set and taken out, each key has its last value; what fails changed nothing")
{
    struct weiri_values values;
    values = (struct weiri_values){.count = 0};
    void *expected[COUNT] = {NULL};
    for (int step = 0; step < 2000; step++) {
        size_t key = (size_t)test_random_below(COUNT);
        void *value = test_random_below(3) == 0 ? NULL : &numbers[test_random_below(COUNT)];
        if (!CHECK_OR_OOM(weiri_values_set(&values, test_allocator(), &keys[key], value))) {
            expected[key] = value;
        }
        for (size_t i = 0; i < COUNT; i++) {
            CHECK(weiri_values_get(&values, &keys[i]) == expected[i]);
        }
    }
    weiri_values_clear(&values, test_allocator());
}

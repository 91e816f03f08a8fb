/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/slots.h"

#include <stdbool.h>

#include "support/harness.h"

/* What should be in the table: the number's hash, where it is there. */
#define NUMBERS 300

struct reference {
    uint32_t hash[NUMBERS + 1];
    bool is_there[NUMBERS + 1];
    size_t count;
};

static bool is_found(const struct weiri_slots *slots, uint32_t hash, uint32_t number)
{
    if (slots->capacity == 0) {
        return false;
    }
    for (size_t at = weiri_slots_home(slots, hash); slots->slots[at].number != 0;
         at = weiri_slots_next(slots, at)) {
        if (slots->slots[at].hash == hash && slots->slots[at].number == number) {
            return true;
        }
    }
    return false;
}

static void check_same(const struct weiri_slots *slots, const struct reference *reference)
{
    CHECK_INT(slots->used, ==, reference->count);
    CHECK(slots->capacity == 0 || slots->used <= slots->capacity / 4 * 3);
    for (uint32_t number = 1; number <= NUMBERS; number++) {
        CHECK(is_found(slots, reference->hash[number], number) == reference->is_there[number]);
    }
}

/* Few homes, most of them at the end of the table: long runs that wrap around. */
static uint32_t colliding_hash(void)
{
    return test_random_below(4) == 0 ? (uint32_t)test_random()
                                     : UINT32_MAX - (uint32_t)test_random_below(6);
}

TEST(random_operations, "whatever is inserted and deleted, exactly what is there is found")
{
    struct weiri_slots slots = {0};
    static struct reference reference;
    for (int step = 0; step < 20000; step++) {
        /* Filling and emptying by turns, so that the table grows and shrinks. */
        bool fill = step / 500 % 2 == 0;
        uint32_t number = 1 + (uint32_t)test_random_below(NUMBERS);
        if (!reference.is_there[number] && fill) {
            reference.hash[number] = colliding_hash();
            reference.is_there[number] = true;
            reference.count++;
            CHECK_STATUS(weiri_slots_reserve(&slots, test_allocator()), WEIR_OK);
            weiri_slots_insert(&slots, reference.hash[number], number);
        } else if (reference.is_there[number] && !fill) {
            reference.is_there[number] = false;
            reference.count--;
            weiri_slots_delete(&slots, weiri_slots_of(&slots, reference.hash[number], number));
            weiri_slots_trim(&slots, test_allocator());
        }
        if (step % 16 == 0) {
            check_same(&slots, &reference);
        }
    }
    weiri_slots_fini(&slots, test_allocator());
}

TEST(gives_back, "a table that was large and is nearly empty takes little memory")
{
    struct weiri_slots slots = {0};
    for (uint32_t number = 1; number <= 100000; number++) {
        CHECK_STATUS(weiri_slots_reserve(&slots, test_allocator()), WEIR_OK);
        weiri_slots_insert(&slots, number * UINT32_C(2654435761), number);
    }
    size_t large = test_allocated_bytes();
    for (uint32_t number = 1; number <= 100000; number++) {
        weiri_slots_delete(&slots, weiri_slots_of(&slots, number * UINT32_C(2654435761), number));
        weiri_slots_trim(&slots, test_allocator());
    }
    CHECK_INT(large, >=, 100000 * 8);
    CHECK_INT(test_allocated_bytes(), <=, 64 * 8);
    weiri_slots_fini(&slots, test_allocator());
}

TEST(no_memory, "without memory to grow or shrink nothing changes")
{
    struct weiri_slots slots = {0};
    test_fail_allocation(1, true);
    CHECK_STATUS(weiri_slots_reserve(&slots, test_allocator()), WEIR_ENOMEM);
    test_fail_allocation(0, false);
    CHECK_INT(slots.capacity, ==, 0);
    uint32_t number = 0;
    while (slots.used < 12 || slots.used < slots.capacity / 4 * 3) {
        CHECK_STATUS(weiri_slots_reserve(&slots, test_allocator()), WEIR_OK);
        number++;
        weiri_slots_insert(&slots, number, number);
    }
    size_t capacity = slots.capacity;
    test_fail_allocation(1, true);
    CHECK_STATUS(weiri_slots_reserve(&slots, test_allocator()), WEIR_ENOMEM);
    CHECK_INT(slots.capacity, ==, capacity);
    for (uint32_t i = 1; i <= number; i++) {
        CHECK(is_found(&slots, i, i));
        weiri_slots_delete(&slots, weiri_slots_of(&slots, i, i));
        weiri_slots_trim(&slots, test_allocator());
    }
    test_fail_allocation(0, false);
    CHECK_INT(slots.used, ==, 0);
    CHECK_INT(slots.capacity, ==, capacity);
    weiri_slots_fini(&slots, test_allocator());
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/table.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/harness.h"

#define COUNT 5000
#define CHUNK 64 /* records */

/* A record, as a user of the table has it. */
struct entry {
    struct weiri_record record;
    uint64_t value;
};

static struct weiri_table table;

static void table_init(uint64_t seed)
{
    weiri_table_init(&table, sizeof(struct entry), seed);
}

static struct weir_key key_of(size_t number, char *buffer, size_t size)
{
    /* Keys of 1 to 40 bytes: short ones lie in the record, long ones in a block. */
    int length = snprintf(buffer, size, "%zu%.*s", number, (int)(number % 36),
                          "------------------------------------");
    return weir_key_bytes(buffer, (size_t)length);
}

static uint32_t find_key(struct weir_key key)
{
    return weiri_table_find(&table, key, weiri_table_hash(&table, key));
}

static uint32_t insert_key(struct weir_key key)
{
    CHECK_INT(find_key(key), ==, 0);
    uint32_t number =
        weiri_table_insert(&table, test_allocator(), key, weiri_table_hash(&table, key));
    if (number != 0) {
        struct entry *entry = weiri_table_record(&table, number);
        CHECK_INT(entry->value, ==, 0);
        entry->value = number;
        CHECK(weiri_table_check(&table, number) == entry);
    }
    CHECK_INT(find_key(key), ==, number);
    return number;
}

static uint32_t find(size_t i)
{
    char buffer[64];
    return find_key(key_of(i, buffer, sizeof(buffer)));
}

static uint32_t insert(size_t i)
{
    char buffer[64];
    return insert_key(key_of(i, buffer, sizeof(buffer)));
}

static void remove_number(uint32_t number)
{
    const struct entry *entry = weiri_table_record(&table, number);
    CHECK_INT(entry->value, ==, number);
    weiri_table_remove(&table, test_allocator(), number);
}

TEST(keeps, "a key has the same record until it is removed, whatever else comes and goes")
{
    table_init(test_random());
    static uint32_t numbers[COUNT];
    for (uint64_t step = 0; step < test_scaled(100000); step++) {
        size_t i = (size_t)test_random_below(COUNT);
        CHECK_INT(find(i), ==, numbers[i]);
        if (numbers[i] == 0) {
            numbers[i] = insert(i);
            CHECK_INT(numbers[i], !=, 0);
        } else {
            remove_number(numbers[i]);
            numbers[i] = 0;
        }
    }
    size_t count = 0;
    for (size_t i = 0; i < COUNT; i++) {
        CHECK_INT(find(i), ==, numbers[i]);
        count += numbers[i] != 0;
    }
    CHECK_INT(table.count, ==, count);
    weiri_table_fini(&table, test_allocator());
}

static void check_key(uint32_t number, struct weir_key expected)
{
    struct weir_key key = weiri_record_key(weiri_table_record(&table, number));
    CHECK_INT(key.size, ==, expected.size);
    CHECK(expected.size == WEIR_KEY_ITEM ? key.data == expected.data
                                         : memcmp(key.data, expected.data, key.size) == 0);
}

TEST(keys_are_copied, "a record holds the key's bytes, also none, zeros and an item's address")
{
    table_init(1);
    char bytes[3] = {'a', '\0', 'b'};
    struct weir_item item;
    struct weir_item other;
    uint32_t three = insert_key(weir_key_bytes(bytes, 3));
    uint32_t one = insert_key(weir_key_bytes(bytes, 1));
    uint32_t none = insert_key(weir_key_bytes(NULL, 0));
    uint32_t address = insert_key(weir_key_item(&item));
    /* The bytes of the address are another key. */
    struct weir_item *pointer = &item;
    uint32_t same_bytes = insert_key(weir_key_bytes(&pointer, sizeof(pointer)));
    bytes[2] = 'c';
    CHECK_INT(find_key(weir_key_bytes("a\0b", 3)), ==, three);
    CHECK_INT(find_key(weir_key_bytes(bytes, 3)), ==, 0);
    CHECK_INT(find_key(weir_key_bytes("", 0)), ==, none);
    CHECK_INT(find_key(weir_key_item(&item)), ==, address);
    CHECK_INT(find_key(weir_key_item(&other)), ==, 0);
    CHECK(address != same_bytes);
    check_key(three, weir_key_bytes("a\0b", 3));
    check_key(one, weir_key_bytes("a", 1));
    check_key(none, weir_key_bytes("", 0));
    check_key(address, weir_key_item(&item));
    weiri_table_fini(&table, test_allocator());
}

TEST(key_sizes, "keys at the border between record and block are copied whole")
{
    static char bytes[3 * WEIRI_KEY_INLINE];
    uint32_t numbers[sizeof(bytes)];
    table_init(test_random());
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (char)('a' + i % 7);
    }
    for (size_t size = 0; size < sizeof(bytes); size++) {
        size_t blocks = test_allocated_blocks();
        numbers[size] = insert_key(weir_key_bytes(bytes, size));
        CHECK(size == 0 || (test_allocated_blocks() > blocks) == (size > WEIRI_KEY_INLINE));
    }
    for (size_t size = 0; size < sizeof(bytes); size++) {
        check_key(numbers[size], weir_key_bytes(bytes, size));
    }
    weiri_table_fini(&table, test_allocator());
}

/* Keys of four sizes, two of which lie in the record. */
static struct weir_key sized_key(uint32_t number, char *buffer, size_t size)
{
    static const int sizes[] = {8, 12, 20, 24};
    int length = snprintf(buffer, size, "%0*u", sizes[number % 4], number / 4);
    return weir_key_bytes(buffer, (size_t)length);
}

static int compare_numbers(const void *a, const void *b)
{
    uint64_t first = *(const uint64_t *)a;
    uint64_t second = *(const uint64_t *)b;
    return (first > second) - (first < second);
}

static void check_told_apart(uint64_t seed, const uint32_t *pair)
{
    uint32_t numbers[2];
    struct weir_key keys[2];
    char buffers[2][32];
    table_init(seed);
    for (size_t i = 0; i < 2; i++) {
        keys[i] = sized_key(pair[i], buffers[i], sizeof(buffers[i]));
        numbers[i] = insert_key(keys[i]);
    }
    CHECK(numbers[0] != 0 && numbers[1] != 0 && numbers[0] != numbers[1]);
    CHECK_INT(find_key(keys[0]), ==, numbers[0]);
    remove_number(numbers[0]);
    CHECK_INT(find_key(keys[0]), ==, 0);
    CHECK_INT(find_key(keys[1]), ==, numbers[1]);
    weiri_table_fini(&table, test_allocator());
}

TEST(same_hash, "keys of the same hash are distinguished, whatever their sizes")
{
    enum {
        KEYS = 500000
    };
    uint64_t *hashes = malloc(KEYS * sizeof(*hashes)); /* above the number of the key */
    CHECK(hashes != NULL);
    bool met[4][4] = {{false}}; /* by size; the second one is no smaller */
    int missing = 10;
    for (uint64_t seed = 1; missing > 0; seed++) {
        CHECK_INT(seed, <, 100);
        table_init(seed);
        for (uint32_t i = 0; i < KEYS; i++) {
            char buffer[32];
            struct weir_key key = sized_key(i, buffer, sizeof(buffer));
            hashes[i] = (uint64_t)weiri_table_hash(&table, key) << 32 | i;
        }
        qsort(hashes, KEYS, sizeof(*hashes), compare_numbers);
        for (size_t i = 1; i < KEYS; i++) {
            const uint32_t pair[] = {(uint32_t)hashes[i - 1], (uint32_t)hashes[i]};
            uint32_t least = pair[0] % 4 < pair[1] % 4 ? pair[0] % 4 : pair[1] % 4;
            bool *is_met = &met[least][pair[0] % 4 + pair[1] % 4 - least];
            if (hashes[i - 1] >> 32 == hashes[i] >> 32) {
                check_told_apart(seed, pair);
                missing -= !*is_met;
                *is_met = true;
            }
        }
    }
    free(hashes);
}

TEST(memory_returns, "after a burst the memory is what it was before, within a chunk")
{
    table_init(7);
    static uint32_t numbers[COUNT];
    size_t first_burst = 0;
    for (int burst = 0; burst < 3; burst++) {
        for (size_t i = 0; i < COUNT; i++) {
            numbers[i] = insert(i);
        }
        for (size_t i = 0; i < COUNT; i++) {
            /* In another order than they came. */
            remove_number(numbers[(i * 2377) % COUNT]);
        }
        CHECK_INT(table.count, ==, 0);
        CHECK_INT(test_allocated_bytes(), <, 2 * CHUNK * sizeof(struct entry));
        first_burst = burst == 0 ? test_allocated_bytes() : first_burst;
        CHECK_INT(test_allocated_bytes(), ==, first_burst);
    }
    weiri_table_fini(&table, test_allocator());
}

/* Of an empty table the records of a chunk come one after another. */
static void fill(uint32_t *numbers, size_t chunks)
{
    table_init(7);
    for (size_t i = 0; i < chunks * CHUNK; i++) {
        numbers[i] = insert(i * 36); /* a short key */
        CHECK_INT((numbers[i] - 1) / CHUNK, ==, i / CHUNK);
    }
}

static void empty_chunk(const uint32_t *numbers, size_t chunk)
{
    for (size_t i = 0; i < CHUNK; i++) {
        remove_number(numbers[chunk * CHUNK + i]);
    }
}

/* How many chunks there are, by their records. */
static size_t chunk_count(void)
{
    size_t count = 0;
    for (uint64_t number = 1; number < 8 * CHUNK; number += CHUNK) {
        count += weiri_table_check(&table, number) != NULL;
    }
    return count;
}

TEST(spare_in_use, "the spare chunk is one like others as soon as it holds a record again")
{
    static uint32_t numbers[2 * CHUNK];
    fill(numbers, 2);
    empty_chunk(numbers, 1);
    CHECK_INT(chunk_count(), ==, 2);
    uint32_t number = insert((size_t)36 * COUNT);
    CHECK_INT(number, >, CHUNK);
    empty_chunk(numbers, 0);
    CHECK_INT(chunk_count(), ==, 2);
    CHECK_INT(find((size_t)36 * COUNT), ==, number);
    weiri_table_fini(&table, test_allocator());
}

TEST(one_spare, "of several chunks without records one stays, and the memory of the others is used "
                "again")
{
    static uint32_t numbers[3 * CHUNK];
    fill(numbers, 3);
    size_t before = test_allocated_bytes();
    for (int turn = 0; turn < 3; turn++) {
        empty_chunk(numbers, 2);
        CHECK_INT(chunk_count(), ==, 3);
        empty_chunk(numbers, 1);
        CHECK_INT(chunk_count(), ==, 2);
        for (size_t i = CHUNK; i < (size_t)3 * CHUNK; i++) {
            numbers[i] = insert(i * 36);
            CHECK_INT(numbers[i], <=, 3 * CHUNK); /* numbers stay small */
        }
        CHECK_INT(test_allocated_bytes(), ==, before);
    }
    weiri_table_fini(&table, test_allocator());
}

TEST(stale_number, "any number is checked: of a free record, of no chunk, out of range")
{
    table_init(7);
    CHECK(weiri_table_check(&table, 0) == NULL && weiri_table_check(&table, 1) == NULL);
    uint32_t number = insert(1);
    struct entry *entry = weiri_table_record(&table, number);
    CHECK(weiri_table_check(&table, number) == entry);
    CHECK(weiri_table_check(&table, number + 1) == entry + 1);
    static const uint64_t others[] = {
        0, 1000, 1u << 20, UINT32_MAX, UINT64_C(1) << 32, (UINT64_C(1) << 32) + 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        CHECK(weiri_table_check(&table, others[i]) == NULL);
    }
    remove_number(number);
    CHECK(weiri_table_check(&table, number) == entry); /* the chunk is spare */
    weiri_table_fini(&table, test_allocator());
}

/* Few keys have blocks: each allocation fails in a pass of its own. */
static size_t mostly_short(size_t i)
{
    return i * 36 + (i % 20 == 0 ? 35 : 0);
}

TEST_OOM(out_of_memory, "a key that cannot be stored leaves the table as it was")
{
    table_init(7);
    for (size_t i = 0; i < 600; i++) { /* the array of chunks grows */
        if (insert(mostly_short(i)) == 0) {
            CHECK_INT(table.count, ==, i);
            for (size_t j = 0; j < i; j++) {
                CHECK_INT(find(mostly_short(j)), !=, 0);
            }
            break;
        }
    }
    weiri_table_fini(&table, test_allocator());
}

TEST(fini_in_use, "the end of a table releases what is in it")
{
    table_init(test_random());
    for (size_t i = 0; i < 500; i++) {
        CHECK_INT(insert(i), !=, 0);
    }
    weiri_table_fini(&table, test_allocator());
    CHECK_INT(test_allocated_blocks(), ==, 0);
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/table.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/list.h"
#include "support/harness.h"

#define COUNT 5000

static struct weir_key key_of(size_t number, char *buffer, size_t size)
{
    /* Keys of 1 to 40 bytes: short ones lie in the record, long ones in a block. */
    int length = snprintf(buffer, size, "%zu%.*s", number, (int)(number % 36),
                          "------------------------------------");
    return weir_key_bytes(buffer, (size_t)length);
}

static struct weir_item *intern(struct weiri_table *table, size_t number)
{
    char buffer[64];
    return weiri_table_intern(table, test_allocator(), key_of(number, buffer, sizeof(buffer)));
}

static struct weir_item *find(const struct weiri_table *table, size_t number)
{
    char buffer[64];
    return weiri_table_find(table, key_of(number, buffer, sizeof(buffer)));
}

TEST(interns, "a key finds the same item until it is removed, whatever else comes and goes")
{
    struct weiri_table table;
    weiri_table_init(&table, test_random());
    static struct weir_item *expected[COUNT];
    for (uint64_t step = 0; step < test_scaled(100000); step++) {
        size_t i = (size_t)test_random_below(COUNT);
        CHECK(find(&table, i) == expected[i]);
        if (expected[i] == NULL) {
            expected[i] = intern(&table, i);
            CHECK(expected[i] != NULL);
            CHECK(weiri_item_is_free(expected[i]) && weiri_item_is_keyed(expected[i]));
        } else {
            CHECK(intern(&table, i) == expected[i]);
            weiri_table_remove(&table, test_allocator(), expected[i]);
            expected[i] = NULL;
        }
    }
    size_t count = 0;
    for (size_t i = 0; i < COUNT; i++) {
        CHECK(find(&table, i) == expected[i]);
        count += expected[i] != NULL;
    }
    CHECK_INT(table.records.count, ==, count);
    weiri_table_fini(&table, test_allocator());
}

TEST(keys_are_copied, "a record holds the key's bytes, also none and also zeros")
{
    struct weiri_table table;
    weiri_table_init(&table, 1);
    char bytes[3] = {'a', '\0', 'b'};
    struct weir_item *three =
        weiri_table_intern(&table, test_allocator(), weir_key_bytes(bytes, 3));
    struct weir_item *one = weiri_table_intern(&table, test_allocator(), weir_key_bytes(bytes, 1));
    struct weir_item *none = weiri_table_intern(&table, test_allocator(), weir_key_bytes(NULL, 0));
    CHECK(three != one && one != none && three != none);
    bytes[2] = 'c';
    CHECK(weiri_table_find(&table, weir_key_bytes("a\0b", 3)) == three);
    CHECK(weiri_table_find(&table, weir_key_bytes(bytes, 3)) == NULL);
    CHECK(weiri_table_find(&table, weir_key_bytes("", 0)) == none);
    const struct weiri_record *record = WEIRI_CONTAINER(three, struct weiri_record, item);
    CHECK_INT(record->key_size, ==, 3);
    CHECK(memcmp(weiri_record_key(record), "a\0b", 3) == 0);
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

static void check_told_apart(uint64_t seed, const uint32_t *numbers)
{
    struct weiri_table table;
    struct weir_item *items[2];
    struct weir_key keys[2];
    char buffers[2][32];
    weiri_table_init(&table, seed);
    for (size_t i = 0; i < 2; i++) {
        keys[i] = sized_key(numbers[i], buffers[i], sizeof(buffers[i]));
        CHECK(weiri_table_find(&table, keys[i]) == NULL);
        CHECK(i == 0 || weiri_table_intern_alone(&table, keys[i]) == NULL);
        items[i] = weiri_table_intern(&table, test_allocator(), keys[i]);
    }
    CHECK(weiri_table_intern_alone(&table, keys[0]) ==
          (keys[0].size <= WEIRI_RECORD_INLINE ? items[0] : NULL));
    CHECK(items[0] != NULL && items[1] != NULL && items[0] != items[1]);
    CHECK(weiri_table_find(&table, keys[0]) == items[0]);
    CHECK(weiri_table_intern(&table, test_allocator(), keys[1]) == items[1]);
    weiri_table_remove(&table, test_allocator(), items[0]);
    CHECK(weiri_table_find(&table, keys[0]) == NULL);
    CHECK(weiri_table_find(&table, keys[1]) == items[1]);
    weiri_table_fini(&table, test_allocator());
}

TEST(same_hash, "keys of the same hash are told apart, whatever their sizes")
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
        for (uint32_t i = 0; i < KEYS; i++) {
            char buffer[32];
            struct weir_key key = sized_key(i, buffer, sizeof(buffer));
            hashes[i] = (uint64_t)weiri_sought(seed, key).hash << 32 | i;
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

TEST(memory_returns,
     "after a burst the memory is what it was before, within a chunk and a small table")
{
    struct weiri_table table;
    weiri_table_init(&table, 7);
    static struct weir_item *items[COUNT];
    size_t first_burst = 0;
    for (int burst = 0; burst < 3; burst++) {
        for (size_t i = 0; i < COUNT; i++) {
            items[i] = intern(&table, i);
        }
        for (size_t i = 0; i < COUNT; i++) {
            /* In another order than they came. */
            weiri_table_remove(&table, test_allocator(), items[(i * 2377) % COUNT]);
            CHECK(!weiri_slots_may_trim(&table.slots, table.slots.used));
        }
        CHECK_INT(table.records.count, ==, 0);
        CHECK_INT(table.records.chunk_count, <=, 1);
        CHECK_INT(table.slots.capacity, <=, 64);
        first_burst = burst == 0 ? test_allocated_bytes() : first_burst;
        CHECK_INT(test_allocated_bytes(), ==, first_burst);
    }
    weiri_table_fini(&table, test_allocator());
}

/* Keys lie in chunks in the order in which they come to an empty table. */
static void fill(struct weiri_table *table, struct weir_item **items, size_t chunks)
{
    weiri_table_init(table, 7);
    for (size_t i = 0; i < chunks * WEIRI_CHUNK_RECORDS; i++) {
        items[i] = intern(table, i);
    }
}

static void empty_chunk(struct weiri_table *table, struct weir_item **items, size_t chunk)
{
    for (size_t i = 0; i < WEIRI_CHUNK_RECORDS; i++) {
        weiri_table_remove(table, test_allocator(), items[chunk * WEIRI_CHUNK_RECORDS + i]);
    }
}

TEST(reserve_in_use, "the chunk kept in reserve is one like others as soon as it holds a key again")
{
    struct weiri_table table;
    static struct weir_item *items[2 * WEIRI_CHUNK_RECORDS];
    fill(&table, items, 2);
    empty_chunk(&table, items, 1);
    struct weir_item *item = intern(&table, (size_t)36 * COUNT); /* a short key */
    CHECK_INT(item->weir_slot, >, WEIRI_CHUNK_RECORDS);
    empty_chunk(&table, items, 0);
    CHECK_INT(table.records.chunk_count, ==, 2);
    CHECK(&weiri_records_check(&table.records, item->weir_slot - 1)->item == item);
    weiri_table_fini(&table, test_allocator());
}

TEST(spare_alone, "the record kept at hand does not keep a chunk for itself")
{
    struct weiri_table table;
    static struct weir_item *items[3 * WEIRI_CHUNK_RECORDS];
    fill(&table, items, 3);
    empty_chunk(&table, items, 2);
    CHECK_INT(table.records.chunk_count, ==, 3);
    empty_chunk(&table, items, 1);
    CHECK_INT(table.records.chunk_count, ==, 2);
    weiri_table_fini(&table, test_allocator());
}

TEST(stale_index, "an index is checked: of one not in use, no chunk, out of range")
{
    struct weiri_table table;
    weiri_table_init(&table, 7);
    struct weir_item *item = intern(&table, 1);
    uint32_t index = item->weir_slot - 1;
    CHECK(&weiri_records_check(&table.records, index)->item == item);
    CHECK(weiri_item_is_free(&weiri_records_check(&table.records, index + 1)->item));
    CHECK(weiri_records_check(&table.records, UINT64_MAX) == NULL);
    CHECK(weiri_records_check(&table.records, 1u << 20) == NULL);
    weiri_table_remove(&table, test_allocator(), item);
    CHECK(weiri_item_is_free(&weiri_records_check(&table.records, index)->item));
    weiri_table_fini(&table, test_allocator());
}

TEST_OOM(out_of_memory, "a key that cannot be stored leaves the table as it was")
{
    struct weiri_table table;
    weiri_table_init(&table, 7);
    for (size_t i = 0; i < 300; i++) {
        struct weir_item *item = intern(&table, i);
        if (item == NULL) {
            CHECK(find(&table, i) == NULL);
            CHECK_INT(table.records.count, ==, i);
            for (size_t j = 0; j < i; j++) {
                CHECK(find(&table, j) != NULL);
            }
            break;
        }
    }
    weiri_table_fini(&table, test_allocator());
}

TEST(chunks_between, "the memory of keys is given back from between others', and taken again")
{
    struct weiri_table table;
    weiri_table_init(&table, test_random());
    const size_t count = (size_t)3 * WEIRI_CHUNK_RECORDS;
    for (size_t i = 0; i < count; i++) {
        CHECK(intern(&table, i) != NULL);
    }
    size_t blocks = 0;
    for (int turn = 0; turn < 2; turn++) {
        for (size_t i = 0; i < count; i++) {
            struct weir_item *item = find(&table, i);
            if ((item->weir_slot - 1) >> WEIRI_CHUNK_BITS < 2) {
                weiri_table_remove(&table, test_allocator(), item);
            }
        }
        CHECK(turn == 0 || test_allocated_blocks() == blocks);
        blocks = test_allocated_blocks();
        for (size_t i = 0; i < count && turn == 0; i++) {
            CHECK(intern(&table, i) != NULL);
        }
    }
    weiri_table_fini(&table, test_allocator());
}

/* So many keys come before the chunks lie in blocks, and then in each of those. */
#define OF_BLOCK (WEIRI_BLOCK_SIZE / sizeof(struct weiri_chunk) * WEIRI_CHUNK_RECORDS)

static struct weir_item *intern_number(struct weiri_table *table, uint64_t number)
{
    return weiri_table_intern(table, test_allocator(), weir_key_bytes(&number, sizeof(number)));
}

static struct weir_item *find_number(const struct weiri_table *table, uint64_t number)
{
    return weiri_table_find(table, weir_key_bytes(&number, sizeof(number)));
}

static void remove_number(struct weiri_table *table, uint64_t number)
{
    struct weir_item *item = find_number(table, number);
    CHECK(item != NULL);
    weiri_table_remove(table, test_allocator(), item);
    CHECK(find_number(table, number) == NULL);
}

TEST(blocks, "chunks of many keys lie in blocks, which go when their last key does")
{
    struct weiri_table table;
    weiri_table_init(&table, test_random());
    const uint64_t count = 3 * OF_BLOCK;
    const uint64_t stays = OF_BLOCK + OF_BLOCK / 2;
    size_t before = 0;
    for (int burst = 0; burst < 2; burst++) {
        for (uint64_t i = 0; i < count; i++) {
            CHECK(burst > 0 && i == stays ? find_number(&table, i) != NULL
                                          : intern_number(&table, i) != NULL);
        }
        CHECK_INT(table.records.blocks.count, ==, 2);
        for (uint64_t i = 0; i < count; i++) {
            uint64_t number = i * 100003 % count;
            if (number != stays) {
                remove_number(&table, number);
            }
        }
        CHECK_INT(table.records.count, ==, 1);
        CHECK_INT(table.records.blocks.count, ==, 1);
        CHECK_INT(test_allocated_bytes(), <, WEIRI_BLOCK_SIZE + 3 * sizeof(struct weiri_chunk));
        CHECK(burst == 0 || test_allocated_bytes() == before);
        before = test_allocated_bytes();
    }
    remove_number(&table, stays);
    CHECK_INT(table.records.blocks.count, ==, 0);
    CHECK_INT(test_allocated_bytes(), <, 2 * sizeof(struct weiri_chunk));
    weiri_table_fini(&table, test_allocator());
}

TEST(no_block, "where there is no memory for a block the table is as it was")
{
    struct weiri_table table;
    weiri_table_init(&table, test_random());
    uint64_t number = 0;
    unsigned failed = 0;
    while (number <= 2 * OF_BLOCK) {
        bool is_border = number % OF_BLOCK == 0 && number > 0;
        uint32_t chunks = table.records.chunk_count;
        test_fail_allocation(is_border ? 1 + failed : 0, false);
        struct weir_item *item = intern_number(&table, number);
        test_fail_allocation(0, false);
        if (item != NULL) {
            CHECK(!is_border || failed > 0);
            number++;
            failed = 0;
            continue;
        }
        CHECK(is_border);
        CHECK_INT(++failed, <, 4);
        CHECK_INT(table.records.chunk_count, ==, chunks);
        CHECK_INT(table.records.count, ==, number);
        CHECK(find_number(&table, number) == NULL);
    }
    CHECK_INT(table.records.blocks.count, ==, 2);
    weiri_table_fini(&table, test_allocator()); /* as many as there are */
}

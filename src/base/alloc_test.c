/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/alloc.h"

#include "support/harness.h"

static void *alloc_arg;

static void *noted_alloc(size_t size, void *arg)
{
    alloc_arg = arg;
    return test_allocator()->alloc(size, NULL);
}

TEST(default_allocator, "without functions of one's own, memory is libc's")
{
    struct weir_allocator none = {NULL, NULL, NULL, NULL};
    const struct weir_allocator *sources[] = {NULL, &none};
    for (int i = 0; i < 2; i++) {
        struct weir_allocator memory;
        CHECK_STATUS(weiri_allocator_init(&memory, sources[i], NULL), WEIR_OK);
        char *block = weiri_alloc(&memory, 10);
        CHECK(block != NULL);
        memset(block, 'x', 10);
        block = weiri_resize(&memory, block, 10, 1000, 1);
        CHECK(block != NULL);
        CHECK_INT(block[9], ==, 'x');
        weiri_release(&memory, block, 1000);
        CHECK_INT(test_allocated_blocks(), ==, 0);
    }
}

TEST(large_blocks, "a block keeps its bytes as it becomes large and small again")
{
    struct weir_allocator memory;
    CHECK_STATUS(weiri_allocator_init(&memory, NULL, NULL), WEIR_OK);
    static const size_t sizes[] = {100, 200000, 3000000, 7000000, 150000, 5000, 4000000};
    unsigned char *block = NULL;
    size_t size = 0;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        block = weiri_resize(&memory, block, size, sizes[i], 1);
        CHECK(block != NULL);
        for (size_t at = 0; at < size && at < sizes[i]; at++) {
            CHECK(block[at] == (unsigned char)(at / 7));
        }
        size = sizes[i];
        for (size_t at = 0; at < size; at++) {
            block[at] = (unsigned char)(at / 7);
        }
    }
    weiri_release(&memory, block, size);
}

TEST(large_zeroed, "zeroed memory is zero whatever was there before, large and small")
{
    struct weir_allocator memory;
    CHECK_STATUS(weiri_allocator_init(&memory, NULL, NULL), WEIR_OK);
    for (size_t size = 1000; size < 4000000; size = size * 3 / 2) {
        for (int round = 0; round < 2; round++) {
            unsigned char *block = weiri_alloc_zero(&memory, 1, size);
            CHECK(block != NULL);
            for (size_t at = 0; at < size; at++) {
                CHECK(block[at] == 0);
            }
            memset(block, 'x', size);
            weiri_release(&memory, block, size);
        }
    }
}

TEST(own_allocator, "functions of one's own are called with their argument")
{
    int mark;
    struct weir_allocator own = *test_allocator();
    own.alloc = noted_alloc;
    own.arg = &mark;
    struct weir_allocator memory;
    CHECK_STATUS(weiri_allocator_init(&memory, &own, NULL), WEIR_OK);
    void *block = weiri_alloc(&memory, 10);
    CHECK(alloc_arg == &mark);
    CHECK_INT(test_allocated_bytes(), ==, 10);
    weiri_release(&memory, block, 10);
}

TEST(half_an_allocator, "an allocator with some functions missing is refused")
{
    for (unsigned present = 1; present < 7; present++) {
        struct weir_allocator half = *test_allocator();
        half.alloc = (present & 1) != 0 ? half.alloc : NULL;
        half.resize = (present & 2) != 0 ? half.resize : NULL;
        half.release = (present & 4) != 0 ? half.release : NULL;
        struct weir_allocator memory = *test_allocator();
        CHECK_STATUS(weiri_allocator_init(&memory, &half, NULL), WEIR_EINVAL);
        CHECK(memory.alloc == test_allocator()->alloc);
    }
}

TEST(zeroed, "zeroed memory is zero, and a product that overflows is no memory")
{
    const struct weir_allocator *memory = test_allocator();
    unsigned char *block = weiri_alloc_zero(memory, 3, 5);
    CHECK(block != NULL);
    for (size_t i = 0; i < 15; i++) {
        CHECK_INT(block[i], ==, 0);
    }
    CHECK_INT(test_allocated_bytes(), ==, 15);
    weiri_release(memory, block, 15);

    CHECK(weiri_alloc_zero(memory, SIZE_MAX / 2 + 1, 2) == NULL);
    CHECK(weiri_alloc_zero(memory, SIZE_MAX, SIZE_MAX) == NULL);
    test_fail_allocation(1, false);
    CHECK(weiri_alloc_zero(memory, 1, 1) == NULL);
}

TEST(resized, "a resize keeps the members; one that cannot be leaves the block as it is")
{
    const struct weir_allocator *memory = test_allocator();
    uint64_t *block = weiri_resize(memory, NULL, 0, 2, sizeof(*block));
    CHECK(block != NULL);
    block[0] = 11;
    block[1] = 12;
    block = weiri_resize(memory, block, 2, 100, sizeof(*block));
    CHECK(block != NULL);
    CHECK_INT(block[1], ==, 12);
    CHECK(weiri_resize(memory, block, 100, SIZE_MAX / 4, sizeof(*block)) == NULL);
    test_fail_allocation(1, false);
    CHECK(weiri_resize(memory, block, 100, 200, sizeof(*block)) == NULL);
    block = weiri_resize(memory, block, 100, 1, sizeof(*block));
    CHECK(block != NULL);
    CHECK_INT(block[0], ==, 11);
    CHECK_INT(test_allocated_bytes(), ==, sizeof(*block));
    weiri_release(memory, block, sizeof(*block));
}

TEST(strings, "a string is copied with its NUL and given back whole")
{
    const struct weir_allocator *memory = test_allocator();
    static const char *const texts[] = {"", "a", "a longer text"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char *copy = weiri_copy_string(memory, texts[i]);
        CHECK(copy != NULL);
        CHECK_STRING(copy, texts[i]);
        CHECK_INT(test_allocated_bytes(), ==, strlen(texts[i]) + 1);
        weiri_release_string(memory, copy);
    }
    test_fail_allocation(1, false);
    CHECK(weiri_copy_string(memory, "x") == NULL);
}

TEST(release_null, "giving back NULL is no call of the allocator")
{
    /* test_allocator() fails the test when it is given NULL. */
    weiri_release(test_allocator(), NULL, 10);
    weiri_release_string(test_allocator(), NULL);
    CHECK_INT(test_allocated_blocks(), ==, 0);
}

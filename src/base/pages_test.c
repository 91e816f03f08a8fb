/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* mincore, MAP_FIXED_NOREPLACE */

#include "base/pages.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/forbid_call.h"
#include "support/sanitizer.h"

#define MIB ((size_t)1 << 20)

/* Some end within a page, small or huge. */
static const size_t sizes[] = {2 * MIB, 2 * MIB + 1, 3 * MIB - 4097, 4 * MIB, 5 * MIB, 8 * MIB};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Whether every page of a range, or none, is mapped. */
static bool is_mapped(char *block, size_t size)
{
    size_t mapped = 0;
    size_t pages = 0;
    for (size_t at = 0; at < size; at += page_size(), pages++) {
        unsigned char state;
        int result = mincore(block + at, 1, &state);
        CHECK(result == 0 || errno == ENOMEM);
        mapped += result == 0;
    }
    CHECK(mapped == 0 || mapped == pages);
    return mapped > 0;
}

static void check_place(const char *block)
{
    CHECK_INT((uintptr_t)block % WEIRI_PAGES_MIN, ==, 0);
}

static char byte_of(size_t at)
{
    return (char)(at * 31 / 64 + 1);
}

static void fill(char *block, size_t size)
{
    for (size_t at = 0; at < size; at++) {
        block[at] = byte_of(at);
    }
}

/* What was filled is there still, and all behind it, which never was, is zero. */
static void check_bytes(const char *block, size_t filled, size_t size)
{
    for (size_t at = 0; at < size; at++) {
        if (block[at] != (at < filled ? byte_of(at) : 0)) {
            test_fail(__FILE__, __LINE__, "byte %zu of %zu is wrong", at, size);
        }
    }
}

TEST(whole_life, "a block is zero, begins where a huge page does, and goes at once")
{
    for (size_t i = 0; i < SIZES; i++) {
        char *block = weiri_pages_alloc(sizes[i]);
        CHECK(block != NULL);
        check_place(block);
        check_bytes(block, 0, sizes[i]);
        fill(block, sizes[i]);
        CHECK(is_mapped(block, sizes[i]));
        weiri_pages_release(block, sizes[i]);
        CHECK(!is_mapped(block, sizes[i]));
    }
}

static void resize_all(void)
{
    for (size_t i = 0; i < SIZES; i++) {
        for (size_t j = 0; j < SIZES; j++) {
            char *block = weiri_pages_alloc(sizes[i]);
            CHECK(block != NULL);
            fill(block, sizes[i]);
            char *resized = weiri_pages_resize(block, sizes[i], sizes[j]);
            CHECK(resized != NULL);
            check_place(resized);
            check_bytes(resized, sizes[i] < sizes[j] ? sizes[i] : sizes[j], sizes[j]);
            CHECK(resized == block || !is_mapped(block, sizes[i]));
            if (resized == block && sizes[j] < sizes[i]) {
                size_t used = (sizes[j] + page_size() - 1) & ~(page_size() - 1);
                CHECK(used >= sizes[i] || !is_mapped(block + used, sizes[i] - used));
            }
            weiri_pages_release(resized, sizes[j]);
            CHECK(!is_mapped(resized, sizes[j]));
        }
    }
}

TEST(resized, "a resize keeps the bytes, and gives back what is not needed")
{
    resize_all();
}

TEST(refused, "where mremap(2) is refused, a resize copies")
{
    test_forbid_call(SYS_mremap, SECCOMP_RET_ERRNO | EPERM);
    resize_all();
}

TEST(moved, "a block without room behind it moves, and begins at a huge page again")
{
    size_t size = 4 * MIB;
    char *block = weiri_pages_alloc(size);
    CHECK(block != NULL);
    fill(block, size);
    /* It may be that something lies there already. */
    void *behind =
        mmap(block + size, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    CHECK(behind == MAP_FAILED || behind == block + size);
    char *resized = weiri_pages_resize(block, size, 2 * size);
    CHECK(resized != NULL && resized != block);
    check_place(resized);
    check_bytes(resized, size, 2 * size);
    CHECK(!is_mapped(block, size));
    weiri_pages_release(resized, 2 * size);
    if (behind != MAP_FAILED) {
        CHECK_INT(munmap(behind, 1), ==, 0);
    }
}

TEST(no_memory, "more than there can be is NULL, and the block is as it was")
{
    const size_t too_large[] = {SIZE_MAX, SIZE_MAX - page_size(), SIZE_MAX - 3 * MIB, SIZE_MAX / 2};
    for (size_t i = 0; i < sizeof(too_large) / sizeof(too_large[0]); i++) {
        CHECK(weiri_pages_alloc(too_large[i]) == NULL);
        for (size_t j = 0; j < SIZES; j++) {
            char *block = weiri_pages_alloc(sizes[j]);
            CHECK(block != NULL);
            fill(block, sizes[j]);
            CHECK(weiri_pages_resize(block, sizes[j], too_large[i]) == NULL);
            check_bytes(block, sizes[j], sizes[j]);
            weiri_pages_release(block, sizes[j]);
        }
    }
}

TEST(suit, "large blocks suit, but where a sanitizer would lose sight of them")
{
    CHECK(!weiri_pages_suit(1));
    CHECK(!weiri_pages_suit(WEIRI_PAGES_MIN - 1));
    CHECK(weiri_pages_suit(WEIRI_PAGES_MIN) == !(TEST_ASAN || TEST_TSAN));
    CHECK(weiri_pages_suit(SIZE_MAX) == !(TEST_ASAN || TEST_TSAN));
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/slabs.h"

#include <stdint.h>

#include "support/harness.h"

#define SLAB_SIZE ((size_t)64)
#define POINTERS_MIN (8 * sizeof(void *))

static struct weiri_slabs slabs;

static void grow_to(size_t count)
{
    while (slabs.count < count) {
        CHECK_STATUS(weiri_slabs_grow(&slabs, test_allocator(), SLAB_SIZE), WEIR_OK);
        memset(slabs.slabs[slabs.count - 1], (int)(slabs.count & 0xff), SLAB_SIZE);
    }
}

static void check_contents(void)
{
    for (size_t i = 0; i < slabs.count; i++) {
        const unsigned char *slab = slabs.slabs[i];
        CHECK_INT(slab[0], ==, (i + 1) & 0xff);
        CHECK_INT(slab[SLAB_SIZE - 1], ==, (i + 1) & 0xff);
    }
}

TEST(no_copies, "slabs stay where they are and as they are while others come and go")
{
    grow_to(1);
    const void *first = slabs.slabs[0];
    grow_to(1000);
    CHECK(slabs.slabs[0] == first);
    check_contents();
    weiri_slabs_trim(&slabs, test_allocator(), SLAB_SIZE, 10);
    CHECK_INT(slabs.count, ==, 10);
    CHECK(slabs.slabs[0] == first);
    check_contents();
    weiri_slabs_fini(&slabs, test_allocator(), SLAB_SIZE);
}

TEST(trim, "slabs beyond those to keep go back, and the pointers to them too")
{
    grow_to(1000);
    weiri_slabs_trim(&slabs, test_allocator(), SLAB_SIZE, 1000);
    CHECK_INT(slabs.count, ==, 1000);
    weiri_slabs_trim(&slabs, test_allocator(), SLAB_SIZE, 1);
    CHECK_INT(slabs.count, ==, 1);
    CHECK_INT(test_allocated_bytes(), ==, SLAB_SIZE + POINTERS_MIN);
    weiri_slabs_fini(&slabs, test_allocator(), SLAB_SIZE);
    CHECK_INT(test_allocated_bytes(), ==, 0);
}

TEST(blocks, "many slabs lie in blocks, all of which go back")
{
    const size_t of_block = WEIRI_BLOCK_SIZE / SLAB_SIZE;
    grow_to(3 * of_block + 1);
    check_contents();
    CHECK_INT(test_allocated_blocks(), ==, of_block + 3 + 2); /* and two arrays */
    weiri_slabs_trim(&slabs, test_allocator(), SLAB_SIZE, of_block + 1);
    check_contents();
    CHECK_INT(test_allocated_blocks(), ==, of_block + 2 + 2); /* one in reserve */
    weiri_slabs_trim(&slabs, test_allocator(), SLAB_SIZE, 1);
    CHECK_INT(test_allocated_bytes(), ==, SLAB_SIZE + POINTERS_MIN);
    grow_to(2 * of_block);
    weiri_slabs_fini(&slabs, test_allocator(), SLAB_SIZE);
    CHECK_INT(test_allocated_bytes(), ==, 0);
}

TEST(border, "what comes and goes at the border of a slab finds that slab kept")
{
    for (size_t count = 0; count <= 1000; count++) {
        size_t keep = weiri_slabs_to_keep(count, 64);
        CHECK_INT(keep, >=, (count + 63) / 64); /* enough for what there is */
        CHECK_INT(keep, <=, (count + 63) / 64 + 1);
        size_t one_more = (count + 64) / 64; /* what the next element takes */
        CHECK(count == 0 || weiri_slabs_to_keep(count - 1, 64) >= (count + 63) / 64);
        CHECK_INT(keep, >=, one_more);
    }
}

TEST(failures, "what has no memory leaves everything as it was")
{
    grow_to(8);
    for (uint64_t nth = 1; nth <= 2; nth++) { /* the pointers, and then the slab */
        test_fail_allocation(nth, true);
        CHECK_STATUS(weiri_slabs_grow(&slabs, test_allocator(), SLAB_SIZE), WEIR_ENOMEM);
        test_fail_allocation(0, false);
        CHECK_INT(slabs.count, ==, 8);
        check_contents();
    }
    grow_to(1000);
    test_fail_allocation(1, true);
    weiri_slabs_trim(&slabs, test_allocator(), SLAB_SIZE, 1);
    test_fail_allocation(0, false);
    CHECK_INT(slabs.count, ==, 1);
    check_contents();
    weiri_slabs_trim(&slabs, test_allocator(), SLAB_SIZE, 1);
    CHECK_INT(test_allocated_bytes(), ==, SLAB_SIZE + POINTERS_MIN);
    weiri_slabs_fini(&slabs, test_allocator(), SLAB_SIZE);
}

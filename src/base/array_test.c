/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/array.h"

#include "support/harness.h"

TEST_OOM(grows, "an array keeps its items while it grows, and is as before without memory")
{
    struct weiri_array array = {.item_size = sizeof(size_t)};
    size_t added = 0;
    for (; added < 1000; added++) {
        size_t *item = weiri_array_add(&array, test_allocator());
        if (item == NULL) {
            break;
        }
        *item = added;
    }
    CHECK_INT(array.count, ==, added);
    for (size_t i = 0; i < added; i++) {
        CHECK_INT(((const size_t *)array.items)[i], ==, i);
    }
    weiri_array_free(&array, test_allocator());
    if (added < 1000) {
        CHECK(CHECK_OR_OOM(WEIR_ENOMEM));
    }
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/options.h"

#include <stdint.h>

#include "support/harness.h"

/* The structs of the library, of an older program and of a newer one. */
struct options {
    size_t size;
    uint64_t first;
    uint64_t second;
};
struct older {
    size_t size;
    uint64_t first;
};
struct newer {
    struct options known;
    uint64_t third;
};

static struct options copied(const void *src, enum weir_status expected)
{
    struct options dst;
    memset(&dst, 0x55, sizeof(dst));
    CHECK_STATUS(weiri_options_copy(&dst, sizeof(dst), src), expected);
    return dst;
}

TEST(null_options, "no options are all zero")
{
    struct options dst = copied(NULL, WEIR_OK);
    CHECK_INT(dst.size, ==, sizeof(dst));
    CHECK_INT(dst.first, ==, 0);
    CHECK_INT(dst.second, ==, 0);
}

TEST(same_size, "options of the same size are copied")
{
    struct options src = {sizeof(src), 1, 2};
    struct options dst = copied(&src, WEIR_OK);
    CHECK_INT(dst.size, ==, sizeof(dst));
    CHECK_INT(dst.first, ==, 1);
    CHECK_INT(dst.second, ==, 2);
}

TEST(older_caller, "an older program's shorter options get zeros for what it does not know")
{
    struct older src = {sizeof(src), 7};
    struct options dst = copied(&src, WEIR_OK);
    CHECK_INT(dst.size, ==, sizeof(dst));
    CHECK_INT(dst.first, ==, 7);
    CHECK_INT(dst.second, ==, 0);
    size_t only_size = sizeof(size_t);
    dst = copied(&only_size, WEIR_OK);
    CHECK_INT(dst.first, ==, 0);
}

TEST(newer_caller, "a newer program's longer options are taken where the rest is zero")
{
    struct newer src = {{sizeof(src), 1, 2}, 0};
    struct options dst = copied(&src, WEIR_OK);
    CHECK_INT(dst.size, ==, sizeof(dst));
    CHECK_INT(dst.second, ==, 2);
    src.third = UINT64_C(1) << 63;
    (void)copied(&src, WEIR_EINVAL);
    src.third = 1;
    (void)copied(&src, WEIR_EINVAL);
}

TEST(impossible_sizes, "sizes that no options struct has are refused")
{
    static const size_t sizes[] = {0, 1, sizeof(size_t) - 1, 44, 4097, SIZE_MAX};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct options src = {sizes[i], 0, 0};
        (void)copied(&src, WEIR_EINVAL);
    }
}

TEST(largest_size, "the largest size that is believed")
{
    static union {
        size_t size;
        unsigned char bytes[4096];
    } src;
    src.size = sizeof(src);
    (void)copied(&src, WEIR_OK);
    src.bytes[4095] = 1;
    (void)copied(&src, WEIR_EINVAL);
}

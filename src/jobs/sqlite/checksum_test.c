/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/body.h"

#include <stdint.h>
#include <string.h>

#include "support/harness.h"

TEST(fixed_values, "the checksum is the one that stores on disk hold")
{
    static const struct {
        const char *bytes;
        size_t size;
        uint64_t sum;
    } rows[] = {
        {"", 0, UINT64_C(0x860389c57a9c1205)},
        {"a", 1, UINT64_C(0x70fcc0bd2eb71825)},
        {"a\0", 2, UINT64_C(0xf19352a0165b2e4d)},
        {"weirjobs", 8, UINT64_C(0x72179e540bb16408)},
        {"the quick brown fox", 19, UINT64_C(0xd49066f27bedf991)},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint64_t sum = weiri_checksum(rows[i].bytes, rows[i].size);
        if (sum != rows[i].sum) {
            test_fail(__FILE__, __LINE__, "row %zu: 0x%016llx", i, (unsigned long long)sum);
        }
    }
    CHECK(weiri_checksum(NULL, 0) == rows[0].sum);
}

TEST(damage_in_one_word, "every change within 8 aligned bytes shows")
{
    unsigned char bytes[61];
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (unsigned char)test_random();
    }
    uint64_t sum = weiri_checksum(bytes, sizeof(bytes));
    for (size_t bit = 0; bit < sizeof(bytes) * 8; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1u << (bit % 8));
        CHECK(weiri_checksum(bytes, sizeof(bytes)) != sum);
        bytes[bit / 8] ^= (unsigned char)(1u << (bit % 8));
    }
    for (size_t size = 0; size < sizeof(bytes); size++) {
        CHECK(weiri_checksum(bytes, size) != sum);
    }
    CHECK(weiri_checksum(bytes, sizeof(bytes)) == sum);
}

TEST(alignment, "bytes at any address give the same sum")
{
    static const char text[] = "an unaligned body";
    char bytes[64];
    uint64_t sum = weiri_checksum(text, sizeof(text));
    for (size_t i = 0; i < 16; i++) {
        memcpy(bytes + i, text, sizeof(text));
        CHECK(weiri_checksum(bytes + i, sizeof(text)) == sum);
    }
}

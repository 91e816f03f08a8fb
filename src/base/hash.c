/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/hash.h"

uint64_t weiri_hash_long(const unsigned char *at, size_t size, uint64_t seed)
{
    uint64_t secret = weiri_hash_secret(seed);
    uint64_t state = seed;
    size_t left = size;
    for (; left > 16; left -= 16, at += 16) {
        state = weiri_hash_fold(weiri_read64(at) ^ secret, weiri_read64(at + 8) ^ state);
    }
    /* The last sixteen bytes. Some of them may also be part of the step before. */
    uint64_t first = weiri_read64(at + left - 16);
    uint64_t last = weiri_read64(at + left - 8);
    return weiri_hash_fold(WEIRI_HASH_B ^ (uint64_t)size,
                           weiri_hash_fold(first ^ secret, last ^ state));
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/checksum.h"

/* A word from at most 8 bytes, the first the lowest; compilers make one load of it. */
static uint64_t load(const unsigned char *bytes, size_t size)
{
    uint64_t word = 0;
    for (size_t i = 0; i < size; i++) {
        word |= (uint64_t)bytes[i] << (8 * i);
    }
    return word;
}

/* The product moves low bits up and the shift moves high bits down: both are needed for each bit to
 * reach all others. */
static uint64_t step(uint64_t state, uint64_t word)
{
    state = (state ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return state ^ (state >> 32);
}

uint64_t weiri_checksum(const void *data, size_t size)
{
    return weiri_checksum_behind(UINT64_C(0xcbf29ce484222325), data, size);
}

uint64_t weiri_checksum_behind(uint64_t state, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    state = step(state, (uint64_t)size);
    for (; size >= 8; bytes += 8, size -= 8) {
        state = step(state, load(bytes, 8));
    }
    if (size > 0) {
        state = step(state, load(bytes, size));
    }
    return step(state, 0);
}

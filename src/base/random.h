/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_RANDOM_H
#define WEIRI_RANDOM_H

#include <stdint.h>

/* 64 secret bits from the system, for hash seeds. The schedule explorer derives them from its seed.
 */
uint64_t weiri_random_seed(void);

/* The next of a sequence (splitmix64), for jitter and the like; state is the caller's. */
static inline uint64_t weiri_random_next(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

#endif

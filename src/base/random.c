/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* getrandom */

#include "base/random.h"

#include <sys/random.h>

#include "base/time.h"

uint64_t weiri_random_seed(void)
{
    uint64_t seed;
    if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed)) {
        /* Early in boot there is no entropy: a seed that an attacker might guess is still a seed.
         */
        uint64_t state = (uint64_t)weiri_wall_now();
        /* Mixed between the two: they advance together, and their difference hardly changes. */
        state = weiri_random_next(&state) ^ (uint64_t)weiri_monotonic_now();
        seed = weiri_random_next(&state);
    }
    return seed;
}

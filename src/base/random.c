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
        /* Early in boot there is no entropy. A seed that can be guessed is better than none. */
        uint64_t state = (uint64_t)weiri_wall_now();
        /* The two clocks advance together and their difference hardly changes, so the first is
         * mixed before the second comes in. */
        state = weiri_random_next(&state) ^ (uint64_t)weiri_monotonic_now();
        seed = weiri_random_next(&state);
    }
    return seed;
}

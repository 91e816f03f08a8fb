/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall */

#include "base/random.h"

#include <stdbool.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/harness.h"

static bool has_no_entropy;

/* Replaces libc's function. */
ssize_t getrandom(void *buffer, size_t size, unsigned flags)
{
    return has_no_entropy ? -1 : (ssize_t)syscall(SYS_getrandom, buffer, size, flags);
}

static void check_seeds_differ(void)
{
    uint64_t seeds[64];
    for (size_t i = 0; i < 64; i++) {
        seeds[i] = weiri_random_seed();
        for (size_t other = 0; other < i; other++) {
            CHECK(seeds[other] != seeds[i]);
        }
    }
}

TEST(seeds, "seeds of the system differ")
{
    check_seeds_differ();
}

TEST(no_entropy, "where the system has no entropy yet, seeds differ all the same")
{
    has_no_entropy = true;
    check_seeds_differ();
}

TEST(sequence, "the sequence is splitmix64's, so that a seed means the same for ever")
{
    /* The first numbers of the reference implementation for the state 1234567. */
    static const uint64_t expected[] = {
        UINT64_C(6457827717110365317), UINT64_C(3203168211198807973), UINT64_C(9817491932198370423),
        UINT64_C(4593380528125082431), UINT64_C(16408922859458223821)};
    uint64_t state = 1234567;
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        CHECK(weiri_random_next(&state) == expected[i]);
    }
}

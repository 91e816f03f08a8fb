/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_STRESS_LOST_WAKES_H
#define WEIR_TEST_STRESS_LOST_WAKES_H

/* What if wake-ups are lost below us? In a test that includes this file, with _GNU_SOURCE, one in
 * ten of the calls that end a sleep is not made, whether for a mutex, a waiter or a condition.
 * Everything must be handled all the same, only later: the bound of every wait (base/wait.h) is
 * 5 ms here instead of 10 s. */

#define WEIRI_WAIT_MAX_NS INT64_C(5000000)

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#include "base/futex.h"
#include "base/random.h"
#include "support/harness.h"

static _Atomic uint64_t wakes;
static _Atomic uint64_t losses;
static _Atomic bool lose_all;

/* Of each ten wake-ups one is lost, which one the seed says. */
static bool is_lost(void)
{
    uint64_t wake = atomic_fetch_add_explicit(&wakes, 1, memory_order_relaxed);
    uint64_t state = test_seed() + wake / 10;
    bool is_it = atomic_load(&lose_all) || wake % 10 == weiri_random_next(&state) % 10;
    (void)atomic_fetch_add_explicit(&losses, is_it, memory_order_relaxed);
    return is_it;
}

/* The files under test, compiled with the above; this program's libweir has no others. */
/* NOLINTBEGIN(bugprone-suspicious-include) */
#include "base/wait.c"

static void sure_futex_wake(_Atomic uint32_t *word, int count);
#define weiri_futex_wake sure_futex_wake
#include "base/futex.c"
#undef weiri_futex_wake
/* NOLINTEND(bugprone-suspicious-include) */

void weiri_futex_wake(_Atomic uint32_t *word, int count)
{
    if (!is_lost()) {
        sure_futex_wake(word, count);
    }
}

/* Says what was counted and forgets it: the harness wants nothing. Not every loss is felt: a thread
 * may not sleep yet, or get what it sleeps for without being woken. */
static uint64_t end_losses(void)
{
    uint64_t felt = weiri_wait_lost();
    (void)printf("%llu of %llu wake-ups were lost, %llu waits ended at their bound for it\n",
                 (unsigned long long)atomic_load(&losses), (unsigned long long)atomic_load(&wakes),
                 (unsigned long long)felt);
    CHECK_INT(atomic_load(&losses), >, 0);
    atomic_store(&lost, 0);
    return felt;
}

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_WAIT_H
#define WEIRI_WAIT_H

#include <stdint.h>

/* The bound of every wait of a thread of this process, for a condition or on a word.
 *
 * A wake-up may be lost below us: glibc before 2.41 can (its bug 25847). Whoever waits therefore
 * looks again after this long, so that a loss is a delay and no more. Who finds then that he should
 * have been woken counts that, so that the bound cannot hide a mistake of ours: every test demands
 * that nothing was counted. The schedule explorer's waits have no bound. */
#ifndef WEIRI_WAIT_MAX_NS /* a test that loses wake-ups on purpose has a shorter one */
#    define WEIRI_WAIT_MAX_NS INT64_C(10000000000)
#endif

/* Until when to sleep at one go, of a wait that ends at limit_ns (readings of
 * weiri_monotonic_now()). */
int64_t weiri_wait_end(int64_t limit_ns);

/* A sleep lasted to that bound, and there was a reason to end it before. */
void weiri_wait_count_lost(void);
/* How many did, in this process; one whose wake-up was just under way may be among them. */
uint64_t weiri_wait_lost(void);

#endif

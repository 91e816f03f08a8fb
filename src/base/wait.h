/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_WAIT_H
#define WEIRI_WAIT_H

#include <stdint.h>

/* The upper bound of every sleep, for a condition or on a word.
 *
 * The C library or the kernel may lose a wake-up: glibc before 2.41 can (its bug 25847). Each
 * waiter therefore checks its predicate again after this time, so that a loss is only a delay. A
 * waiter that should have been woken earlier counts the loss. Every test requires a count of zero,
 * so the bound cannot hide a bug of ours. The schedule explorer's waits have no bound. */
#ifndef WEIRI_WAIT_MAX_NS /* a test that loses wake-ups on purpose has a shorter one */
#    define WEIRI_WAIT_MAX_NS INT64_C(10000000000)
#endif

/* The end of the next sleep of a wait that ends at limit_ns. Both are readings of
 * weiri_monotonic_now(). */
int64_t weiri_wait_end(int64_t limit_ns);

/* Counts a sleep that lasted to the bound although there was a reason to end it earlier. */
void weiri_wait_count_lost(void);
/* The count of this process. It may include a sleep that a wake-up was just about to end. */
uint64_t weiri_wait_lost(void);

#endif

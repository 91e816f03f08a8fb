/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_PARK_H
#define WEIRI_PARK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A place where one thread sleeps until another one wakes it. It lasts for one sleep and usually
 * lies on the waiter's stack. The waker finds it in a list that a lock guards, takes it out and
 * sets it, under that lock unless the list is the waker's alone. The waker then makes the
 * system call that ends the sleep (weiri_parker_wake()), after the unlock where it wakes one
 * thread. That call reads no memory of the parker, which may no longer exist. */

struct weiri_parker {
    _Atomic uint32_t is_set;
};

void weiri_parker_init(struct weiri_parker *parker);

/* Sleeps until the parker is set, or weiri_monotonic_now() shows limit_ns (INT64_MAX: no limit).
 * May return for no reason. */
void weiri_parker_sleep(struct weiri_parker *parker, int64_t limit_ns);

/* Ends the wait. The waiter sees all writes made before. */
void weiri_parker_set(struct weiri_parker *parker);
/* For a waiter that has no other way to know: was it set? */
bool weiri_parker_is_set(const struct weiri_parker *parker);

/* Ends the sleep of a parker that was set. The parker may be gone. */
void weiri_parker_wake(struct weiri_parker *parker);

#endif

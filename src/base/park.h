/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_PARK_H
#define WEIRI_PARK_H

#include <stdatomic.h>
#include <stdint.h>

#include <weir/status.h>

/* A place where one thread sleeps until another one lets it go on. Made for one sleep, usually on
 * the sleeper's stack: the waker finds it in a list guarded by a lock, takes it out, and sets it,
 * all under that lock; the system call that ends the sleep comes after the unlock
 * (weiri_parker_wake()), and touches no memory of the parker, which may be gone by then. */

struct weiri_parker {
    _Atomic uint32_t is_set;
};

/* WEIR_ENOMEM: no resources. */
WEIR_NODISCARD enum weir_status weiri_parker_init(struct weiri_parker *parker);
void weiri_parker_fini(struct weiri_parker *parker);

/* Sleeps until the parker is set, or weiri_monotonic_now() shows limit_ns (INT64_MAX: no limit).
 * May return for no reason. */
void weiri_parker_sleep(struct weiri_parker *parker, int64_t limit_ns);

/* As weiri_parker_sleep(), but awake, and for limit_ns from now or a little longer: for what is
 * likely to come sooner than a sleeper could be woken. Needs no weiri_parker_wake(). */
void weiri_parker_spin(struct weiri_parker *parker, int64_t limit_ns);

/* Lets the sleeper go on. What happened before is visible to it. */
void weiri_parker_set(struct weiri_parker *parker);

/* Ends the sleep of a parker that was set; parker may be gone. */
void weiri_parker_wake(struct weiri_parker *parker);

#endif

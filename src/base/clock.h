/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLOCK_H
#define WEIRI_CLOCK_H

#include <stdint.h>

#include <weir/clock.h>

#include "base/list.h"

/* Something that sleeps by a clock. A manual clock calls on_step after each step, on the stepping
 * thread, holding the clock's own lock: on_step may take its object's lock (the order is clock,
 * then object), and must not call the clock but for weir_clock_now(). The real clock never calls.
 */
struct weiri_clock_user {
    struct weiri_list link;
    void (*on_step)(struct weiri_clock_user *user);
};

/* Neither may be called with the user's own lock held. */
void weiri_clock_attach(weir_clock *clock, struct weiri_clock_user *user);
void weiri_clock_detach(weir_clock *clock, struct weiri_clock_user *user);

/* The limit to give weiri_cond_wait_until() so as to sleep until the clock shows time_ns: the time
 * itself on the real clock; for ever on a manual one, whose steps wake its users. */
int64_t weiri_clock_wait_limit(const weir_clock *clock, int64_t time_ns);

/* WEIR_EFORKED: a manual clock of a parent's, which nothing may be attached to. */
WEIR_NODISCARD enum weir_status weiri_clock_check(const weir_clock *clock);

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLOCK_H
#define WEIRI_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/clock.h>

#include "base/list.h"
#include "base/time.h"

/* An object with threads that sleep by a clock. A manual clock calls on_step after each step, on
 * the stepping thread, holding the clock's own lock: on_step may take its object's lock (the order
 * is clock, then object), and may call only weir_clock_now() of the clock. The real clock never
 * calls on_step. */
struct weiri_clock_user {
    struct weiri_list link;
    void (*on_step)(struct weiri_clock_user *user);
};

/* Neither may be called with the user's own lock held. */
void weiri_clock_attach(weir_clock *clock, struct weiri_clock_user *user);
void weiri_clock_detach(weir_clock *clock, struct weiri_clock_user *user);

/* When a wait of timeout_ns that begins now ends. A call computes it once, before its first wait. 0
 * and less are WEIRI_AT_ONCE. A sum past the end of time is WEIR_FOREVER. The clock is read only if
 * needed. */
static inline int64_t weiri_clock_limit(weir_clock *clock, int64_t timeout_ns)
{
    if (timeout_ns <= 0) {
        return WEIRI_AT_ONCE;
    }
    return timeout_ns == WEIR_FOREVER ? WEIR_FOREVER
                                      : weiri_time_add(weir_clock_now(clock), timeout_ns);
}

/* Whether the clock has reached a limit. */
static inline bool weiri_clock_is_past(weir_clock *clock, int64_t limit_ns)
{
    return limit_ns != WEIR_FOREVER && weir_clock_now(clock) >= limit_ns;
}

/* The limit for weiri_cond_wait_until() to sleep until the clock shows time_ns. On the real clock
 * it is that time. On a manual clock it is INT64_MAX, since each step wakes the clock's users. */
int64_t weiri_clock_wait_limit(const weir_clock *clock, int64_t time_ns);

/* WEIR_EFORKED: a manual clock of the parent process. Nothing may be attached to it. */
WEIR_NODISCARD enum weir_status weiri_clock_check(const weir_clock *clock);

#endif

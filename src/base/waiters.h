/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_WAITERS_H
#define WEIRI_WAITERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/clock.h>

#include "base/list.h"
#include "base/park.h"
#include "base/sync.h"

/* Threads that sleep until another one wakes them, in a list that the owner's mutex guards: the
 * consumers of a queue, the workers of a pool, threads that drain.
 *
 * - Each waiter sleeps on a parker of its own, so that a wake-up goes to one thread. The waiter
 *   that came last is woken first: its caches are warm.
 * - One waiter, the timer, sleeps until the earliest pending time. The others sleep until they are
 *   woken, so that one time wakes one thread.
 * - A waiter that was woken is on its way until it holds the mutex again. weiri_waiters_wake()
 *   keeps their count at or below woken_max; weiri_waiters_wake_all() does not. Each unlock of the
 * owner calls weiri_waiters_wake(), which wakes one more if it is needed. So a waiter that leaves
 * work behind wakes the next one by its own unlock.
 *
 * All functions are called with the mutex held. */
struct weiri_waiters {
    struct weiri_list list;
    size_t woken; /* on their way */
    size_t woken_max;
    struct weiri_waiter *timer; /* one of the list; NULL: none */
    int64_t timer_ns;           /* when it wakes up by itself; INT64_MAX: there is no timer */
};

void weiri_waiters_init(struct weiri_waiters *waiters, size_t woken_max);

/* Sleeps once: until woken, until the clock shows limit_ns (WEIR_FOREVER: no limit), or for no
 * reason. next_ns is the earliest pending time (INT64_MAX: none): the waiter becomes the timer
 * unless there is one for that time. Releases the mutex while it sleeps; parker (may be NULL) is
 * one of another waiter, woken as soon as the mutex is released. On a manual clock it sleeps until
 * it is woken, whatever the times: the owner wakes all at each step. */
void weiri_waiters_sleep(struct weiri_waiters *waiters, struct weiri_mutex *mutex,
                         const weir_clock *clock, int64_t next_ns, int64_t limit_ns,
                         struct weiri_parker *parker) WEIRI_REQUIRES(mutex);

/* Takes out a waiter if one is needed: there is work for more than are on their way, or there is a
 * pending time, no timer for it and no waiter on its way. Returns its parker, for the caller to
 * pass to weiri_parker_wake() after the unlock; NULL: none is needed. There is at least one waiter.
 */
struct weiri_parker *weiri_waiters_wake(struct weiri_waiters *waiters, size_t work,
                                        int64_t next_ns);

/* Wakes all, at once. */
void weiri_waiters_wake_all(struct weiri_waiters *waiters);

static inline bool weiri_waiters_is_empty(const struct weiri_waiters *waiters)
{
    return weiri_list_is_empty(&waiters->list);
}

#endif

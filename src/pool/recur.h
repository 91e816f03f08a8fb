/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_RECUR_H
#define WEIRI_RECUR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/sync.h"
#include "pool/plan.h"

struct weiri_round;

/* What a periodic envelope has besides: when it runs, and how far it has come.
 *
 * Its next firing is a pending time of its item. A worker is handed the envelope when that comes,
 * and whenever somebody sends it; which of them it was is told from the time and from a mark that
 * sends leave: a firing that the plan gives up must not take a send with it. */
struct weiri_recurrence {
    struct weiri_plan plan; /* immutable */
    /* Of whoever runs the envelope. */
    struct weiri_plan_state state;
    int64_t wake_ns; /* when it asked to be handed out next */
    /* Written by who sends, taken by who runs. */
    atomic_bool is_asked;
    /* As the marks in struct weir_envelope; false: its next run is its first. */
    atomic_bool is_begun;
};

/* To be called before the envelope is added on behalf of a sender. Whoever then finds it queued
 * already can rely on being seen: of this and the taking of the mark one comes first, and with the
 * later one comes what was written before the earlier. */
static inline void weiri_recurrence_ask(struct weiri_recurrence *recurrence)
{
    weiri_sync_point();
    (void)atomic_exchange_explicit(&recurrence->is_asked, true, memory_order_acq_rel);
}

/* A worker was handed the envelope. False: it is not to be run now, and has been brought back. */
bool weiri_recur_begin(struct weiri_round *round);
/* Its run has ended: brings it back for the next. */
void weiri_recur_again(struct weiri_round *round);
/* Its run has ended, and there will be no other: nothing may be left pending that would begin its
 * schedule anew. */
void weiri_recur_end(struct weiri_round *round);

#endif

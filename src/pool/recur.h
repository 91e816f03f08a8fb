/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_RECUR_H
#define WEIRI_RECUR_H

#include <stdbool.h>
#include <stdint.h>

#include "pool/plan.h"

struct weiri_round;

/* What a periodic envelope has besides: when it runs, and how far it has come.
 *
 * Its next firing is a pending time of its item. A worker is handed the envelope when that comes,
 * and whenever somebody sends it; which of them it was is told from the time and from a mark that
 * sends leave (asks): a firing that the plan gives up must not take a send with it. */
struct weiri_recurrence {
    struct weiri_plan plan; /* immutable */
    /* Of whoever runs the envelope. */
    struct weiri_plan_state state;
    int64_t wake_ns; /* when it asked to be handed out next */
};

/* A worker was handed the envelope. False: it is not to be run now, and has been brought back. */
bool weiri_recur_begin(struct weiri_round *round);
/* Its run has ended: brings it back for the next. */
void weiri_recur_again(struct weiri_round *round);
/* Its run has ended, and there will be no other: nothing may be left pending that would begin its
 * schedule anew. */
void weiri_recur_end(struct weiri_round *round);

#endif

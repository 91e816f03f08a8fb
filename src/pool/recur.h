/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_RECUR_H
#define WEIRI_RECUR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <weir/envelope.h>
#include <weir/key.h>

#include "cron/plan.h"

struct weiri_round;

/* What a periodic envelope has besides: when it runs, and how far it has come.
 *
 * Its next firing is a pending time of its item; that of an expression is a minute off at most,
 * when the wall clock is looked at. A worker is handed the envelope when that comes, and whenever
 * somebody sends it, or did so for a time that comes; which of them it was is told from the time
 * and from marks that sends leave (asks, asked_ns): a firing that the plan gives up must not take a
 * send with it, nor a look at the clock bring one about before its time. */
struct weiri_recurrence {
    struct weiri_plan plan; /* immutable */
    /* Of whoever runs the envelope. */
    struct weiri_plan_state state;
    int64_t wake_ns; /* when it asked to be handed out next */
    /* The earliest time that it was sent for, and that did not come yet; WEIR_FOREVER: none.
     * Written by who sends and who cancels, under the queue's lock, and by who runs. */
    _Atomic int64_t asked_ns;
};

/* Both with the queue's lock held (queue/room.h). A periodic envelope was sent for that time. */
void weiri_recur_added(struct weir_item *item, int64_t time_ns);
/* An envelope was cancelled: so was its schedule, if it has one. */
void weiri_recur_canceled(struct weir_item *item);

/* The next run of a periodic envelope is its first. */
void weiri_recur_forget(weir_envelope *envelope);

/* A worker was handed the envelope. False: it is not to be run now, and has been brought back. */
bool weiri_recur_begin(struct weiri_round *round);
/* Its run has ended: brings it back for the next. */
void weiri_recur_again(struct weiri_round *round);
/* Its run has ended, and its schedule with it, of which nothing is left pending. What was sent
 * during the run is, and begins it anew. */
void weiri_recur_end(struct weiri_round *round);

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_RECUR_H
#define WEIRI_RECUR_H

#include "pool/pool.h"

/* When a periodic envelope runs (struct weiri_recurrence in envelope.h). */

/* All functions here are called with the pool's mutex held. Notes a send for a time;
 * WEIRI_AT_ONCE. */
void weiri_recur_send(weir_pool *pool, weir_envelope *envelope, int64_t time_ns) WEIRI_POOL_LOCKED;

/* The envelope's pending time, time_ns, has come: queues the envelope, or lets it wait again. */
void weiri_recur_pass_time(weir_pool *pool, weir_envelope *envelope,
                           int64_t time_ns) WEIRI_POOL_LOCKED;

/* A worker is about to run the envelope, which is queued. True: it is to be run, for a firing
 * (*ret_due_ns) or for a send (0). Else it waits again. */
bool weiri_recur_begin(weir_pool *pool, weir_envelope *envelope,
                       int64_t *ret_due_ns) WEIRI_POOL_LOCKED;

/* The envelope's run has ended: sets its next time. */
void weiri_recur_again(weir_pool *pool, weir_envelope *envelope) WEIRI_POOL_LOCKED;

/* The envelope's run has ended with WEIR_ESTOP: ends the schedule, and drops earlier sends for
 * later. Sends since then begin a new schedule. */
void weiri_recur_stop(weir_pool *pool, weir_envelope *envelope) WEIRI_POOL_LOCKED;

/* The next firing, on the clock of its schedule; -1: the envelope has none, or none yet. */
int64_t weiri_recur_next_firing(const weir_envelope *envelope);

/* The envelope has no pending time any more: ends the schedule, and forgets all sends. */
void weiri_recur_end(weir_pool *pool, weir_envelope *envelope) WEIRI_POOL_LOCKED;

#endif

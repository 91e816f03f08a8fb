/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_ENDED_H
#define WEIRI_ENDED_H

#include <weir/ended.h>

#include "pool/pool.h"

/* The end of an envelope's flight. It is noted with the pool's mutex held, in a list of the
 * caller. The user is told by weiri_ended_tell_locked(), which releases the mutex for each call.
 *
 * The user's function may call the pool again, and so end further flights. These are told by the
 * outermost call of the thread, after the function has returned: the stack stays as it is. So the
 * pool knows the threads that tell.
 *
 * An envelope may begin another flight in the same pool before the end of the last one was told. If
 * that ends too, the envelope moves to the list of the thread that ends it, which tells twice
 * (untold). So a thread that has told of its list has told of every flight that it ended, and a
 * worker's run is over then (a cancel that waits). */
struct weiri_endings {
    struct weiri_list envelopes;
    struct weiri_list link; /* in the pool's tellers, while a thread tells of these ends */
    uintptr_t thread;       /* that thread */
    /* Of a worker: what it ran, and what that run said of itself. NULL: not a worker's. */
    const weir_envelope *run;
    const char *explanation;
};

static inline void weiri_endings_init(struct weiri_endings *endings)
{
    endings->run = NULL;
    weiri_list_init(&endings->envelopes);
}

/* The envelope has left the core: notes why. dropped counts the runs that were asked for and
 * will not be made. */
void weiri_ended_note_locked(weir_pool *pool, weir_envelope *envelope,
                             enum weir_ended_reason reason, uint32_t dropped,
                             struct weiri_endings *endings) WEIRI_POOL_LOCKED;

/* Drops an envelope that is in flight and does not run. */
void weiri_ended_drop_locked(weir_pool *pool, weir_envelope *envelope,
                             enum weir_ended_reason reason,
                             struct weiri_endings *endings) WEIRI_POOL_LOCKED;

/* Tells the user of all in the list, and gives the references back. Releases the mutex meanwhile.
 */
void weiri_ended_tell_locked(weir_pool *pool, struct weiri_endings *endings) WEIRI_POOL_LOCKED;

/* The thread calls the user between these two: calls that wait for the pool are refused to it, and
 * flights that it ends are told of by the latter. A thread may be in several such pairs. */
void weiri_ended_enter_locked(weir_pool *pool, struct weiri_endings *endings) WEIRI_POOL_LOCKED;
void weiri_ended_leave_locked(weir_pool *pool, struct weiri_endings *endings) WEIRI_POOL_LOCKED;

/* Makes the envelope free for other pools, if it is not in flight and all its ends were told. */
void weiri_envelope_disown_locked(weir_pool *pool, weir_envelope *envelope) WEIRI_POOL_LOCKED;

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_HAND_H
#define WEIRI_HAND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/parallel.h>

#include "base/list.h"
#include "base/lock.h"
#include "base/park.h"
#include "base/sync.h"
#include "pool/share.h"

/* A crew: the hands that do runs of pieces. The first hand is the thread that calls for a run, the
 * others, the helpers, are threads of the crew.
 *
 * The caller puts all chunks into its own share, calls one helper, and begins. A helper that comes
 * steals half of what it finds, and calls the next one if something is still left for it. Nobody
 * waits for a helper that was called: who comes when nothing is left goes back to rest.
 *
 * To call a sleeper costs several microseconds and to start a thread tens, as much as a short run
 * takes as a whole, so runs in quick succession make no system call:
 * - one helper at most, the spinner, waits awake for SPIN_NS after its last run. To call it costs a
 *   store.
 * - one helper at most, the watch, sleeps in short naps while there is a spinner. While it is on
 *   duty, helpers that come do not call the next one; the watch does when it sees one run through
 *   a whole nap. When no run has begun during a nap it goes off duty, so that a crew at rest is
 *   woken by nothing.
 *
 * What makes every worker come in the end, whatever pieces do: while there are chunks that nobody
 * has begun, and helpers that are not in the run, one of these is awake and about to look, or is
 * the watch, or somebody who has just stolen is about to call. docs/internals/parallel.md has the
 * argument. */

#define WEIRI_CREW_MAGIC UINT32_C(0x77715105)

struct weiri_hand {
    struct weiri_share share;
    weir_crew *crew; /* immutable */

    /* Guarded by the crew's lock. */
    struct weiri_list link; /* in resting */
    struct weiri_parker parker;
    bool is_resting; /* in the list */
    bool has_waited; /* awake or on watch, since it last worked */
    bool is_started; /* has a thread, which runs or is about to */

    /* Of whoever starts or joins it. */
    struct weiri_thread thread;
};

/* What is to be done. Written under the lock before a run, and read by its hands. */
struct weiri_run {
    weir_piece_fn *fn;
    void *arg;
    weir_proceed_fn *proceed;
    void *proceed_arg;
    size_t pieces;
    size_t chunk_size;
    _Atomic int status; /* the first that was not WEIR_OK; ends the run */
};

struct weir_crew {
    uint32_t magic;
    /* Immutable after new. */
    struct weir_allocator allocator;
    size_t hand_count;
    bool may_spin;
    struct weiri_hand *hands; /* the caller's first */

    struct weiri_run run;

    struct weiri_lock lock;
    /* Guarded by the lock. */
    uint64_t number WEIRI_GUARDED_BY(lock); /* of the run under way, or of the last */
    bool is_busy WEIRI_GUARDED_BY(lock);    /* a run has not returned */
    bool is_refused WEIRI_GUARDED_BY(lock); /* the system refused it a thread */
    bool is_ending WEIRI_GUARDED_BY(lock);
    /* Helpers that are awake and about to look whether there is something to do: called, or between
     * two runs. */
    size_t coming WEIRI_GUARDED_BY(lock);
    struct weiri_list resting WEIRI_GUARDED_BY(lock); /* helpers that sleep, the latest first */
    struct weiri_hand *spinner WEIRI_GUARDED_BY(lock);
    struct weiri_hand *watch WEIRI_GUARDED_BY(lock);
    struct weiri_parker *caller WEIRI_GUARDED_BY(lock); /* sleeps until it works alone, or NULL */

    /* Written with the lock held, read without by who waits awake. */
    _Atomic uint32_t working; /* hands in the run */
    _Atomic uint32_t bell;    /* changes when the spinner is called */
    /* Hands up to the last that ever had a thread. */
    _Atomic uint32_t reach;
};

static inline void weiri_crew_lock(weir_crew *crew) WEIRI_ACQUIRE(crew->lock)
{
    weiri_lock_lock(&crew->lock);
}

static inline void weiri_crew_unlock(weir_crew *crew) WEIRI_RELEASE(crew->lock)
{
    weiri_lock_unlock(&crew->lock);
}

static inline uint32_t weiri_crew_working(weir_crew *crew)
{
    weiri_sync_point();
    return atomic_load_explicit(&crew->working, memory_order_acquire);
}

static inline bool weiri_run_is_stopped(struct weiri_run *run)
{
    weiri_sync_point();
    return atomic_load_explicit(&run->status, memory_order_relaxed) != WEIR_OK;
}

/* The hand whose share has the most left; NULL: all are empty. */
struct weiri_hand *weiri_crew_richest(weir_crew *crew);

/* Both work on the run until nothing is left to take, or it is stopped: the caller, who has opened
 * it and begins with its chunk 0, which is in nobody's share; and a helper. */
void weiri_hand_begin(struct weiri_hand *self);
void weiri_hand_work(struct weiri_hand *self);

/* Sees to it that somebody comes where there is something left to do. To be called by a hand of the
 * run, so that it does not end meanwhile: by its caller first, and after each steal. */
void weiri_crew_call(weir_crew *crew, bool is_first);

/* What a helper's thread does; arg is its struct weiri_hand. */
void weiri_hand_main(void *arg);

/* Waits until the caller is alone in the run, ends it, and returns its status. */
int weiri_crew_end_run(weir_crew *crew);
/* Ends the helpers; nobody may be in a run. */
void weiri_crew_dismiss(weir_crew *crew);

#endif

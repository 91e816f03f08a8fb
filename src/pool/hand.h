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
 * others, the helpers, are threads of the crew. docs/internals/parallel.md says why each worker
 * comes that is needed, and why none is called in vain too often.
 *
 * A hand is at work, or rests, or is coming: awake, and about to look under the lock whether there
 * is something to do. */

enum weiri_rest {
    WEIRI_NOT_RESTING = 0,
    WEIRI_AWAKE, /* looks for SPIN_NS whether it is called; one helper at most, the spinner */
    WEIRI_NAP,   /* sleeps for NAP_NS at most; one helper at most, the watch */
    WEIRI_ASLEEP /* until it is called */
};

struct weiri_hand {
    struct weiri_share share;
    weir_crew *crew; /* immutable */

    /* Guarded by the crew's lock. */
    struct weiri_list link; /* in asleep */
    struct weiri_parker parker;
    enum weiri_rest rest;
    bool is_started; /* has a thread, which runs or is about to */
    bool has_waited; /* awake, or let that be, since it was last called or at work */
    uint32_t vain;   /* how often in a row it did that without being called meanwhile */
    uint64_t napped; /* the number of the run, under way or the last one, at its last nap */

    struct weiri_thread thread; /* of whoever starts or joins it */
};

/* What is to be done. Written under the lock before a run, and read by its hands. */
struct weiri_run {
    weir_piece_fn *fn;
    void *arg;
    weir_proceed_fn *proceed;
    void *proceed_arg;
    size_t pieces;
    size_t chunk_size;
    size_t eager;
    _Atomic int status; /* the first that was not WEIR_OK; ends the run */
};

struct weir_crew {
    uint32_t magic;
    /* Immutable after new. */
    struct weir_allocator allocator;
    uint64_t process; /* the mark of the one that made it, and has its threads */
    size_t processors;
    size_t hand_count;
    struct weiri_hand *hands; /* the caller's first */

    struct weiri_run run;
    /* Hands up to the last that ever had a thread: the others' shares are empty. Written with the
     * lock held. */
    _Atomic uint32_t reach;

    char padding[64]; /* what is above is read for each piece, what is below written by each hand */
    struct weiri_lock lock;
    uint64_t number WEIRI_GUARDED_BY(lock); /* of the run under way, or of the last */
    bool is_busy WEIRI_GUARDED_BY(lock);    /* a run has not returned */
    bool is_long WEIRI_GUARDED_BY(lock);    /* it has lasted for a nap */
    bool is_refused WEIRI_GUARDED_BY(lock); /* the system refused it a thread */
    bool is_ending WEIRI_GUARDED_BY(lock);
    size_t working WEIRI_GUARDED_BY(lock);
    size_t coming WEIRI_GUARDED_BY(lock);
    struct weiri_hand *spinner WEIRI_GUARDED_BY(lock);
    struct weiri_hand *watch WEIRI_GUARDED_BY(lock);
    struct weiri_list asleep WEIRI_GUARDED_BY(lock); /* helpers, the latest first */
};

static inline void weiri_crew_lock(weir_crew *crew) WEIRI_ACQUIRE(crew->lock)
{
    weiri_lock_lock(&crew->lock);
}

static inline void weiri_crew_unlock(weir_crew *crew) WEIRI_RELEASE(crew->lock)
{
    weiri_lock_unlock(&crew->lock);
}

static inline bool weiri_run_is_stopped(struct weiri_run *run)
{
    weiri_sync_point();
    return atomic_load_explicit(&run->status, memory_order_relaxed) != WEIR_OK;
}

/* What a hand does in a run (hand.c). */

/* Begins with a chunk that was taken out of a share, and takes others until it finds none or the
 * run is stopped; then its own share is empty. */
void weiri_hand_work_from(struct weiri_hand *self, uint32_t chunk);
/* Without a chunk to begin with. */
void weiri_hand_work(struct weiri_hand *self);

/* The first hand with something in its share, from the one after this on, itself last. NULL: all
 * were empty, each when it was looked at. */
struct weiri_hand *weiri_hand_next_rich(struct weiri_hand *self);

/* How hands come and rest (crew.c). */

/* Sees to it that somebody comes where there is something left to do. To be called by a hand at
 * work whenever it has put chunks into a share: a call is owed for them. */
void weiri_crew_call(struct weiri_hand *self);

/* The rest of a run for its caller, who was at work: works on when it is called, and returns the
 * run's status once all hands have left it. */
int weiri_crew_finish(weir_crew *crew);

/* What a helper's thread does; arg is its struct weiri_hand. */
void weiri_hand_main(void *arg);

/* Ends the helpers; nobody may be in a run. */
void weiri_crew_dismiss(weir_crew *crew);

#endif

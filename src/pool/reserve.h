/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_RESERVE_H
#define WEIRI_RESERVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/inline.h"
#include "base/sync.h"

struct weiri_worker;

/* Workers that are awake beyond the number of processors, and do not block, get nothing done: they
 * take the processors from each other, and from whoever sends. So a worker whose runs are short
 * goes into reserve while there are too many of them, and comes out when some of the others have
 * begun to block (docs/internals/pool.md, "Reserve").
 *
 * Of those in reserve one is the watch. It naps, and looks at what the others have got done since.
 * Where that is nothing, and nothing is queued, it waits for an envelope like any worker; if it is
 * handed one, another becomes the watch first. So while somebody is in reserve somebody looks, and
 * nobody is woken while there is nothing to do. */

/* Of a pool. */
struct weiri_reserve {
    size_t awake_max;     /* immutable */
    int64_t short_ns;     /* immutable; a series of runs that takes less is short */
    _Atomic size_t awake; /* workers that run envelopes */
    struct weiri_cond called;
    /* Guarded by the pool's mutex. */
    size_t resting; /* but for the watch */
    size_t calls;   /* how many of them are to come out */
    size_t more;    /* how many the watch calls next, if the others go on blocking */
    int64_t nap_ns; /* the watch's next */
    bool has_watch;
};

/* Of a worker. But for runs_seen, which the pool's mutex guards, its own. */
struct weiri_pace {
    int64_t since_ns; /* when this series of runs began; 0: it is not timed */
    uint32_t runs;    /* in this series */
    bool is_watch;
    uint64_t runs_seen; /* what the watch last saw it had run */
};

/* Runs between two looks at whether a worker is too many. */
#ifdef WEIRI_EXPLORER
#    define WEIRI_PACE_RUNS 1
#else
#    define WEIRI_PACE_RUNS 16
#endif

WEIR_NODISCARD enum weir_status weiri_reserve_init(struct weiri_reserve *reserve,
                                                   struct weiri_mutex *mutex);
void weiri_reserve_fini(struct weiri_reserve *reserve);

/* A worker that was idle has got an envelope; it is idle again, unless it goes into reserve. */
void weiri_reserve_begin(struct weiri_worker *worker);
void weiri_reserve_end(struct weiri_worker *worker);

/* The worker leaves the pool: it is not the watch any more. */
void weiri_reserve_leave(struct weiri_worker *worker);

/* True: the worker is too many, is not counted as awake any more, and is to rest. */
bool weiri_reserve_is_surplus(struct weiri_worker *worker);

/* The same, asked after each run. */
WEIRI_INLINE bool weiri_reserve_is_due(struct weiri_worker *worker, struct weiri_pace *pace)
{
    if (++pace->runs < WEIRI_PACE_RUNS) {
        return false;
    }
    pace->runs = 0;
    return weiri_reserve_is_surplus(worker);
}

/* Stays in reserve, with nothing in hand, as long as the pool runs and the worker is of no use. */
void weiri_reserve_rest(struct weiri_worker *worker);

#endif

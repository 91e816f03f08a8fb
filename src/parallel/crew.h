/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CREW_H
#define WEIRI_CREW_H

#include <weir/parallel.h>

#include "base/sync.h"

/* The state of a crew, for crew.c and for tests to read. A helper is a thread of the crew. */

struct weiri_helper {
    weir_crew *crew; /* immutable */
    struct weiri_thread thread;
    struct weiri_cond woken;
    bool is_asleep; /* guarded by the crew's mutex; false ends the sleep */
};

struct weir_crew {
    uint32_t magic;
    uint64_t process; /* the mark of the process that made the crew */
    struct weir_allocator memory;
    size_t helper_count;
    size_t processors;

    /* The run. Written under the mutex while no worker is in it; workers read it without. */
    weir_piece_fn *fn; /* NULL: no run */
    void *arg;
    struct weir_parallel_options how;
    size_t pieces;
    uint64_t chunks;    /* at most UINT32_MAX, so that the counter cannot overflow */
    _Atomic int status; /* the first that was not WEIR_OK ends the run; written under the mutex */

    struct weiri_mutex mutex;
    struct weiri_cond left WEIRI_GUARDED_BY(mutex); /* the last worker has left the run */
    uint64_t number WEIRI_GUARDED_BY(mutex);        /* of the latest run */
    size_t eager WEIRI_GUARDED_BY(mutex);           /* number of workers that are enough for it */
    size_t working WEIRI_GUARDED_BY(mutex);         /* number of workers in it */
    size_t started WEIRI_GUARDED_BY(mutex);         /* number of helpers that have threads */
    struct weiri_helper *standby WEIRI_GUARDED_BY(mutex); /* sleeps for STANDBY_NS at most */
    bool is_waking WEIRI_GUARDED_BY(mutex);               /* a helper is on its way to the mutex */
    bool is_ending WEIRI_GUARDED_BY(mutex);

    _Atomic uint64_t next_chunk; /* written for each chunk; far from what each piece reads */
    struct weiri_helper helpers[];
};

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_PARALLEL_H
#define WEIR_PARALLEL_H

#include <stddef.h>

#include <weir/allocator.h>
#include <weir/export.h>
#include <weir/status.h>

WEIR_BEGIN_DECLS

/** @file
 * Many pieces of one piece of work, done by several threads at once: what client-go's
 * ParallelizeUntil is for. Pieces have numbers and nothing else; nothing is queued or allocated for
 * them.
 *
 * A run calls a function once for every number below a count, and returns when all those calls have
 * returned. The calling thread is one of the workers. The others come one after the other while
 * there are pieces that nobody has begun, so that a run which is over soon disturbs nobody, and one
 * whose pieces block gets all the workers it may have within a fraction of a millisecond. In which
 * order pieces are begun, and by whom, is not promised; a worker takes chunk_size of them with
 * neighbouring numbers at a time.
 *
 * The first piece that returns anything but WEIR_OK ends the run: pieces that were begun are
 * waited for, no others are begun, and the run returns what that piece did.
 *
 * Where the system refuses a thread the run goes on with those that are there, so pieces must not
 * wait for one another.
 *
 * After fork() the child must not use the parent's crews. */

/** Does the piece of this number, which is below the run's count. Called at most once for each in a
 * run, by the caller's thread and the workers', several at a time, with no lock held; may block,
 * and may start runs of its own, though not with the same crew. What the caller wrote before the
 * run is visible to it, and what it wrote to the caller after. WEIR_OK, or any other status, also
 * one of the user's own (WEIR_EUSER), which ends the run. */
typedef int weir_piece_fn(size_t piece, void *arg);

/** Asked before each piece whether to go on, by the thread that is about to begin it, with no lock
 * held: WEIR_OK, or what the run is to return as if a piece had. So a flag or a deadline of the
 * user's ends a run; WEIR_ECANCELED is the usual answer. */
typedef int weir_proceed_fn(void *arg);

/** How to run. Zero means the default of every field. */
struct weir_parallel_options {
    size_t size;              /**< Set by WEIR_PARALLEL_OPTIONS_INIT. */
    size_t chunk_size;        /**< Pieces that are taken at a time; 0: 1. */
    weir_proceed_fn *proceed; /**< Optional. */
    void *proceed_arg;        /**< Passed to proceed. */
};

/** Initialiser of struct weir_parallel_options. */
#define WEIR_PARALLEL_OPTIONS_INIT                                                                 \
    {                                                                                              \
        sizeof(struct weir_parallel_options), 0, 0, 0                                              \
    }

/** Does pieces pieces on at most so many threads (1 to 4096, the caller's included), which are
 * started for this run and have ended when it returns. Starting them costs tens of microseconds:
 * whoever does that often keeps a crew. Memory is libc's. options may be NULL. Returns WEIR_OK when
 * all pieces have; what the first other piece, or proceed, returned; WEIR_EINVAL (workers, fn NULL,
 * options of an unknown size or with an unknown field set) or WEIR_ENOMEM, then nothing was begun.
 */
WEIR_API WEIR_NODISCARD int weir_parallelize(size_t workers, size_t pieces, weir_piece_fn *fn,
                                             void *arg,
                                             const struct weir_parallel_options *options);

/** Threads that are kept from run to run. Opaque. */
typedef struct weir_crew weir_crew;

/** What a crew is made with. Zero means the default of every field but workers. */
struct weir_crew_options {
    size_t size;                     /**< Set by WEIR_CREW_OPTIONS_INIT. */
    struct weir_allocator allocator; /**< Copied; all members NULL: libc's. */
    size_t workers;                  /**< Most threads of a run, the caller's included; required,
                                          1 to 4096. */
};

/** Initialiser of struct weir_crew_options. */
#define WEIR_CREW_OPTIONS_INIT                                                                     \
    {                                                                                              \
        sizeof(struct weir_crew_options), {0, 0, 0, 0}, 0                                          \
    }

/** Makes a crew. It starts threads only when a run first needs them, and lets them sleep between
 * runs; for some microseconds after each run one of them waits awake for the next. Returns owned:
 * weir_crew_free(). Errors: WEIR_EINVAL (options or ret_crew NULL, no workers or too many, options
 * of an unknown size or with an unknown field set, an allocator with some members NULL),
 * WEIR_ENOMEM. */
WEIR_API WEIR_NODISCARD enum weir_status weir_crew_new(const struct weir_crew_options *options,
                                                       weir_crew **ret_crew);

/** Does pieces pieces as weir_parallelize() does, with the crew's threads and without an
 * allocation. Thread-safe, but a crew does one run at a time: WEIR_EBUSY, for another thread and
 * for a piece of the run itself. options may be NULL. Else returns as weir_parallelize(), but never
 * WEIR_ENOMEM of its own. */
WEIR_API WEIR_NODISCARD int weir_crew_run(weir_crew *crew, size_t pieces, weir_piece_fn *fn,
                                          void *arg, const struct weir_parallel_options *options);

/** Frees a crew and blocks until its threads have ended. Takes NULL. No other thread may be in a
 * call on it, nor a piece of its own call this. */
WEIR_API void weir_crew_free(weir_crew *crew);

WEIR_END_DECLS

#endif

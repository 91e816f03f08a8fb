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
 * returned. The calling thread is one of the workers. In which order pieces are begun, and by whom,
 * is not promised; a worker takes chunk_size of them with neighbouring numbers at a time, and does
 * those in order.
 *
 * The others come one after the other while there are chunks that nobody has begun: at first as
 * many as there are processors (the option eager), and the rest when the run has lasted for a
 * fraction of a millisecond. So a run that is soon over disturbs nobody, and one whose pieces block
 * gets all the workers it may have: a chunk that nobody has begun waits for a worker that is on its
 * way, never for a piece of another chunk, unless all workers are in pieces. Where the system
 * refuses a thread the run goes on with those that are there, so pieces must not wait for one
 * another to make progress.
 *
 * The first piece that returns anything but WEIR_OK ends the run. "First" is as the returns came to
 * be known, not by number: what other pieces return later is dropped. Pieces that were begun, or
 * were just about to be, are waited for, at most one each worker; no others are begun.
 *
 * A crew keeps its threads from run to run; weir_parallelize() makes and ends them for one run.
 * There are no other threads, and none that the user does not own: before weir_crew_free() and
 * weir_parallelize() return, those threads have ended. They have all signals blocked, and their
 * name is "weir-crew". A process may end while a crew exists.
 *
 * After fork() a child can run nothing with a crew of its parent's (WEIR_EFORKED), but may free it,
 * and make its own. */

/** Does the piece of this number, which is below the run's count. Called at most once for each in a
 * run, by the caller's thread and the workers', several at a time, with no lock held. It may block,
 * and start runs of its own, though not with the same crew; it must return, and not end its thread.
 * What the caller wrote before the run is visible to it, and what it wrote is visible to the caller
 * after the run. Returns WEIR_OK, or any other status, also one of the user's own (WEIR_EUSER),
 * which ends the run. */
typedef int weir_piece_fn(size_t piece, void *arg);

/** Asked before each piece whether to go on, by the thread that is about to begin it, with no lock
 * held: WEIR_OK, or what the run is to return as if a piece had. So whatever the user's code can
 * look at, a flag that another thread sets or a deadline, cancels a run; WEIR_ECANCELED is the
 * usual answer. A task of a pool passes its context's limits on by asking weir_context_check(). */
typedef int weir_proceed_fn(void *arg);

/** How to run. Zero means the default of every field. */
struct weir_parallel_options {
    size_t size;              /**< Set by WEIR_PARALLEL_OPTIONS_INIT. */
    size_t chunk_size;        /**< Pieces that are taken at a time; 0: 1. More are taken where there
                                   would be more than 4,294,967,295 chunks. */
    size_t eager;             /**< Workers that come as fast as they can be woken, the caller's
                                   thread included; 0: as many as there were processors for the
                                   thread that made the crew. Raise it to the count of workers where
                                   pieces block and fractions of a millisecond count. */
    weir_proceed_fn *proceed; /**< Optional. */
    void *proceed_arg;        /**< Passed to proceed. */
};

/** Initialiser of struct weir_parallel_options. */
#define WEIR_PARALLEL_OPTIONS_INIT                                                                 \
    {                                                                                              \
        sizeof(struct weir_parallel_options), 0, 0, 0, 0                                           \
    }

/** Does so many pieces on at most so many threads (1 to 4096, the caller's included), which are
 * started for this run and have ended when it returns; more than there are chunks are not. Starting
 * one costs tens of microseconds: whoever does that often keeps a crew. Blocks until all pieces
 * that were begun have returned; thread-safe. Memory is libc's. options may be NULL and are not
 * kept.
 *
 * Returns WEIR_OK when all pieces have, also where there are none; else what the first other piece,
 * or proceed, returned. Errors of its own, before anything was begun: WEIR_EINVAL (workers 0 or too
 * many, fn NULL, options of an unknown size or with an unknown field set), WEIR_ENOMEM. */
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

/** Makes a crew. It takes some 300 bytes a worker, and starts a thread only when a run first needs
 * it. Between runs its threads sleep until they are called, but for 20 us after a run in which one
 * of them waits awake for the next (not where there is one processor only), and in crews of more
 * workers than processors 250 us naps of one of them until a nap has seen no run begin. Does not
 * block. Returns owned: weir_crew_free(). Errors: WEIR_EINVAL (options or ret_crew NULL, no workers
 * or too many, options of an unknown size or with an unknown field set, an allocator with some
 * members NULL), WEIR_ENOMEM. */
WEIR_API WEIR_NODISCARD enum weir_status weir_crew_new(const struct weir_crew_options *options,
                                                       weir_crew **ret_crew);

/** Does so many pieces as weir_parallelize() does, with the crew's threads and without an
 * allocation. Blocks until all pieces that were begun have returned. Thread-safe, but a crew does
 * one run at a time: WEIR_EBUSY for another thread, and for a piece of the run itself. options may
 * be NULL and are not kept. Returns as weir_parallelize(). Errors of its own, before anything was
 * begun: WEIR_EINVAL (crew or fn NULL, options of an unknown size or with an unknown field set),
 * WEIR_EBUSY, WEIR_EFORKED. */
WEIR_API WEIR_NODISCARD int weir_crew_run(weir_crew *crew, size_t pieces, weir_piece_fn *fn,
                                          void *arg, const struct weir_parallel_options *options);

/** Frees a crew and blocks until its threads have ended; in a child of the process that made it,
 * frees its memory. Takes NULL. No other thread may be in a call on it; from a piece of its own run
 * it ends the program with a message. */
WEIR_API void weir_crew_free(weir_crew *crew);

WEIR_END_DECLS

#endif

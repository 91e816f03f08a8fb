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
 * One piece of work in many pieces, done by several threads at once: what client-go's
 * ParallelizeUntil is for. A run calls a function once for every number below a count, and returns
 * when all those calls have returned. The calling thread is one of the workers. A worker takes a
 * chunk of chunk_size pieces with neighbouring numbers at a time and does them in order. The order
 * between chunks is not promised.
 *
 * The other workers come one after another while there are chunks that no worker has begun: at
 * first as many as there are processors (the option eager), the rest when the run has lasted for a
 * fraction of a millisecond. So a short run wakes few threads, and a run whose pieces block gets
 * all the workers it may have. If the system refuses a thread, the run goes on with the threads it
 * has. Therefore pieces must not wait for one another.
 *
 * The first piece that returns anything but WEIR_OK ends the run. "First" is the order in which the
 * returns become known, not the order of numbers; later statuses are dropped. The run waits for
 * pieces that were begun or about to be, at most one for each worker, and begins no others.
 *
 * A crew keeps its threads from run to run; weir_parallelize() makes and ends threads for one run.
 * They end before weir_crew_free() or weir_parallelize() returns. Their name is "weir-crew", and
 * each has the signal mask of the thread whose run starts it. A process may end while one exists.
 *
 * After fork() a child cannot run anything with a crew of its parent's (WEIR_EFORKED). It may free
 * that crew, and make its own. */

/** Does the piece with this number, which is below the run's count. A run calls it at most once for
 * each number, on the caller's thread and on the crew's threads, several at a time, with no lock
 * held. It may block, and it may start runs, but not with the same crew. It must return and not end
 * its thread. It sees what the caller wrote before the run, and the caller sees what it wrote after
 * the run. Returns WEIR_OK; any other status, also a user's own (WEIR_EUSER), ends the run. */
typedef int weir_piece_fn(size_t piece, void *arg);

/** Asked before each piece whether to go on, on the thread that is about to begin the piece, with
 * no lock held. Returns WEIR_OK, or the status that the run is to return as if a piece had:
 * WEIR_ECANCELED where another thread has set a flag, or in a task of a pool what
 * weir_context_check() says. */
typedef int weir_proceed_fn(void *arg);

/** How to run. Zero means the default of every field. */
struct weir_parallel_options {
    size_t chunk_size; /**< Pieces that a worker takes at a time; 0: 1. It takes more if there would
                            be more than 4,294,967,295 chunks. */
    size_t eager;      /**< Workers that come as fast as they can be woken, the caller's thread
                            included; 0: the count of processors that the thread which made the crew
                            could use. Raise it to the count of workers if pieces block and
                            fractions of a millisecond count. */
    weir_proceed_fn *proceed; /**< Optional. */
    void *proceed_arg;        /**< Passed to proceed; borrowed during the run. */
};

/** Does this many pieces on at most this many threads (1 to 4096, the caller's included). The
 * threads are started for this run, no more than there are chunks, and have ended when it returns.
 * To start a thread takes tens of microseconds, so a program that runs often keeps a crew. Blocks
 * until all pieces that were begun have returned. Thread-safe. Memory is libc's. options may be
 * NULL and are not kept. Returns WEIR_OK when all pieces have returned it, also if there are none;
 * else the first other status that a piece or proceed returned. Errors of its own, before any piece
 * is begun: WEIR_EINVAL (workers 0 or too many, fn NULL), WEIR_ENOMEM. */
WEIR_API WEIR_NODISCARD int weir_parallelize(size_t workers, size_t pieces, weir_piece_fn *fn,
                                             void *arg,
                                             const struct weir_parallel_options *options);

/** Threads that are kept from run to run. Opaque. */
typedef struct weir_crew weir_crew;

/** What a crew is made with. Zero means the default of every field but workers. */
struct weir_crew_options {
    struct weir_allocator allocator; /**< Copied; all members NULL: libc's. */
    size_t workers;                  /**< Most threads of a run, the caller's included; required, 1
                                          to 4096. */
};

/** Makes a crew. It takes some 120 bytes a worker, and starts a thread only when a run first needs
 * it. Between runs its threads sleep. Does not block. Returns owned: weir_crew_free(). Errors:
 * WEIR_EINVAL (no workers or too many, allocator), WEIR_ENOMEM. */
WEIR_API WEIR_NODISCARD enum weir_status weir_crew_new(const struct weir_crew_options *options,
                                                       weir_crew **ret_crew,
                                                       struct weir_error *ret_error);

/** Does this many pieces as weir_parallelize() does, with the crew's threads and without an
 * allocation. Thread-safe, but a crew does one run at a time: WEIR_EBUSY for another thread, and
 * for a piece of the run itself. Errors of its own, before any piece is begun: WEIR_EINVAL (crew or
 * fn NULL), WEIR_EBUSY, WEIR_EFORKED. */
WEIR_API WEIR_NODISCARD int weir_crew_run(weir_crew *crew, size_t pieces, weir_piece_fn *fn,
                                          void *arg, const struct weir_parallel_options *options);

/** Frees a crew and blocks until its threads have ended; in a child of the process that made it,
 * frees its memory only. Takes NULL. No other thread may be in a call on it but a run. Errors:
 * WEIR_EBUSY (a run is under way; nothing changed), WEIR_EINVAL (no crew). */
WEIR_API enum weir_status weir_crew_free(weir_crew *crew);

WEIR_END_DECLS

#endif

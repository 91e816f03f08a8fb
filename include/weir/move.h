/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_MOVE_H
#define WEIR_MOVE_H

#include <stdint.h>

#include <weir/broker.h>
#include <weir/export.h>
#include <weir/status.h>

WEIR_BEGIN_DECLS

/** @file
 * Moving jobs from one broker to another. */

/** Counts of a move: found is the sum of the others. Of a cluster it counts copies, so that a job
 * with three copies is found three times, moved once and repeated twice. */
struct weir_move_counts {
    uint64_t found;    /**< Delayed and ready jobs of the source that the move came to. */
    uint64_t moved;    /**< Put into the target, and deleted from the source. */
    uint64_t repeated; /**< Deleted from the source: the target has them, or they were done. */
    uint64_t left;     /**< In the source as before; the source's log says why. */
    uint64_t both;     /**< Put into the target, perhaps, and not deleted from the source. */
};

/** What a move has just done. */
enum weir_move_step {
    WEIR_MOVE_READ = 1, /**< Read or reserved jobs of the source. */
    WEIR_MOVE_PUT,      /**< Put a job into the target, durably. */
    WEIR_MOVE_REMOVED   /**< Deleted jobs from the source. */
};

/** Tells of each step of a move; returns 0 to go on, anything else to end it before the next job.
 * On the caller's thread, with no lock held. */
typedef int weir_move_fn(enum weir_move_step step, const struct weir_move_counts *counts,
                         void *arg);

/** Moves the jobs of a tube that are delayed or ready when it begins. Reserved and buried ones
 * stay. Each job is put into the target durably before it is deleted from the source, so that none
 * is lost whenever the move ends or is killed; up to 64 jobs of a store, and one of a cluster, are
 * in both then. A move that is repeated knows such a job again: an SQLite target keeps one, but
 * where a worker has done it meanwhile, it runs again. A cluster with claims runs it once, one
 * without may run it again.
 *
 * Body, run time, priority and TTR are kept; so is the identity, as put_id, but by a cluster. A job
 * is left where another one has that with another body. The id is a new one, attempts begin anew,
 * and keys are left. Jobs of SQLite stores may have equal bodies and run times, so each that goes
 * to a cluster gets its number in nanoseconds and, by its store, up to 100 ms added to its run
 * time; from cluster to cluster a job gets up to 1 ms. A job that is overdue by more than half of
 * the target's `late` gets the present as its run time, from a store to a cluster in the source
 * first: it would be late there. From cluster to cluster it does not. So does a ready job whose run
 * time lies ahead, since the clock was set back: it would be delayed.
 *
 * One move at a time leaves an SQLite store, and none of another store enters it: WEIR_EBUSY, with
 * the process' name. Workers may go on. A job of a store that one of them takes, or a put or an
 * operator changes, after it was put into the target is taken back from there, and left; if that is
 * too late, it is counted in both, and may run twice. One reserved in a cluster stays.
 *
 * Jobs on a source node that does not answer are not moved (WEIR_EUNKNOWN, after the others were).
 * With claims its copies of jobs that were moved are deleted within `remember`, or by another move;
 * later, and without claims, they are jobs again. Without claims a job also runs again where a
 * worker of the target is done with it before its last copy was moved.
 *
 * Blocks. Thread-safe. fn (may be NULL) is told of each step. ret_counts (may be NULL) receives the
 * counts, after a failure too. Errors: WEIR_EINVAL (tube, one broker or one store as source and
 * target), WEIR_ETOOBIG (tube), WEIR_EBUSY (see above), WEIR_EACCESS (read-only), and of either
 * broker WEIR_EUNAVAILABLE, WEIR_EUNKNOWN and those of the storage; the move has ended there. */
WEIR_API WEIR_NODISCARD enum weir_status weir_broker_move(weir_broker *from, weir_broker *to,
                                                          const char *tube, weir_move_fn *fn,
                                                          void *arg,
                                                          struct weir_move_counts *ret_counts,
                                                          struct weir_error *ret_error);

WEIR_END_DECLS

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_ENDED_H
#define WEIR_ENDED_H

#include <stddef.h>
#include <stdint.h>

#include <weir/envelope.h>
#include <weir/export.h>

WEIR_BEGIN_DECLS

/** @file
 * The end of an envelope for its pool: a pool's ended function is told of every envelope that is
 * not in flight any more, with the reason and the status of its last run, so that nothing that was
 * sent is lost in silence. An envelope's outcome function (weir/envelope.h) is told of each run
 * instead: of one that is followed by another too, and of nothing that is not run. */

/** Why an envelope has ended. The numbers are part of the ABI. */
enum weir_ended_reason {
    WEIR_ENDED_DONE = 1,       /**< Its last run returned WEIR_OK or WEIR_ESTOP. */
    WEIR_ENDED_FAILED = 2,     /**< Its last run failed, and nothing asked for another. */
    WEIR_ENDED_EXHAUSTED = 3,  /**< The same, but its attempts (weir/retry.h) forbade another. */
    WEIR_ENDED_TIMED_OUT = 4,  /**< Its last run returned WEIR_ETIMEDOUT, which is no failure. */
    WEIR_ENDED_CANCELED = 5,   /**< It was cancelled, or its last run returned WEIR_ECANCELED. */
    WEIR_ENDED_DISPLACED = 6,  /**< A later one took its slot (WEIR_FULL_DROP_OLDEST). */
    WEIR_ENDED_DRAINED = 7,    /**< It was to run later, or was kept; the pool was drained. */
    WEIR_ENDED_FINISHED = 8,   /**< The pool was finished (WEIR_END_FINISH). */
    WEIR_ENDED_STOPPED = 9,    /**< The pool was stopped. */
    WEIR_ENDED_TERMINATED = 10 /**< The pool was terminated, or freed. */
};

/** An end. */
struct weir_ended {
    weir_pool *pool;         /**< The pool. */
    weir_envelope *envelope; /**< The envelope, valid during the call. */
    uint32_t reason;         /**< Of enum weir_ended_reason. */
    /** What its last run said of itself (weir_context_explain()), where the end of that run ended
     * it; else "". Valid during the call. */
    const char *explanation;
    int status;       /**< Of its last run since it was sent; WEIR_ECANCELED if there was none. */
    uint32_t runs;    /**< Since it was sent. */
    uint32_t dropped; /**< Runs that were dropped when the flight ended or during its last run; 0:
                           it ended by itself. A failure whose retry was forbidden counts as none. A
                           pending time that a drain takes from a queued envelope is counted in
                           weir_pool_count() only. */
};

/** Called once for each flight (weir_pool_send()) that ended, after the slot was given back and
 * before the pool's reference is. If an envelope is sent again and ends again before the call for
 * its first end, both calls report the second end. Called on the thread that ends the flight,
 * several may be at once, with no lock held. It may call anything, also send the envelope again, to
 * the same pool at once and to another one after it has returned. What waits for this pool to end,
 * to pause or to be idle is WEIR_ESTATE, whichever the thread; it must not wait for a run in
 * another way. Drops that it causes are reported after its return, by the same thread. arg is
 * ended_arg of struct weir_pool_options. */
typedef void weir_ended_fn(const struct weir_ended *ended, void *arg);

/** The reason in words, none of which is empty or NULL: "done", "failed", … */
WEIR_API const char *weir_ended_reason_text(uint32_t reason);

WEIR_END_DECLS

#endif

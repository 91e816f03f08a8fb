/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_LIFECYCLE_H
#define WEIR_LIFECYCLE_H

#include <stddef.h>
#include <stdint.h>

#include <weir/envelope.h>
#include <weir/export.h>
#include <weir/pool.h>
#include <weir/status.h>

WEIR_BEGIN_DECLS

/** @file
 * The states of a pool: init -> running -> stopping -> stopped -> running …, and terminated, from
 * which nothing returns.
 *
 * The calls below and weir_pool_start(), weir_pool_drain() and weir_pool_stop() may be made from
 * any thread, any number of times and at once: they take effect one after the other. What a call
 * does in each state:
 *
 * | call      | init       | running      | stopping         | stopped        | terminated     |
 * |-----------|------------|--------------|------------------|----------------|----------------|
 * | send      | kept       | run          | WEIR_ESHUTDOWN   | WEIR_ESHUTDOWN | WEIR_ESHUTDOWN |
 * | start     | running    | WEIR_ESTATE  | waits, running   | running        | WEIR_ESTATE    |
 * | drain     | WEIR_ESTATE| stopped      | waits with it    | as it ended    | as it ended    |
 * | stop      | WEIR_ESTATE| stopped      | makes it a stop  | WEIR_OK        | WEIR_OK        |
 * | terminate | terminated | terminated   | makes it a stop  | terminated     | WEIR_OK        |
 * | resize    | next start | at once      | next start       | next start     | WEIR_ESTATE    |
 * | pause, resume | next start | at once  | next start       | next start     | WEIR_ESTATE    |
 *
 * "As it ended" is WEIR_ECANCELED if a stop or a termination came while the pool was running or
 * stopping, whether or not it dropped anything; else WEIR_OK. A start during a termination is
 * refused with WEIR_ESTATE. */

/** The states. The numbers are part of the ABI. */
enum weir_pool_state {
    WEIR_POOL_STATE_INIT = 0,       /**< Never started; sends wait for the start. */
    WEIR_POOL_STATE_RUNNING = 1,    /**< Its workers run envelopes. */
    WEIR_POOL_STATE_STOPPING = 2,   /**< It is ending; sends are refused, some workers are left. */
    WEIR_POOL_STATE_STOPPED = 3,    /**< No worker is left; it can be started again. */
    WEIR_POOL_STATE_TERMINATED = 4, /**< No worker is left, and none will be. */
};

/** Returns the state at one moment during the call; terminated for NULL. */
WEIR_API enum weir_pool_state weir_pool_state(weir_pool *pool);

/** How a pool is ended. */
enum weir_end_mode {
    /** Queued envelopes are run, waiting ones are dropped; running tasks go on. */
    WEIR_END_DRAIN = 0,
    /** Queued and waiting envelopes are dropped, running tasks are cancelled. */
    WEIR_END_STOP = 1,
    /** As a stop, and for good. */
    WEIR_END_TERMINATE = 2
};

/** Flags of an end. */
enum weir_end_flags {
    /** Returns at once; the pool is stopping until its last worker has ended. Allowed to a task of
     * the pool itself. */
    WEIR_END_NO_WAIT = 1,
    /** Nothing is dropped but kept for the next start, with its slots: queued envelopes, pending
     * times, the next runs of periodic envelopes, retries that failure hooks ask for meanwhile.
     * Nothing comes due until then; a time that has passed by then is due at once. An end without
     * this flag drops it, at the same time or later. Not with WEIR_END_TERMINATE. */
    WEIR_END_KEEP = 2
};

/** Called for each envelope that still runs when weir_pool_end() has reached its limit; envelope is
 * valid during the call. On the caller's thread, with no lock held; arg is running_arg. */
typedef void weir_running_fn(weir_envelope *envelope, void *arg);

/** How to end a pool. Zero means the default of every field. */
struct weir_end_options {
    uint32_t mode;    /**< Of enum weir_end_mode. */
    uint32_t flags;   /**< Of enum weir_end_flags. */
    int64_t limit_ns; /**< The wait for the workers ends when the pool's clock shows this; 0: no
                           limit. */
    weir_running_fn *running; /**< Optional: is told of what still runs then. */
    void *running_arg;        /**< Passed to running; borrowed during the call. */
};

/** Ends a pool; weir_pool_drain() and weir_pool_stop() are the common forms of it. options NULL: a
 * drain that waits.
 *
 * With a limit it returns WEIR_ETIMEDOUT when that has passed: the end goes on, running and the log
 * were told which envelopes still run, and the call can be made again, also with another mode. weir
 * does not end a task by force: a task that does not call weir_context_check() keeps the pool
 * stopping.
 *
 * Errors: WEIR_ETIMEDOUT; WEIR_ECANCELED (a drain: a stop came before or meanwhile); WEIR_ESTATE (a
 * drain or stop of a pool that was never started; or from a task of the pool, without
 * WEIR_END_NO_WAIT), WEIR_ERANGE (limit_ns negative), WEIR_EINVAL (pool NULL; options with an
 * unknown mode or flag, or that do not go together). */
WEIR_API enum weir_status weir_pool_end(weir_pool *pool, const struct weir_end_options *options);

/** Ends a pool for good, in any state: stops a running one as weir_pool_stop(), and drops all
 * envelopes of another. When it returns no worker is left and the state is terminated. Of a
 * terminated pool it is WEIR_OK and changes nothing. Errors: WEIR_ESTATE (from a task of this pool;
 * nothing changed), WEIR_EINVAL. */
WEIR_API enum weir_status weir_pool_terminate(weir_pool *pool);

/** Sets the count of workers, 1 to 4096: of a running pool at once, of another pool at its next
 * start. Does not wait for runs, and cancels none: surplus workers leave when their runs have
 * ended. May wait briefly for threads that have already left. A paused pool can be resized too.
 * Errors: WEIR_ESTATE (terminated), WEIR_ENOMEM, WEIR_ETHREAD (the system refused a thread; if
 * the pool does not run, weir_pool_start() returns this error), WEIR_EINVAL (pool NULL, no workers
 * or too many); then nothing changed. */
WEIR_API WEIR_NODISCARD enum weir_status weir_pool_resize(weir_pool *pool, size_t workers);

/** Pauses a pool: once it has returned no envelope is handed to a worker any more, so that the
 * count of running ones only falls, until weir_pool_resume(). Runs go on, sends are accepted, and
 * times pass. Also before a start, or between an end and a start. A drain resumes the pool, since
 * all that is queued is to be run, and one under way goes on: the pause then holds from the next
 * start. A stop leaves the pool paused. Pauses are not counted.
 * The log is told of it where that changes something, as it is of a resume.
 *
 * With a timeout it waits until nothing runs any more. Errors: WEIR_ETIMEDOUT (something runs
 * still), WEIR_ECANCELED (the pool was resumed meanwhile): it is paused, or was; WEIR_ESTATE
 * (terminated; or with a timeout, from a task of this pool), WEIR_EINVAL. */
WEIR_API enum weir_status weir_pool_pause(weir_pool *pool, int64_t timeout_ns);

/** Ends a pause: queued envelopes are run again. Of a pool that is not paused it is WEIR_OK.
 * Errors: WEIR_ESTATE (terminated), WEIR_EINVAL. */
WEIR_API enum weir_status weir_pool_resume(weir_pool *pool);

/** Waits until the pool is idle, for timeout_ns at most. A pool is idle when no envelope is queued,
 * running or waiting, and no call of its ended or log function is under way. Periodic envelopes
 * that wait for their next firing do not count; envelopes that wait for a retry or were sent for
 * later do.
 *
 * Sends of other threads may make the answer out of date at once. Sends that a task makes before
 * it returns are waited for. A pool that was not started or is paused runs nothing meanwhile.
 * Errors: WEIR_ETIMEDOUT (it is not idle, and the time has passed or is 0), WEIR_ESHUTDOWN (the
 * pool has ended, and keeps something), WEIR_ESTATE (from a task of this pool), WEIR_EINVAL. */
WEIR_API WEIR_NODISCARD enum weir_status weir_pool_wait_idle(weir_pool *pool, int64_t timeout_ns);

WEIR_END_DECLS

#endif

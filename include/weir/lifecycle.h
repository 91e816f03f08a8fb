/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_LIFECYCLE_H
#define WEIR_LIFECYCLE_H

#include <stddef.h>
#include <stdint.h>

#include <weir/end.h>
#include <weir/envelope.h>
#include <weir/export.h>
#include <weir/pool.h>
#include <weir/status.h>

WEIR_BEGIN_DECLS

/** @file
 * The states of a pool: init -> running -> stopping -> stopped -> running …, and terminated, from
 * which nothing returns.
 *
 * The calls below and weir_pool_start() may be made from any thread, any number of times and at
 * once: they take effect one after the other. What a call does in each state, where it waits:
 *
 * | call          | init        | running     | stopping       | stopped        | terminated     |
 * |---------------|-------------|-------------|----------------|----------------|----------------|
 * | send          | kept        | run         | WEIR_ESHUTDOWN | WEIR_ESHUTDOWN | WEIR_ESHUTDOWN |
 * | start         | running     | WEIR_ESTATE | waits, running | running        | WEIR_ESTATE    |
 * | drain, finish | WEIR_ESTATE | stopped     | joins the end  | as it ended    | as it ended    |
 * | stop          | WEIR_ESTATE | stopped     | joins the end  | WEIR_OK        | WEIR_OK        |
 * | terminate     | terminated  | terminated  | joins the end  | terminated     | WEIR_OK        |
 * | resize, pause, resume | next start | at once | next start  | next start     | WEIR_ESTATE    |
 *
 * "As it ended" is WEIR_ECANCELED if a stronger end came while workers were left, whether or not
 * it dropped or cancelled anything; else WEIR_OK. A start during a termination is
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

/** Flags of an end. */
enum weir_end_flags {
    /** Nothing is dropped but kept for the next start, with its slots: queued envelopes, pending
     * times, the next runs of periodic envelopes, retries that failure hooks ask for meanwhile. Of
     * a retry and a later send of one envelope the earlier time is kept, for one run.
     * Nothing comes due until then; a time that has passed by then is due at once. So a drain runs
     * no retry, not even one at once, and no firing that has passed meanwhile. Not with
     * WEIR_END_TERMINATE. */
    WEIR_END_KEEP = 1
};

/** Ends a pool: refuses further sends, and waits until no worker is left, for timeout_ns of its
 * clock at most. flags: of enum weir_end_flags.
 *
 * Of several ends the strongest mode counts, and WEIR_END_KEEP only where all have it: one without
 * it drops what others have kept, also when the pool has stopped. What is dropped is released at
 * once, also while a task still runs; further runs of a running envelope are dropped when its run
 * ends. A pause stays as it is, but for a drain.
 *
 * With a timeout of 0 or less it returns once the end has begun, which a task of the pool may do
 * too; the pool is stopping until its last worker has ended. When a timeout passes, the end goes
 * on, the log is told which envelopes still run (weir_pool_snapshot() shows them), and the call can
 * be made again, also with another mode. weir does not end a task by force: one that does not call
 * weir_context_check() keeps the pool stopping.
 *
 * Errors: WEIR_ETIMEDOUT (the time has passed, and was not 0); WEIR_ECANCELED (a drain or finish: a
 * stronger end came before or meanwhile; the workers have ended all the same, unless the timeout
 * was 0); WEIR_ESTATE (of a pool that was never started, except a termination; or from a task of
 * the pool, with a timeout), WEIR_EINVAL (pool NULL, an unknown mode or flag, a termination that
 * keeps): then nothing changed. */
WEIR_API enum weir_status weir_pool_end(weir_pool *pool, enum weir_end_mode mode, uint32_t flags,
                                        int64_t timeout_ns);

/** A descriptor for event loops: readable while no worker is left after an end and all that was
 * dropped has been told, so that a call of weir_pool_end() would not wait; not before the first
 * start, not again after the next, and not while an end drops what another one has kept. The first
 * call makes it; the pool owns it, and closes it when it is freed: only watch it. A pool that is
 * terminated before its first start has ended too. Errors: WEIR_EIO (no descriptors are left),
 * WEIR_ENOMEM, WEIR_EINVAL. */
WEIR_API WEIR_NODISCARD enum weir_status weir_pool_fd(weir_pool *pool, int *ret_fd);

/** Sets the count of workers, 1 to 4096: of a running pool at once, of another pool at its next
 * start. Does not wait for runs, and cancels none: surplus workers leave when their runs have
 * ended. May wait briefly for threads that have already left. A paused pool can be resized too.
 * Errors: WEIR_ESTATE (terminated), WEIR_ENOMEM, WEIR_ETHREAD (the system refused a thread; if the
 * pool does not run, weir_pool_start() returns this error), WEIR_EINVAL (pool NULL, no workers or
 * too many); then nothing changed. */
WEIR_API WEIR_NODISCARD enum weir_status weir_pool_resize(weir_pool *pool, size_t workers);

/** Pauses a pool: once it has returned no envelope is handed to a worker any more, so that the
 * count of running ones only falls, until weir_pool_resume(). Runs go on, sends are accepted, and
 * times pass. Also before a start, or between an end and a start. A drain resumes the pool, since
 * all that is queued is to be run, and one under way goes on: the pause holds from the next start.
 * Pauses are not counted. With a timeout it waits until nothing runs. Errors: WEIR_ETIMEDOUT
 * (something runs still), WEIR_ECANCELED (the pool was resumed meanwhile): it is paused, or was;
 * WEIR_ESTATE (terminated; or with a timeout, from a task of this pool), WEIR_EINVAL. */
WEIR_API enum weir_status weir_pool_pause(weir_pool *pool, int64_t timeout_ns);

/** Ends a pause: queued envelopes are run again. Of a pool that is not paused it is WEIR_OK.
 * Errors: WEIR_ESTATE (terminated), WEIR_EINVAL. */
WEIR_API enum weir_status weir_pool_resume(weir_pool *pool);

/** Waits until the pool is idle, for timeout_ns at most. A pool is idle when no envelope is queued,
 * running or waiting, and no call of its ended or log function is under way. Periodic envelopes
 * that wait for their next firing do not count; envelopes that wait for a retry or were sent for
 * later do. Sends of other threads may outdate the answer at once; those that a task makes before
 * it returns are waited for. A pool that was not started or is paused runs nothing meanwhile.
 * Errors: WEIR_ETIMEDOUT (not idle, and the time has passed or is 0), WEIR_ESHUTDOWN (it has ended,
 * and keeps something), WEIR_ESTATE (from a task of this pool), WEIR_EINVAL. */
WEIR_API WEIR_NODISCARD enum weir_status weir_pool_wait_idle(weir_pool *pool, int64_t timeout_ns);

WEIR_END_DECLS

#endif

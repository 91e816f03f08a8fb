/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_ENVELOPE_H
#define WEIR_ENVELOPE_H

#include <stddef.h>
#include <stdint.h>

#include <weir/allocator.h>
#include <weir/context.h>
#include <weir/export.h>
#include <weir/isolation.h>
#include <weir/key.h>
#include <weir/retry.h>
#include <weir/schedule.h>
#include <weir/stamp.h>
#include <weir/status.h>

WEIR_BEGIN_DECLS

/** @file
 * An envelope is a task and its options. Its identity is its address. Envelopes are
 * reference-counted, so that one may be sent and forgotten.
 *
 * One run, on one worker, in this order: before hook, stamps of the pool, stamps of the envelope,
 * invoke, after hook; then the pool decides what follows, the success or failure hook is called,
 * and the outcome function last. All of them run on the worker's thread with no lock held, and may
 * call anything, also send to their own pool, except what waits for the pool to end.
 *
 * What follows each status of a run (one's own start at WEIR_EUSER):
 *
 * | status of the run               | one-off                     | periodic                      |
 * |---------------------------------|-----------------------------|-------------------------------|
 * | WEIR_OK                         | success hook; ends          | success hook; again           |
 * | WEIR_ESTOP                      | ends, no hook               | ends, no hook                 |
 * | WEIR_ECANCELED, WEIR_ETIMEDOUT  | ends, no hook (but see      | again, no hook                |
 * |                                 | WEIR_POOL_TIMEOUTS_FAIL)    |                               |
 * | any other, WEIR_EPANIC included | failure hook, which decides | failure hook; again, whatever |
 * |                                 | (without one: retry of the  | it decides                    |
 * |                                 | options)                    |                               |
 *
 * "Again" means at its next time, while the pool runs. A periodic envelope that was sent during its
 * last run begins its schedule anew. A send for later (weir_pool_send_after()) from before a run
 * that returned WEIR_ESTOP is dropped if the envelope is periodic; of a one-off envelope it is run
 * at its time. A task that returned WEIR_OK has succeeded, also where it took longer than its
 * deadline: that is only counted, as late. */

/** An envelope. Opaque. */
typedef struct weir_envelope weir_envelope;

/** The task. Of one envelope never two runs at once. Returns WEIR_OK, another status of weir, or
 * one of its own. */
typedef int weir_invoke_fn(weir_context *context, void *payload);

/** The before hook. A status other than WEIR_OK becomes the run's: stamps and task are left out.
 * hook_min_ns of struct weir_pool_options has the time limit of this and the other hooks. */
typedef int weir_before_fn(weir_context *context, weir_envelope *envelope, void *payload);

/** The after hook, called with the status so far: where that is WEIR_OK or WEIR_ESTOP, and after
 * every run of an envelope with WEIR_ENVELOPE_AFTER_ALWAYS. WEIR_ESTOP becomes the run's status;
 * any other than WEIR_OK is counted and otherwise ignored. */
typedef int weir_after_fn(weir_context *context, weir_envelope *envelope, int status,
                          void *payload);

/** Called when a run has succeeded, with the next of a periodic envelope scheduled. */
typedef void weir_success_fn(weir_context *context, weir_envelope *envelope, void *payload);

/** How a run failed. */
struct weir_failure {
    const char *message; /**< Of a panic; else "". Valid during the call. */
    int status;          /**< Of the run. */
    uint32_t attempt;    /**< Number of this run among those that failed in a row, from 1. */
    int signal;          /**< The one that ended an isolated task; else 0. */
    int exit_status;     /**< Of an isolated task that exited; else -1. */
};

/** The two answers of a failure hook that are no delay. */
#define WEIR_RETRY INT64_MIN      /**< Again, after the delay that retry of the options says. */
#define WEIR_DROP (INT64_MIN + 1) /**< The envelope ends. */

/** Called when a run has failed; its answer decides about a one-off envelope, and about a periodic
 * one nothing: WEIR_RETRY, WEIR_DROP, or a delay of the pool's clock, from the hook's end, after
 * which the envelope runs again; 0 and every other negative number: at once, behind all queued
 * envelopes. A retry past retry.attempts is a drop; so is a hook that panics. The envelope counts
 * as running until the answer has been obeyed, so a retry needs no slot of the capacity. One while
 * the pool ends is dropped, unless that end keeps it (WEIR_END_KEEP). After a time-out the hook has
 * its own time, since the task's is spent. */
typedef int64_t weir_failure_fn(weir_context *context, weir_envelope *envelope,
                                const struct weir_failure *failure, void *payload);

/** Called after each run, last of all: status is the run's. The envelope still counts as running,
 * so a send of it from here needs no slot of the capacity. Not called for a run that was dropped:
 * weir_ended_fn (weir/ended.h) tells how the envelope ended. */
typedef void weir_outcome_fn(weir_envelope *envelope, int status, void *payload);

/** Takes back a payload when the last reference to its envelope is given back: once, on the thread
 * that does so, with no lock held. It may call anything but what waits for a pool or run to end. */
typedef void weir_release_fn(void *payload);

/** Flags of an envelope. */
enum weir_envelope_flags {
    WEIR_ENVELOPE_AFTER_ALWAYS = 1, /**< The after hook is called after every run. */
};

/** Options of an envelope. Zero means the default of every field. */
struct weir_envelope_options {
    struct weir_allocator allocator; /**< Copied; all members NULL: libc's. */
    uint64_t id;                     /**< The user's: weir_envelope_id(). */
    const char *type;                /**< The user's: weir_envelope_type(); copied; NULL: "". */
    void *payload; /**< Passed to all functions. Taken where release is set; else borrowed until the
                        last reference goes. */
    weir_invoke_fn *invoke;          /**< Required: the task. */
    weir_outcome_fn *outcome;        /**< Optional: is told of each run's end. */
    weir_release_fn *release;        /**< Optional: takes the payload back. */
    int64_t deadline_ns;             /**< Time limit of one run, from its start; 0: none. */
    weir_before_fn *before;          /**< Optional hook. */
    weir_after_fn *after;            /**< Optional hook. */
    weir_success_fn *success;        /**< Optional hook. */
    weir_failure_fn *failure;        /**< Optional hook. */
    const struct weir_stamp *stamps; /**< Copied; the first is the outermost. */
    size_t stamp_count;              /**< Of stamps. */
    /** Above 0: the envelope is periodic. Once sent it runs at once and then again and again, each
     * run due so long after the end of the one before, or as schedule says, and begun a thousandth
     * of it later at most where a worker is free (slack_ns of struct weir_schedule). A send of one
     * that waits runs it once more, and leaves its schedule alone. The deadline may not be longer.
     * 0, and no schedule: it is one-off. */
    int64_t interval_ns;
    /** Of a one-off envelope whose runs fail: how many may fail in a row, and the delays of retries
     * without a hook and after WEIR_RETRY. With base_ns and max_ns 0 the pool's limiter says these
     * delays, exactly, if it was given one. Where the failure hook is NULL and attempts 0, all
     * members must be 0: nothing is tried again. */
    struct weir_retry retry;
    /** Attempts at the same work that failed before this envelope was made, for one whose attempts
     * are kept elsewhere: its failures in a row begin with so many, for weir_context_attempt() and
     * for retry, until a run does not fail or its first flight ends. */
    uint32_t attempts_before;
    uint32_t flags;                       /**< Of enum weir_envelope_flags. */
    const struct weir_schedule *schedule; /**< Optional, copied: when a periodic one runs. */
    /** The name of its group, such as a customer: bytes, copied; size 0: no group. A pool may limit
     * how many of a group run at once (group_limit of struct weir_pool_options). */
    struct weir_key group;
    const struct weir_isolation *isolation; /**< Copied: the task runs in a process of its own.
                                                 NULL: it runs in the worker's thread. */
};

/** Makes an envelope with one reference, the caller's: weir_envelope_unref(). Errors: WEIR_EINVAL
 * (no invoke, an unknown flag, allocator, stamps NULL or one without its function, a schedule not
 * as described, a group without its bytes, delays of retries that nothing asks for), WEIR_ERANGE
 * (deadline_ns, interval_ns, a time of the schedule or the isolation's cpu_limit_ns negative, retry
 * not as described, catch_up_max past WEIR_CATCH_UP_LIMIT, stamp_count past 1024), WEIR_ETOOBIG
 * (group, more than 64 KiB), WEIR_EINTERVAL (periodic, and deadline_ns > interval_ns), WEIR_ENOMEM;
 * the payload is then not taken. */
WEIR_API WEIR_NODISCARD enum weir_status weir_envelope_new(
    const struct weir_envelope_options *options, weir_envelope **ret_envelope,
    struct weir_error *ret_error);

/** Takes one more reference; the caller has one. Returns envelope. Takes NULL. Thread-safe. */
WEIR_API weir_envelope *weir_envelope_ref(weir_envelope *envelope);

/** Gives one reference back; the last one frees the envelope. Takes NULL. Thread-safe. A pool holds
 * a reference to each envelope in flight. */
WEIR_API void weir_envelope_unref(weir_envelope *envelope);

/** The id given at its making; 0 for NULL. */
WEIR_API uint64_t weir_envelope_id(const weir_envelope *envelope);
/** The type given at its making, readable as long as the envelope; "" for NULL. */
WEIR_API const char *weir_envelope_type(const weir_envelope *envelope);
/** The payload given at its making; NULL for NULL. */
WEIR_API void *weir_envelope_payload(const weir_envelope *envelope);

WEIR_END_DECLS

#endif

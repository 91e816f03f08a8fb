/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_CONSUMER_H
#define WEIR_CONSUMER_H

#include <stddef.h>
#include <stdint.h>

#include <weir/broker.h>
#include <weir/context.h>
#include <weir/end.h>
#include <weir/export.h>
#include <weir/job.h>
#include <weir/limiter.h>
#include <weir/metrics.h>
#include <weir/retry.h>
#include <weir/stamp.h>
#include <weir/status.h>

WEIR_BEGIN_DECLS

/** @file
 * A consumer is a pool whose envelopes are reserved jobs. At least once: a job is deleted only
 * after its handler succeeded; the reservation is kept alive while the handler runs; a job whose
 * worker dies comes back when its TTR ends; a failed one comes back after a delay that grows, and
 * is buried after its last attempt, never dropped. */

/** A consumer. Opaque. */
typedef struct weir_consumer weir_consumer;

/** Handles one job; job is valid during the call. Runs on a worker's thread with no lock held.
 * WEIR_OK: the job is deleted. WEIR_ESTOP: it is buried at once. WEIR_ECANCELED once the consumer
 * is ending: it is given back as if it had not been reserved. WEIR_EAGAIN: the handler could not
 * begin, for lack of processes, descriptors or the like: it is given back as well, for a second in
 * which the worker takes no other; or, where weir_job_describe() told a retry_ns, for that, and the
 * worker goes on. Anything else: a failure. The context ends at the deadline, when the
 * reservation was lost, and when the job was cancelled (WEIR_CHANGE_CANCEL): what the handler
 * returns then is told in the history, and the verdict decides, unless it is WEIR_OK. */
typedef int weir_handler_fn(weir_context *context, const struct weir_job *job, void *arg);

/** Tells of each run after it, on the worker's thread; on another of the consumer's, and later,
 * where a cluster is slow to answer the run's end. status is the handler's; run_ns how long it ran;
 * delay_ns when it comes back after a WEIR_RUN_RETRY or WEIR_RUN_RETURNED. job->reason says why a
 * run failed, and of one that succeeded its result, or "": what it told (weir_context_explain()),
 * else of a failure its status. It also tells of each job that the store buried without a run, as
 * WEIR_RUN_BURIED with run_ns 0, on any thread of the consumer. status is WEIR_ELEASELOST (the last
 * of its attempts ended with its worker) or WEIR_ECORRUPT (its body is damaged). Such a job has no
 * body here. Where there is no after_run, and of a cluster, the log tells of these. */
typedef void weir_run_fn(const struct weir_job *job, enum weir_run_outcome outcome, int status,
                         int64_t run_ns, int64_t delay_ns, void *arg);

/** The job of a run of a consumer, from its handler or stamps, on their thread; NULL: the context
 * is of none. Valid as long as the handler's. */
WEIR_API const struct weir_job *weir_job_of(weir_context *context);

/** What a handler tells of its run beside its explanation, for the job's history
 * (weir_broker_attempts()). Zero means nothing, for every field. */
struct weir_run_details {
    const void *tail;    /**< Its last output. The last bytes are kept, from the start of a UTF-8
                              character on; NULs become '?'. */
    size_t tail_size;    /**< Their count. */
    int32_t exit_status; /**< Of the program that it ran. */
    int32_t signal;      /**< That ended the program. */
    int64_t retry_ns;    /**< After a failure the job comes back so much later, whatever the limiter
                              says; not negative. */
};

/** Tells of a run, from its handler, on its thread; the last call counts. Copies. A cluster keeps
 * only retry_ns. Errors: WEIR_EINVAL (details, a negative retry_ns, a context of no consumer). */
WEIR_API WEIR_NODISCARD enum weir_status weir_job_describe(weir_context *context,
                                                           const struct weir_run_details *details);

/** Tells how far a run is, in percent, from its handler, on its thread, for weir_broker_peek().
 * Does not block: it is written within a second or so, the last of several. A cluster keeps none.
 * Errors: WEIR_EINVAL (a context of no consumer), WEIR_ERANGE (not from 0 to 100). */
WEIR_API WEIR_NODISCARD enum weir_status weir_job_progress(weir_context *context, int32_t percent);

#define WEIR_CONSUMER_TUBES_MAX 64 /**< Most tubes of one consumer. */

/** A tube of a consumer that takes jobs from several. */
struct weir_tube_weight {
    const char *tube; /**< Its name; borrowed during weir_consumer_new(). */
    uint32_t weight;  /**< Its share of the jobs while others have some; 0: 1; at most 1000. */
};

/** What a consumer is made with. Zero means the default of every field but handler. */
struct weir_consumer_options {
    weir_handler_fn *handler; /**< Required. */
    weir_run_fn *after_run;   /**< Optional. */
    void *arg;                /**< Passed to handler and after_run; borrowed until free. */
    /** Attempts are reservations: a job that failed in the last one, or whose worker died in it, is
     * buried. Delays are computed from the attempts, which the store keeps, so that they survive
     * the process. A cluster counts whole seconds: the delay with its jitter is rounded up. */
    struct weir_retry retry;
    weir_limiter *limiter; /**< Optional; borrowed until free, and not freed before (WEIR_EBUSY):
                                says the delays of retries in place of retry, exactly, asked with
                                the job's id as key; where it fails, retry does. */
    int64_t deadline_ns;   /**< Time limit of one run; 0: none. */
    uint32_t workers;      /**< Threads; 0: 1; at most 4096. */
    uint32_t flags;        /**< Of enum weir_consumer_flags. */
    /** Several different tubes, instead of one, which is NULL then. Of those with ready jobs each
     * has its weight's share, counted in jobs. Borrowed during weir_consumer_new(). */
    const struct weir_tube_weight *tubes;
    size_t tube_count; /**< Of tubes; at most WEIR_CONSUMER_TUBES_MAX. */
    double rate; /**< Runs begin at most so many times a second, with 10 ms of them at once; 0: any
                      number. A job is not reserved before it may begin. */
    /** Functions around each call of handler (weir/stamp.h); copied, their args borrowed until
     * free. weir_job_of() tells them the job. */
    const struct weir_stamp *stamps;
    size_t stamp_count;    /**< Of stamps. */
    weir_metrics *metrics; /**< Borrowed until free: shows the workers and their runs as those of a
                                pool (weir/metrics.h), under name; NULL: nowhere. */
    const char *name;      /**< Copied; needed with metrics. Also begins lines in the log. */
};

/** Flags of a consumer. */
enum weir_consumer_flags {
    WEIR_CONSUMER_UNTIL_EMPTY =
        1 /**< End by itself once the tubes hold no job that is delayed, ready or reserved. */
};

/** Makes a consumer of a tube, or of options->tubes with tube NULL; the broker is borrowed. Returns
 * owned: weir_consumer_free(). Errors: WEIR_EINVAL (also a tube that is named twice, and tube
 * beside tubes; stamps or metrics as in struct weir_pool_options), WEIR_ERANGE, WEIR_EBUSY (the
 * name is taken in metrics), WEIR_ENOMEM. */
WEIR_API WEIR_NODISCARD enum weir_status weir_consumer_new(
    weir_broker *broker, const char *tube, const struct weir_consumer_options *options,
    weir_consumer **ret_consumer, struct weir_error *ret_error);

/** Starts the workers and returns. Once only. Errors: WEIR_ESTATE, WEIR_ETHREAD, WEIR_EINVAL. */
WEIR_API WEIR_NODISCARD enum weir_status weir_consumer_start(weir_consumer *consumer,
                                                             struct weir_error *ret_error);

/** Ends a consumer, as weir_pool_end() does a pool: of several ends the strongest counts. It
 * reserves nothing more from then on. What is reserved and not begun is run by a drain; any other
 * mode gives it back as if it had not been reserved. A drain and a finish let running handlers go
 * on to their end; a stop and a termination, which are the same here, cancel their contexts. A
 * cluster whose Redis is away is told of ends for five seconds more after a drain or finish, and
 * not after a stop; then these jobs are left to run again, and the log names them. With a timeout
 * of 0 or less it returns once the end has begun. Else it waits as weir_consumer_wait() does, with
 * its errors, and not from after_run. A program reads its signals from a descriptor (signalfd(2)),
 * beside weir_consumer_fd(). Errors: WEIR_ECANCELED (a drain or finish: a stronger end came before
 * or meanwhile), that of the store (a drain, which it kept from running what was reserved),
 * WEIR_ESTATE (never started; or with a timeout, from a handler), WEIR_EINVAL. */
WEIR_API enum weir_status weir_consumer_end(weir_consumer *consumer, enum weir_end_mode mode,
                                            int64_t timeout_ns, struct weir_error *ret_error);

/** Waits until the consumer has ended: after weir_consumer_end(), by itself
 * (WEIR_CONSUMER_UNTIL_EMPTY), or because the store failed for good, which is the error it returns;
 * for timeout_ns at most. Not from after_run. Errors: also WEIR_ETIMEDOUT (it has not ended; with a
 * timeout of 0 too), WEIR_ESTATE (never started; or from a handler, unless the timeout is 0),
 * WEIR_EINVAL. A store that is full, locked by others for too long, or a lack of memory does not
 * end it: the consumer tries again after at most 0.4 s, and logs it. So it does with damage in the
 * store's file, unless WEIR_CONSUMER_UNTIL_EMPTY is set. */
WEIR_API WEIR_NODISCARD enum weir_status weir_consumer_wait(weir_consumer *consumer,
                                                            int64_t timeout_ns,
                                                            struct weir_error *ret_error);

/** A descriptor for event loops, readable once the consumer has ended: weir_consumer_wait() does
 * not wait any more. The first call makes it; the consumer owns it, and closes it when it is freed:
 * only watch it. Errors: WEIR_EIO (no descriptors are left), WEIR_ENOMEM, WEIR_EINVAL. */
WEIR_API WEIR_NODISCARD enum weir_status weir_consumer_fd(weir_consumer *consumer, int *ret_fd,
                                                          struct weir_error *ret_error);

/** Frees a consumer; one that runs is stopped (WEIR_END_STOP) and waited for. Takes NULL. Not from
 * a handler. In a child after fork() it does nothing. */
WEIR_API void weir_consumer_free(weir_consumer *consumer);

WEIR_END_DECLS

#endif

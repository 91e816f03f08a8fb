/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_POOL_H
#define WEIR_POOL_H

#include <stddef.h>
#include <stdint.h>

#include <weir/allocator.h>
#include <weir/clock.h>
#include <weir/ended.h>
#include <weir/envelope.h>
#include <weir/export.h>
#include <weir/limiter.h>
#include <weir/log.h>
#include <weir/metrics.h>
#include <weir/scope.h>
#include <weir/stamp.h>
#include <weir/status.h>

WEIR_BEGIN_DECLS

/** @file
 * Threads, called workers, that run envelopes: in the order of the sends, and envelopes sent for
 * later at their times. A run sees everything that the sender wrote before the send. Every function
 * is thread-safe except weir_pool_free(), and may be called from a task, where it does not say
 * otherwise. weir/lifecycle.h has the states of a pool, and its end.
 *
 * A call that waits takes timeout_ns, for which it waits at most, by the pool's clock: 0 and less
 * do not wait, WEIR_FOREVER is no limit. A call that asks for something (send_wait, wait_idle) is
 * WEIR_ETIMEDOUT where it does not get it in that time, with 0 too. One that begins something (end,
 * pause, cancel) is WEIR_OK with 0, once it has begun. Only these, start, free and, in a pool made
 * with WEIR_FULL_WAIT, all sends block. A call that waits for the pool to end, to pause or to
 * become idle is WEIR_ESTATE in a task, stamp, hook, ended function or log function of the pool,
 * because the pool waits for these functions.
 *
 * The mutex of a pool is not fair, and envelopes that become due at one moment are queued in one
 * hold of it, as the items of a queue (weir/queue.h). A worker's thread has the signal mask of the
 * thread that starts the pool or makes it larger, and so have the programs that tasks start: a
 * program that wants its signals handled by threads of its own blocks them there. A task must not
 * end its thread (pthread_exit(), pthread_cancel()), nor return in a process that it has forked:
 * either ends that process with a message.
 *
 * After fork() the child cannot use the parent's pools: every call is WEIR_EFORKED, and their state
 * is terminated. It may make pools of its own. */

/** A pool. Opaque. */
typedef struct weir_pool weir_pool;

/** How a send is answered when the capacity is reached. */
enum weir_when_full {
    WEIR_FULL_REFUSE = 0, /**< It is refused with WEIR_EFULL. */
    /** It waits until a slot is free, as weir_pool_send_wait() with WEIR_FOREVER. */
    WEIR_FULL_WAIT = 1,
    /** The envelope that has been queued longest is dropped, with its pending time, and its slot
     * goes to the new one. WEIR_EFULL if nothing is queued (all run or wait for their times), and
     * of weir_pool_send_all(). A slot that has come free is held for the sender that waits first in
     * weir_pool_send_wait(): meanwhile another send finds the pool full. */
    WEIR_FULL_DROP_OLDEST = 2
};

/** Flags of a pool. */
enum weir_pool_flags {
    /** A one-off envelope that timed out (WEIR_ETIMEDOUT) failed: its failure hook is asked. */
    WEIR_POOL_TIMEOUTS_FAIL = 1,
    /** A task of the pool may send to it beyond the capacity. Without this flag such a send is
     * refused with WEIR_EFULL when the pool is full: a task does not wait for a slot, since it has
     * one itself that others may be waiting for. */
    WEIR_POOL_TASKS_EXCEED = 2,
    /** weir_context_pool() is NULL in its runs: for a library that runs its users' functions on a
     * pool of its own, which they could end or pause. */
    WEIR_POOL_HIDDEN = 4,
};

/** Called when a run goes on late_ns past the time limit of its task or hook, on the watchdog's
 * thread, with no lock held; the run does not end before the call has returned, so the envelope is
 * valid. It may call anything that does not wait for the pool or for that run. */
typedef void weir_overdue_fn(weir_envelope *envelope, int64_t late_ns, void *arg);

/** Options of a pool. Zero means the default of every field except workers. */
struct weir_pool_options {
    struct weir_allocator allocator; /**< Copied; all members NULL: libc's. */
    weir_clock *clock;               /**< Borrowed until free; NULL: weir_clock_monotonic(). */
    /** Optional; receives a line for each start and end, each resize of a running pool, pauses and
     * resumes, panics, and runs past their time. It may call the pool, and must not wait for a run
     * (weir_pool_cancel() with a timeout). */
    weir_log_fn *log;
    void *log_arg;        /**< Passed to log; borrowed until free. */
    size_t workers;       /**< Count of threads; required, 1 to 4096. Tasks that block want many. */
    size_t capacity;      /**< Most envelopes in flight (queued, waiting, running); 0: no limit. */
    uint32_t when_full;   /**< Of enum weir_when_full. */
    uint32_t flags;       /**< Of enum weir_pool_flags. */
    weir_ended_fn *ended; /**< Optional: is told of each envelope that has ended. */
    void *ended_arg;      /**< Passed to ended; borrowed until free. */
    const struct weir_stamp *stamps; /**< Copied: around every envelope's own. */
    size_t stamp_count;              /**< Of stamps. */
    /** The delays of retries of envelopes whose options say none (retry of struct
     * weir_envelope_options); borrowed until free. The key is the envelope's address; it is
     * forgotten when a run succeeds and when the envelope ends. If the limiter fails, the retry
     * comes after one second. NULL: those of struct weir_retry, from 5 ms to 1000 s. */
    weir_limiter *limiter;
    /** The time limit of a hook, from its start: hook_fraction thousandths of the envelope's
     * deadline, at least hook_min_ns, and not past the deadline of the run unless that has passed
     * when the hook begins. 0: 800 ms, and one half (500). Without a deadline it is hook_min_ns. */
    int64_t hook_min_ns;
    uint32_t hook_fraction; /**< At most 1000. */
    /** Most envelopes of one group that run at once; 0: no limit. Further ones stay queued, in the
     * order of their group, and envelopes of other groups overtake them. */
    uint32_t group_limit;
    const char *name;      /**< Copied; UTF-8. The pool's name in metrics, needed there, and at the
                                beginning of its lines in the log. */
    weir_metrics *metrics; /**< Borrowed until free: where the pool, and its queue with it, show
                                their metrics, under the name; NULL: nowhere. */
    /** A thread of the pool, the watchdog, reports each run in which a task or a hook goes on for
     * so long past its time limit, once, to the log and to overdue. It finds tasks that do not call
     * weir_context_check(). 0: no watchdog. */
    int64_t overdue_ns;
    weir_overdue_fn *overdue; /**< Optional; only with overdue_ns. */
    void *overdue_arg;        /**< Passed to overdue; borrowed until free. */
    weir_scope *scope;        /**< Optional: borrowed until free; cancelling it stops the pool. */
};

/** Makes a pool in state init: no thread runs, and envelopes sent wait for the start. Returns
 * owned: weir_pool_free(). Errors: WEIR_EINVAL (no workers or too many, an unknown flag, allocator,
 * when_full none of the three, stamps NULL or one without its function, metrics without a name or
 * with one that is not UTF-8, overdue without overdue_ns), WEIR_ERANGE (hook_min_ns or overdue_ns
 * negative, hook_fraction past 1000, stamp_count past 1024), WEIR_EBUSY (the name is taken in the
 * registry), WEIR_ETHREAD (the system refused the watchdog's thread), WEIR_EFORKED (the clock,
 * registry or scope is of another process), WEIR_ENOMEM. */
WEIR_API WEIR_NODISCARD enum weir_status weir_pool_new(const struct weir_pool_options *options,
                                                       weir_pool **ret_pool,
                                                       struct weir_error *ret_error);

/** Terminates a pool (WEIR_END_TERMINATE), which drops all envelopes in flight, and frees it.
 * Blocks until its workers have ended. Takes NULL. No other thread may be in a call on it. Errors:
 * WEIR_ESTATE (from a task of the pool itself), WEIR_EFORKED; then nothing changed. */
WEIR_API enum weir_status weir_pool_free(weir_pool *pool);

/** Starts the workers, for the first time or again. No envelope is run before all workers are
 * there, nor before all workers of an end that is under way have ended. Errors: WEIR_ECANCELED (its
 * scope was cancelled), WEIR_ESTATE (running, terminated, or called from a task of this pool),
 * WEIR_ETHREAD (the system refused a thread) or WEIR_ENOMEM (after a resize): no worker is left,
 * nothing was run, and the state is as before; WEIR_EINVAL. */
WEIR_API WEIR_NODISCARD enum weir_status weir_pool_start(weir_pool *pool);

/** Sends an envelope: it will be run once, soon. One that is queued already coalesces; one that is
 * running is run again after. An envelope is in flight while it is queued, waits or runs. Meanwhile
 * the pool holds one slot of the capacity and one reference for it, however often it is sent: a
 * send of one in flight never finds the pool full. Errors: WEIR_EFULL (capacity; see enum
 * weir_when_full), WEIR_ESHUTDOWN (draining, stopped, also while the call blocks), WEIR_EBUSY (in
 * flight in another pool, or being sent to it), WEIR_ENOMEM, WEIR_EINVAL; then nothing changed. */
WEIR_API WEIR_NODISCARD enum weir_status weir_pool_send(weir_pool *pool, weir_envelope *envelope);

/** Runs a task once, soon: an envelope from the pool's allocator, without a deadline or retries.
 * payload is passed to it; taken where release is not NULL, else borrowed until the pool has told
 * of the end. Errors: WEIR_EFULL, WEIR_ESHUTDOWN and WEIR_ENOMEM, as a send, WEIR_EINVAL; the
 * payload is then the caller's. */
WEIR_API WEIR_NODISCARD enum weir_status weir_pool_run(weir_pool *pool, weir_invoke_fn *task,
                                                       void *payload, weir_release_fn *release);

/** As weir_pool_send() once delay_ns of the pool's clock has passed; at once where delay_ns <= 0.
 * Of two pending times the earlier is kept. A pending time is a run of its own: a send meanwhile
 * leaves it alone, so that the envelope may be run for both. For a periodic envelope, a run for a
 * firing before the pending time covers this send. Errors as weir_pool_send(). */
WEIR_API WEIR_NODISCARD enum weir_status weir_pool_send_after(weir_pool *pool,
                                                              weir_envelope *envelope,
                                                              int64_t delay_ns);

/** As weir_pool_send(), but waits while the pool is full, whatever its when_full, for timeout_ns at
 * most. Waiting senders get slots in the order of their calls, and before all other sends; in a
 * pool that has not been started they wait for the start. A task of the pool never waits: where the
 * pool is full, the call returns WEIR_EFULL, or succeeds in a pool with WEIR_POOL_TASKS_EXCEED.
 * Errors: WEIR_ETIMEDOUT (no slot was free in that time), WEIR_EFULL (a task of the pool), the
 * others as weir_pool_send(); then nothing changed. */
WEIR_API WEIR_NODISCARD enum weir_status weir_pool_send_wait(weir_pool *pool,
                                                             weir_envelope *envelope,
                                                             int64_t timeout_ns);

/** weir_pool_send() of count envelopes at one moment: all, or on an error none. One that is among
 * them more than once is sent once. count 0 is allowed, envelopes may be NULL then. In a pool made
 * with WEIR_FULL_WAIT it waits until there are slots for all. Errors as weir_pool_send();
 * WEIR_EFULL also for more than a pool that waits has slots, WEIR_EINVAL for a NULL among them. */
WEIR_API WEIR_NODISCARD enum weir_status weir_pool_send_all(weir_pool *pool,
                                                            weir_envelope *const *envelopes,
                                                            size_t count);

/** What weir_pool_cancel() found; both may be true. */
enum weir_canceled {
    WEIR_CANCELED_PENDING = 1, /**< It was queued, had a pending time, or was sent during its run;
                                    that was removed. */
    WEIR_CANCELED_RUNNING = 2  /**< It was running; that run's context was cancelled. */
};

/** Cancels an envelope. A queued or waiting one is taken out; the context of a running one is
 * cancelled. Once the call has returned, no further run begins because of earlier sends, of a retry
 * or of a schedule; a periodic envelope ends. A later send, also by the cancelled task itself, is
 * independent of the cancellation and begins a schedule anew.
 *
 * With a timeout it waits until the run that was cancelled has ended, and what the pool calls
 * because of its end has returned: the envelope's outcome function, the pool's ended function, and
 * release where it gives the last reference back. An envelope whose run has just ended is not in
 * flight any more, so nothing is cancelled, but the call waits for these functions all the same.
 *
 * ret_found (may be NULL) receives what there was, of enum weir_canceled, with WEIR_ETIMEDOUT too;
 * 0: it was not in flight. Works in every state of the pool. Errors: WEIR_ETIMEDOUT (the envelope
 * is cancelled, and its run goes on); WEIR_EBUSY (in flight in another pool), WEIR_ESTATE (with a
 * timeout, from the very run that is to end, or from what is called because it has ended),
 * WEIR_EINVAL; then nothing changed. */
WEIR_API enum weir_status weir_pool_cancel(weir_pool *pool, weir_envelope *envelope,
                                           int64_t timeout_ns, uint32_t *ret_found);

/** Counts of a pool. The first four are of one moment. */
struct weir_pool_counts {
    size_t queued;    /**< Envelopes ready to run. */
    size_t waiting;   /**< Envelopes with a pending time, whether or not they are queued or run. */
    size_t running;   /**< Envelopes being run. */
    size_t in_flight; /**< Envelopes the pool holds, each counted once; what capacity limits. */
    uint64_t runs;    /**< Runs ended, with whatever status, ever: the sum of the next six. */
    uint64_t dropped; /**< Runs to come that were dropped, ever: sends, retries, schedules. */
    uint64_t succeeded;   /**< WEIR_OK. */
    uint64_t failed;      /**< Any status that is not one of the others. */
    uint64_t panics;      /**< WEIR_EPANIC. */
    uint64_t timed_out;   /**< WEIR_ETIMEDOUT. */
    uint64_t canceled;    /**< WEIR_ECANCELED. */
    uint64_t stopped;     /**< WEIR_ESTOP. */
    uint64_t late;        /**< Runs that succeeded after their deadline. */
    uint64_t retries;     /**< Retries of one-off envelopes that were made. */
    uint64_t exhausted;   /**< Retries that their attempts forbade. */
    uint64_t hook_errors; /**< Before and after hooks with a status other than WEIR_OK and
                               WEIR_ESTOP, and hooks of any kind that panicked. */
    uint64_t skipped;     /**< Firings of periodic envelopes left out by their policy. */
    uint64_t overdue;     /**< Runs that the watchdog told of (overdue_ns). */
};

/** Reads the counts. Errors: WEIR_EINVAL. */
WEIR_API WEIR_NODISCARD enum weir_status weir_pool_count(weir_pool *pool,
                                                         struct weir_pool_counts *ret_counts);

WEIR_END_DECLS

#endif

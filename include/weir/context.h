/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_CONTEXT_H
#define WEIR_CONTEXT_H

#include <stdint.h>

#include <weir/duration.h>
#include <weir/export.h>
#include <weir/status.h>

WEIR_BEGIN_DECLS

/** @file
 * The limits of a running task. Deadlines are cooperative: nothing ends a task by force; a task
 * that may run long calls weir_context_check(). */

/** A running task's context. Opaque; lives as long as the run; to be used on the task's thread
 * only, but for weir_context_remaining(), weir_context_check() and weir_context_cancel(), which are
 * thread-safe: the caller ensures that the run lasts until they have returned. */
typedef struct weir_context weir_context;

/** A pool (weir/pool.h). Opaque. */
typedef struct weir_pool weir_pool;
/** An envelope (weir/envelope.h). Opaque. */
typedef struct weir_envelope weir_envelope;

/** The pool that runs the task; NULL for NULL, with WEIR_POOL_HIDDEN, and in a consumer's run. */
WEIR_API weir_pool *weir_context_pool(weir_context *context);

/** The envelope that is run, valid during the run; NULL for NULL. */
WEIR_API weir_envelope *weir_context_envelope(weir_context *context);

/** Which attempt this is: 1 more than the envelope's runs in a row that have failed up to now; in a
 * consumer's run attempts of its job; 0 for NULL. */
WEIR_API uint32_t weir_context_attempt(weir_context *context);

/** The number of the worker that runs the task, for what each worker has one of, such as a
 * connection: from 0 to one less than the largest count of workers that the pool was given, and
 * never that of two workers at once. Another may get it once this one has ended. 0 for NULL. */
WEIR_API uint32_t weir_context_worker(weir_context *context);

/** The time of the firing that this run of a periodic envelope is for, also if the run covers sends
 * too: of a cron expression a time of the wall clock (weir/schedule.h), of other schedules a
 * reading of the pool's clock. 0 for a run that only a send or failure hook asked for, and NULL. */
WEIR_API int64_t weir_context_due(weir_context *context);

/** Time until the deadline: WEIR_FOREVER without one, 0 when it has passed; 0 for NULL. A
 * cancellation does not change it. */
WEIR_API int64_t weir_context_remaining(weir_context *context);

/** Whether the task may go on. It may return this status as its own. Cheap: no system call beyond
 * reading the clock, and not that without a deadline. Errors: WEIR_ECANCELED (it was cancelled, by
 * WEIR_END_STOP, weir_context_cancel() and the like), else WEIR_ETIMEDOUT (its deadline has
 * passed); WEIR_EINVAL. */
WEIR_API enum weir_status weir_context_check(weir_context *context);

/** A file descriptor that is readable when weir_context_check() says other than WEIR_OK, for a task
 * that waits in poll() or in an event loop of its own. The task only watches it, and only until the
 * run ends: the next run on this worker gets the same descriptor. Errors: WEIR_EINVAL, WEIR_ENOMEM,
 * WEIR_EIO (such as no descriptors left; it takes one); then it may be asked for again. */
WEIR_API WEIR_NODISCARD enum weir_status weir_context_fd(weir_context *context, int *ret_fd);

/** Stores a value for later functions of this run: the stamps inside, the task, the hooks. A key is
 * an address that its users share, such as that of a static variable. value replaces the one that
 * was there; NULL takes it out. Eight take no memory. Only the pointers are kept, until the end of
 * the run. Errors: WEIR_EINVAL (also key NULL), WEIR_ENOMEM; then nothing changed. */
WEIR_API WEIR_NODISCARD enum weir_status weir_context_set(weir_context *context, const void *key,
                                                          void *value);

/** Returns the value stored under this key in this run; NULL where there is none, and for NULL. */
WEIR_API void *weir_context_get(weir_context *context, const void *key);

/** Sleeps for delay_ns of the pool's clock, or until the deadline or a cancellation, whichever is
 * first; not at all where delay_ns <= 0. WEIR_OK only when the whole delay has passed in time.
 * Errors as weir_context_check(). */
WEIR_API WEIR_NODISCARD enum weir_status weir_context_sleep(weir_context *context,
                                                            int64_t delay_ns);

/** Size of a run's explanation, its NUL included; longer ones are cut. */
#define WEIR_EXPLANATION_SIZE 256

/** Says in words what came of this run: why it failed, or with what result it succeeded. From its
 * task, stamps and hooks, also from an isolated task that returns. Copied; the last call counts,
 * and "" takes it back. The pool's ended function is told (weir/ended.h); of a consumer's run it is
 * the job's reason or result (weir/consumer.h). Errors: WEIR_EINVAL (NULL). */
WEIR_API enum weir_status weir_context_explain(weir_context *context, const char *text);

/** Cancels this run alone, as a stop of the pool cancels all: for a thread that learns that the
 * work is no longer wanted, and that has the context under a lock which the task also takes before
 * it returns. Does not block. NULL is ignored. */
WEIR_API void weir_context_cancel(weir_context *context);

WEIR_END_DECLS

#endif

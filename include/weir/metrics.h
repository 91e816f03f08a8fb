/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_METRICS_H
#define WEIR_METRICS_H

#include <stddef.h>

#include <weir/allocator.h>
#include <weir/export.h>
#include <weir/status.h>

WEIR_BEGIN_DECLS

/** @file
 * Metrics of named queues and pools, as text for Prometheus.
 *
 * A registry is given to queues in their options, with a name for each, which is the label `name`;
 * there is none for the whole process. It shows the seven families that Kubernetes' work queues
 * have, with their names, types, help texts and buckets, so that dashboards and alerts made for
 * those work unchanged.
 *
 * - `workqueue_depth`, a gauge: items to be handed out, those added while processing included;
 * - `workqueue_adds_total`, a counter: adds of items not queued or dirty already; a waiting item's
 *   time that comes is one;
 * - `workqueue_queue_duration_seconds`, a histogram: from that add to get;
 * - `workqueue_work_duration_seconds`, a histogram: from get to done;
 * - `workqueue_unfinished_work_seconds`, a gauge: the sum of the ages of the processings under way;
 * - `workqueue_longest_running_processor_seconds`, a gauge: the age of the oldest of them;
 * - `workqueue_retries_total`, a counter: add_after and add_rate_limited that were accepted,
 *   whatever the delay; add_with where it has one or is rate-limited.
 *
 * A pool shows its queue in these, and has twelve families of its own, with the same label:
 *
 * - `weir_pool_workers`, `weir_pool_running`, `weir_pool_in_flight`, `weir_pool_capacity`, gauges:
 *   its threads, the envelopes being run, those in flight, and its capacity (`+Inf`: no limit);
 * - `weir_pool_runs_total`, a counter with the label `outcome`: runs that ended as `success`,
 *   `error`, `panic`, `timeout`, `canceled` or `stop`;
 * - `weir_pool_late_runs_total`, a counter: runs that succeeded after their deadline;
 * - `weir_pool_overdue_runs_total`, a counter: runs that a watchdog told of, also those that have
 *   not ended yet;
 * - `weir_pool_retries_total`, a counter: retries of one-off envelopes that were made;
 * - `weir_pool_exhausted_total`, a counter: retries that their attempts forbade;
 * - `weir_pool_hook_errors_total`, a counter: before and after hooks that ended with an error;
 * - `weir_pool_skipped_firings_total`, a counter: firings that policies of envelopes left out;
 * - `weir_pool_dropped_total`, a counter: runs that were asked for and will not be.
 *
 * The buckets are Kubernetes' ten, and two more: 100 and 1000 seconds. Times are the queue's
 * clock's. Ages are those of the moment of reading.
 *
 * After fork() a child cannot use its parent's registries: to write one, to free one, and to make a
 * queue or pool that is in it, is WEIR_EFORKED. */

/** A registry of named queues and pools. Opaque. */
typedef struct weir_metrics weir_metrics;

/** What a registry is made with. Zero means the default of every field. */
struct weir_metrics_options {
    struct weir_allocator allocator; /**< Copied; all members NULL: libc's. */
};

/** Makes a registry without queues. options may be NULL. Returns owned: weir_metrics_free().
 * Errors: WEIR_EINVAL (allocator), WEIR_ENOMEM. */
WEIR_API WEIR_NODISCARD enum weir_status weir_metrics_new(
    const struct weir_metrics_options *options, weir_metrics **ret_metrics,
    struct weir_error *ret_error);

/** Frees a registry. Takes NULL. No other thread may be in a call on it. Errors: WEIR_EBUSY (a
 * queue or pool uses it; nothing changed), WEIR_EFORKED. */
WEIR_API enum weir_status weir_metrics_free(weir_metrics *metrics);

/** Receives a piece of a text, borrowed during the call, not ended by a NUL. Called on the thread
 * that called weir_metrics_write(), with no lock held, as often as there are pieces, of at most
 * 4096 bytes. Any status but WEIR_OK (also WEIR_EUSER and up) ends the writing. */
typedef int weir_metrics_write_fn(const char *text, size_t size, void *arg);

/** Writes the metrics of all queues and pools of a registry in the Prometheus text format 0.0.4, to
 * be served as `text/plain; version=0.0.4; charset=utf-8`; nothing where there are none.  Queues
 * come in the order of their names, then pools. Thread-safe, also beside calls on the queues: it
 * holds up each queue for well under a microsecond, and for queueing what has become due since the
 * last call on it. Returns the status of write that ended the writing. Errors: WEIR_EINVAL,
 * WEIR_ENOMEM; then nothing was written. */
WEIR_API WEIR_NODISCARD int weir_metrics_write(weir_metrics *metrics, weir_metrics_write_fn *write,
                                               void *arg);

WEIR_END_DECLS

#endif

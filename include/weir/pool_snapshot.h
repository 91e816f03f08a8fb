/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_POOL_SNAPSHOT_H
#define WEIR_POOL_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>

#include <weir/envelope.h>
#include <weir/export.h>
#include <weir/pool.h>
#include <weir/status.h>

WEIR_BEGIN_DECLS

/** @file
 * The envelopes in flight in a pool: all at one moment, or the one with an id. For people and logs.
 * Times are readings of the pool's clock. All calls are thread-safe but weir_pool_snapshot_free(),
 * and work in every state of the pool. */

/** An envelope in flight. */
struct weir_pool_item {
    weir_envelope *envelope; /**< With a reference: of a snapshot, its own; of a look-up, the
                                  caller's (weir_envelope_unref()). */
    int64_t due_ns;          /**< Its pending time; -1: none. Of a schedule it may differ from the
                                  firing: by the slack, by a send for later, and with a cron
                                  expression it may be the next look at the wall clock. */
    int64_t queued_ns;       /**< Ready for so long; -1: not, or the pool has no metrics. */
    int64_t running_ns;      /**< Run for so long; -1 likewise. */
    uint32_t runs;           /**< That ended since it was sent. */
    uint32_t failures;       /**< In a row. */
    uint32_t place;          /**< Of enum weir_place (weir/key.h). */
    int last_status;         /**< Of the last of those runs; WEIR_OK if there was none. */
    int64_t firing_ns;       /**< The next firing of its schedule, a time as weir_context_due()
                                  returns; WEIR_FOREVER: it never comes; -1: it is one-off, no
                                  worker has taken it up since it was sent, or it runs and the end
                                  of the run makes the next firing (WEIR_SCHEDULE_DELAY). */
};

/** The envelopes in flight at one moment. It does not change, may outlive its pool, and holds a
 * reference to each envelope in it. */
struct weir_pool_snapshot {
    const struct weir_pool_item *items; /**< Readable until weir_pool_snapshot_free(). */
    size_t count;                       /**< Of items. */
};

/** Makes a snapshot: envelopes that run first, in the order in which they were begun; then those
 * that are queued, first those whose group is at its limit; then those that only wait, in no order.
 * The pool is locked while they are copied. Returns owned: weir_pool_snapshot_free(). Errors:
 * WEIR_EINVAL, WEIR_ENOMEM. */
WEIR_API WEIR_NODISCARD enum weir_status weir_pool_snapshot_new(
    weir_pool *pool, struct weir_pool_snapshot **ret_snapshot);

/** Frees a snapshot, also after its pool, and gives its references back. Takes NULL. */
WEIR_API void weir_pool_snapshot_free(struct weir_pool_snapshot *snapshot);

/** Looks for an envelope in flight with this id (weir_envelope_id()); of several it finds one. Goes
 * through all envelopes in flight, with the pool locked. Errors: WEIR_ENOTFOUND (no such envelope
 * is in flight), WEIR_EINVAL. */
WEIR_API WEIR_NODISCARD enum weir_status weir_pool_lookup(weir_pool *pool, uint64_t id,
                                                          struct weir_pool_item *ret_item);

WEIR_END_DECLS

#endif

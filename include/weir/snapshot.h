/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_SNAPSHOT_H
#define WEIR_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>

#include <weir/export.h>
#include <weir/key.h>
#include <weir/queue.h>
#include <weir/status.h>

WEIR_BEGIN_DECLS

/** @file
 * What is in a queue: one item, or all of them at one moment, with place, pending time and age. For
 * people and logs, such as to name what is still running when a drain has run out of time; and for
 * the owner of an embedded item, to ask whether the queue still holds it.
 *
 * None of the calls blocks; all are thread-safe but weir_snapshot_free(). */

/** One item, as a snapshot and a look-up show it. */
struct weir_snapshot_item {
    struct weir_key key;    /**< A copy of the bytes, the snapshot's; or the address. Of a look-up:
                                 as the caller passed it. */
    struct weir_item *item; /**< The embedded item, which may be gone by now; NULL where the item is
                                 named by bytes. */
    int64_t due_ns;         /**< Its pending time on the queue's clock; -1: none. */
    int64_t queued_ns;      /**< Queued or dirty for so long; -1: it is not, or the queue keeps
                                 neither metrics nor ages (WEIR_QUEUE_AGES). */
    int64_t running_ns;     /**< Processing for so long; -1 likewise. */
    uint64_t ticket; /**< The processing's, as in struct weir_work; 0: it is not processing. */
    enum weir_place place; /**< Independent of due_ns. */
};

/** Looks one item up; one that the queue does not know is idle and has no pending time. The result
 * may be out of date at once: only an item that is idle and not waiting stays so if no thread adds
 * it. Costs no more than an add; works after shutdown too. Errors: WEIR_EINVAL, WEIR_ETOOBIG (key),
 * WEIR_EBUSY (an embedded item that another queue holds). */
WEIR_API WEIR_NODISCARD enum weir_status weir_queue_lookup(weir_queue *queue, struct weir_key key,
                                                           struct weir_snapshot_item *ret_item);

/** All items of a queue at one moment. It does not change, and may outlive its queue. */
struct weir_snapshot {
    const struct weir_snapshot_item *items; /**< Readable until weir_snapshot_free(). */
    size_t count;                           /**< Of items. */
};

/** Makes a snapshot: processing items first, in order of their starts; then queued ones, in the
 * order in which they will be handed out; then those that only wait, in no order. Waiting items
 * that are due count as queued. The queue is locked while its items are copied, usually twice, but
 * not while memory is allocated for them, which comes from the queue's allocator. Works after
 * shutdown too. Returns owned: weir_snapshot_free(). Errors: WEIR_EINVAL, WEIR_ENOMEM. */
WEIR_API WEIR_NODISCARD enum weir_status weir_queue_snapshot(weir_queue *queue,
                                                             struct weir_snapshot **ret_snapshot);

/** Frees a snapshot, also after its queue. Takes NULL. */
WEIR_API void weir_snapshot_free(struct weir_snapshot *snapshot);

WEIR_END_DECLS

#endif

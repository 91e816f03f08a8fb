/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLOSE_H
#define WEIRI_CLOSE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "queue/internal.h"

/* What the life of a pool asks of its queue beyond a shutdown, which has no way back. All items are
 * embedded ones.
 *
 * A closed queue refuses adds as one that is shut down does, and its gets end; but it can be opened
 * again. Time stands still in it: what waits goes on waiting, so that what is pending at the close
 * is pending still when somebody decides about it, and nothing comes due behind the last consumer.
 */
enum weiri_close {
    WEIRI_CLOSE_DRAIN, /* gets hand out what is queued, then end */
    WEIRI_CLOSE_STOP   /* gets end at once; what is queued stays */
};

/* Closes the queue. Of several closes the stronger counts: STOP, and not to keep. keeps: what is
 * left unrun stays in the queue, and a run may bring its item back (weiri_queue_send_again). */
void weiri_queue_close(weir_queue *queue, enum weiri_close mode, bool keeps);

/* Opens a closed queue again, in which nobody is. */
void weiri_queue_reopen(weir_queue *queue);

/* Takes out what a closed queue is not to keep: items that only wait and, after a STOP, queued
 * ones. All of them are free then, and are returned as a chain (weiri_chain_next). What is
 * processing is left alone: once it is done, this has to be called again. */
struct weir_item *weiri_queue_take_closed(weir_queue *queue);

/* Takes the first item out of a chain; NULL when there is none left. */
struct weir_item *weiri_chain_next(struct weir_item **chain);

/* The item behind one of a chain; NULL: it is the last one. */
static inline const struct weir_item *weiri_chain_peek(const struct weir_item *item)
{
    return (const struct weir_item *)(uintptr_t)item->weir_position;
}

/* A paused queue hands nothing out; all else goes on, time too. A close to drain it ends that; one
 * that is paused when it is closed is so once it is opened again. False: it was so before. */
bool weiri_queue_pause(weir_queue *queue, bool is_paused);
bool weiri_queue_is_paused(weir_queue *queue);
/* Waits until nothing is processed in a paused queue. WEIR_ECANCELED: it was resumed;
 * WEIR_ETIMEDOUT by its clock, WEIR_ENOMEM. */
WEIR_NODISCARD enum weir_status weiri_queue_await_pause(weir_queue *queue, int64_t limit_ns);

/* Has the next so many gets return WEIR_ECANCELED before they are handed anything, whoever makes
 * them, sleepers included. A close takes it back, and of a closed queue it does nothing. */
void weiri_queue_retire(weir_queue *queue, size_t count);
/* Takes that back for up to count gets; for how many. */
size_t weiri_queue_retain(weir_queue *queue, size_t count);

/* Ends the processing of an item that was handed out and not begun: it is queued again.
 * WEIR_ECANCELED: *cancelled_run says that this processing was cancelled, so that nothing may come
 * after it; WEIR_ENOMEM. Then nothing changed. */
WEIR_NODISCARD enum weir_status weiri_queue_put_back(weir_queue *queue,
                                                     const struct weir_work *work,
                                                     const _Atomic uint64_t *cancelled_run);

/* Of the items that are processing, the one that was handed out first after *ticket, which becomes
 * its own; NULL: there is none. hold is called for it with the lock held, and must be short. */
struct weir_item *weiri_queue_next_processing(weir_queue *queue, uint64_t *ticket,
                                              void (*hold)(struct weir_item *item));

#endif

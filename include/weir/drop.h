/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_DROP_H
#define WEIR_DROP_H

#include <weir/envelope.h>
#include <weir/export.h>

WEIR_BEGIN_DECLS

/** @file
 * Nothing that was sent to a pool goes unheard of: an envelope that leaves it without a run that it
 * was still to have is told to the pool's dropped function, with the reason. */

/** Why an envelope was dropped. The numbers are part of the ABI. */
enum weir_drop_reason {
    WEIR_DROP_STOPPED = 1,    /**< The pool was stopped. */
    WEIR_DROP_DRAINED = 2,    /**< It waited for a time, and the pool was drained. */
    WEIR_DROP_TERMINATED = 3, /**< The pool was terminated, or freed. */
    WEIR_DROP_CANCELED = 4,   /**< The envelope was cancelled. */
    WEIR_DROP_DISPLACED = 5,  /**< A later one took its slot (WEIR_FULL_DROP_OLDEST). */
    WEIR_DROP_FAILED = 6,     /**< It failed, and its failure hook did not ask for another run. */
    WEIR_DROP_EXHAUSTED = 7,  /**< It failed too often for another run. */
    WEIR_DROP_NO_MEMORY = 8   /**< There was no memory to bring it back with. */
};

/** Is told of an envelope that was dropped: once for each flight that ends so, however many runs
 * were still to come, after the drop and before the pool's reference to it goes. Called on
 * whichever thread drops it, with no lock held; may call anything, also send the envelope to
 * another pool once this call has returned, but for what waits for this pool or a run of its to end
 * (WEIR_CANCEL_WAIT), or starts it.
 * arg is dropped_arg of struct weir_pool_options. */
typedef void weir_dropped_fn(weir_envelope *envelope, enum weir_drop_reason reason, void *arg);

/** The reason in words, of which none is empty or NULL: "stopped", "drained", … */
WEIR_API const char *weir_drop_reason_text(enum weir_drop_reason reason);

WEIR_END_DECLS

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_ENVELOPE_H
#define WEIR_ENVELOPE_H

#include <stddef.h>
#include <stdint.h>

#include <weir/allocator.h>
#include <weir/context.h>
#include <weir/export.h>
#include <weir/status.h>

WEIR_BEGIN_DECLS

/** @file
 * An envelope is a task with what a pool needs to run it. Its identity is its address: sending one
 * that is already in flight coalesces. Envelopes are reference-counted, so that one may be sent and
 * forgotten. */

/** An envelope. Opaque. */
typedef struct weir_envelope weir_envelope;

/** The task. Runs on a worker's thread, with no lock held; of one envelope never two runs at once.
 * It may call anything, also send to its own pool, except what waits for the pool to end. Returns
 * WEIR_OK, another status of weir, or one of its own from WEIR_EUSER up, which goes to the outcome
 * function and nowhere else: a pool by itself neither logs nor repeats what failed. */
typedef int weir_invoke_fn(weir_context *context, void *payload);

/** Tells how a run ended, after it, on the same thread and under the same rules. status is what the
 * task returned. The envelope still counts as running, so a send of it from here needs no slot of
 * the capacity; weir_pool_send_after() is how a failed one is tried again. Not called for a run
 * that was dropped. */
typedef void weir_outcome_fn(weir_envelope *envelope, int status, void *payload);

/** Takes back a payload when the last reference to its envelope goes: once, on whichever thread
 * that happens, with no lock held. It may call anything except what waits for a pool to end. */
typedef void weir_release_fn(void *payload);

/** What an envelope is made with. Zero means the default of every field. */
struct weir_envelope_options {
    size_t size;                     /**< Set by WEIR_ENVELOPE_OPTIONS_INIT. */
    struct weir_allocator allocator; /**< Copied; all members NULL: libc's. */
    uint64_t id;                     /**< The user's: weir_envelope_id(). */
    const char *type;                /**< The user's: weir_envelope_type(); copied; NULL: "". */
    void *payload; /**< Passed to all three functions. Taken where release is set; else borrowed
                        until the last reference goes. */
    weir_invoke_fn *invoke;   /**< Required: the task. */
    weir_outcome_fn *outcome; /**< Optional: is told of each run's end. */
    weir_release_fn *release; /**< Optional: takes the payload back. */
    int64_t deadline_ns;      /**< Time limit of one run, from its start; 0: none. */
};

/** Initialiser of struct weir_envelope_options. */
#define WEIR_ENVELOPE_OPTIONS_INIT                                                                 \
    {                                                                                              \
        sizeof(struct weir_envelope_options), {0, 0, 0, 0}, 0, 0, 0, 0, 0, 0, 0                    \
    }

/** Makes an envelope with one reference, the caller's: weir_envelope_unref().
 * Errors: WEIR_EINVAL (options or ret_envelope NULL, no invoke, options of an unknown size or with
 * an unknown field set, an allocator with some members NULL), WEIR_ERANGE (deadline_ns negative),
 * WEIR_ENOMEM; the payload is then not taken. */
WEIR_API WEIR_NODISCARD enum weir_status weir_envelope_new(
    const struct weir_envelope_options *options, weir_envelope **ret_envelope);

/** Takes one more reference, which the caller must have one for; returns envelope. Takes NULL.
 * Thread-safe. */
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

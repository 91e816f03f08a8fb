/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_LIMITER_H
#define WEIRI_LIMITER_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/limiter.h>

#include "base/alloc.h"
#include "base/sync.h"
#include "queue/remembered.h"

/* Limiters as the queue and the pool use them, and the common part of the supplied ones. A supplied
 * limiter is a struct and a const table of functions, like a user's own. docs/internals/limiters.md
 * describes how they work. */

struct weir_limiter {
    /* Immutable. A supplied one may lack forget and num_requeues, too: it forgets and counts
     * nothing.
     */
    struct weir_limiter_ops ops;
    void *self;
    struct weir_allocator allocator;
    size_t size;      /* of the struct with its memory */
    uint64_t process; /* the mark of the process that made it (base/forked.h) */

    atomic_size_t uses;                 /* how many queues, pools and limiters use it */
    alignas(max_align_t) char memory[]; /* self of a supplied one */
};

/* A queue or pool attaches its limiter when it is made, and detaches it when it is freed. A limiter
 * does the same with the limiters that it takes. weir_limiter_free() refuses one that is attached.
 */
void weiri_limiter_attach(weir_limiter *limiter);
void weiri_limiter_detach(weir_limiter *limiter);

/* weir_limiter_when() and weir_limiter_forget() of a limiter that is not NULL and a valid key. */
WEIR_NODISCARD enum weir_status weiri_limiter_when(weir_limiter *limiter, struct weir_key key,
                                                   int64_t now_ns, int64_t *ret_delay_ns);
void weiri_limiter_forget(weir_limiter *limiter, struct weir_key key);

/* The members give_back and undo of such a limiter, where it has them. Once for a when(). */
void weiri_limiter_give_back(weir_limiter *limiter, struct weir_key key, int64_t now_ns);
void weiri_limiter_undo(weir_limiter *limiter, struct weir_key key, int64_t now_ns);

/* Makes the common part of a limiter. Its self is zeroed memory of self_size bytes, which is freed
 * with it; destroy frees only what self refers to. Empties ret_error. Errors: WEIR_EINVAL
 * (allocator, ret_limiter NULL), WEIR_ENOMEM. */
WEIR_NODISCARD enum weir_status weiri_limiter_make(const struct weir_limiter_ops *ops,
                                                   size_t self_size,
                                                   const struct weir_allocator *allocator,
                                                   weir_limiter **ret_limiter,
                                                   struct weir_error *ret_error);

/* The common part of the limiters that are per item, the first member of their self. */
struct weiri_item_limiter {
    struct weiri_mutex mutex;
    struct weiri_remembered remembered WEIRI_GUARDED_BY(mutex);
};

/* Makes such a limiter with the functions ops; destroy frees the common part. What is remembered of
 * an item matters for memory_ns after its last use. Errors: as weiri_limiter_make(), WEIR_ERANGE.
 */
WEIR_NODISCARD enum weir_status weiri_item_limiter_make(const struct weir_limiter_ops *ops,
                                                        size_t self_size, int64_t memory_ns,
                                                        const struct weir_limiter_options *options,
                                                        weir_limiter **ret_limiter,
                                                        struct weir_error *ret_error);
void weiri_item_limiter_destroy(void *self);

#endif

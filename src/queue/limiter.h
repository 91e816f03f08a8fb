/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_LIMITER_H
#define WEIRI_LIMITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/limiter.h>

#include "base/alloc.h"
#include "base/forked.h"
#include "base/inline.h"
#include "base/time.h"

/* The supplied limiters are made with the public interface, as one of a user's own would be: a
 * struct of their own and a const table of functions, given to weir_limiter_new(). What several of
 * them share is here; how it works: docs/internals/limiters.md. */

struct weir_limiter {
    struct weir_limiter_ops ops;
    void *self;
    uint64_t process; /* the mark of the one that made it */
    struct weir_allocator allocator;
};

/* weir_limiter_when() and weir_limiter_forget() of a limiter and a key that have been checked, but
 * for the process: a queue that was made after fork() may have been given a limiter from before. */
WEIR_NODISCARD static inline enum weir_status weiri_limiter_when(weir_limiter *limiter,
                                                                 struct weir_key key,
                                                                 int64_t now_ns,
                                                                 int64_t *ret_delay_ns)
{
    if (!WEIRI_LIKELY(!weiri_forked_since(limiter->process))) {
        return WEIR_EFORKED;
    }
    enum weir_status status = limiter->ops.when(limiter->self, key, now_ns, ret_delay_ns);
    if (status == WEIR_OK && *ret_delay_ns < 0) {
        *ret_delay_ns = 0;
    }
    return status;
}

static inline void weiri_limiter_forget(weir_limiter *limiter, struct weir_key key)
{
    if (WEIRI_LIKELY(!weiri_forked_since(limiter->process))) {
        limiter->ops.forget(limiter->self, key);
    }
}

/* Those that are per item differ in their arithmetic only; the rest of them is limiter_item.c. */
struct weiri_item_terms {
    int64_t first_ns;
    int64_t last_ns;
    uint64_t first_count; /* unless the waits double */
    bool is_doubling;
};

/* The wait after so many failures before this one: first_ns doubled as often, at most last_ns; or
 * first_ns for the first ones, then last_ns. Never more than the longer of the two. */
static inline int64_t weiri_item_answer(const struct weiri_item_terms *terms, uint64_t before)
{
    if (terms->is_doubling) {
        return weiri_time_shift(terms->first_ns, before, terms->last_ns);
    }
    return before < terms->first_count ? terms->first_ns : terms->last_ns;
}

/* terms are copied and already checked. Errors: WEIR_EINVAL, WEIR_ERANGE (options), WEIR_ENOMEM. */
WEIR_NODISCARD enum weir_status weiri_item_limiter_new(const struct weiri_item_terms *terms,
                                                       const struct weir_limiter_options *options,
                                                       weir_limiter **ret_limiter);

/* The first member of those that change another one's answer. All but when() passes through:
 * limiter_wrapper.c. */
struct weiri_wrapper {
    struct weir_allocator allocator;
    weir_limiter *inner;
    size_t size; /* of the whole struct, for its release */
};

/* A zeroed struct of a size with such a first member, made into a limiter whose table has the
 * functions below. Takes inner on success. *ret_wrapper is the struct, whose other members the
 * caller fills. Errors: WEIR_EINVAL (allocator), WEIR_ENOMEM. */
WEIR_NODISCARD enum weir_status weiri_wrapper_new(weir_limiter *inner, size_t size,
                                                  const struct weir_limiter_ops *ops,
                                                  const struct weir_allocator *allocator,
                                                  void **ret_wrapper, weir_limiter **ret_limiter);
void weiri_wrapper_forget(void *self, struct weir_key key);
uint64_t weiri_wrapper_num_requeues(void *self, struct weir_key key);
void weiri_wrapper_destroy(void *self);
void weiri_wrapper_give_back(void *self, struct weir_key key, int64_t now_ns);
void weiri_wrapper_undo(void *self, struct weir_key key, int64_t now_ns);

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_LIMITER_H
#define WEIRI_LIMITER_H

#include <stddef.h>
#include <stdint.h>

#include <weir/limiter.h>

/* The supplied limiters are made with the public interface, as one of a user's own would be: a
 * struct of their own and a const table of functions, given to weir_limiter_new(). What several of
 * them share is here. */

/* Those that are per item differ in their arithmetic only; the rest of them is limiter_item.c. */
struct weiri_item_terms {
    /* The wait after a count of failures before this one: plain arithmetic, never more than the
     * longer one of first_ns and last_ns. */
    int64_t (*answer)(const struct weiri_item_terms *terms, uint64_t before);
    int64_t first_ns;
    int64_t last_ns;
    uint64_t first_count;
};

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

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/stamp.h>

#include "pool/run.h"

/* The inside of a stamp: the chain from an index on, which counts the pool's stamps before the
 * envelope's. Each link is made on the worker's stack when it is called, so that the two arrays are
 * never joined, and nothing is written that two workers share. */
struct weir_next {
    weir_context *context;
    size_t index;
};

/* As many frames of the user's own are on a worker's stack at once. */
#define STAMPS_MAX 1024

enum weir_status weiri_stamps_check(const struct weir_stamp *stamps, size_t count,
                                    struct weir_error *ret_error)
{
    if (count > STAMPS_MAX) {
        return weiri_fail(ret_error, WEIR_ERANGE, "stamp_count is %zu: expected at most %d", count,
                          STAMPS_MAX);
    }
    if (stamps == NULL && count > 0) {
        return weiri_fail(ret_error, WEIR_EINVAL, "stamps is NULL and stamp_count %zu", count);
    }
    for (size_t i = 0; i < count; i++) {
        if (stamps[i].fn == NULL) {
            return weiri_fail(ret_error, WEIR_EINVAL, "stamps[%zu].fn is NULL: expected a function",
                              i);
        }
    }
    return WEIR_OK;
}

/* NULL: there is no further stamp. */
static const struct weir_stamp *stamp_at(const weir_context *context, size_t index)
{
    const weir_pool *pool = context->contexts->pool;
    if (index < pool->options.stamp_count) {
        return &pool->options.stamps[index];
    }
    index -= pool->options.stamp_count;
    const weir_envelope *envelope = context->envelope;
    return index < envelope->options.stamp_count ? &envelope->options.stamps[index] : NULL;
}

/* The chain is that of the run, even if a stamp passes on another context. */
static int run_from(weir_context *own, size_t index, weir_context *context)
{
    const struct weir_stamp *stamp = stamp_at(own, index);
    if (stamp == NULL) {
        return weiri_invoke(own);
    }
    const struct weir_next inside = {own, index + 1};
    return stamp->fn(context, own->envelope, &inside, stamp->arg);
}

int weir_next_run(const weir_next *next, weir_context *context)
{
    return next == NULL || context == NULL ? WEIR_EINVAL
                                           : run_from(next->context, next->index, context);
}

int weiri_stamps_run(weir_context *context)
{
    return run_from(context, 0, context);
}

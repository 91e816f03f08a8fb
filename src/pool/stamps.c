/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/stamps.h"

#include "pool/isolation.h"
#include "pool/round.h"

/* As many frames of the user's own are on a worker's stack at once. */
#define STAMPS_MAX 1024

enum weir_status weiri_stamps_check(const struct weir_stamp *stamps, size_t count)
{
    if (count > STAMPS_MAX) {
        return WEIR_ERANGE;
    }
    if (stamps == NULL && count > 0) {
        return WEIR_EINVAL;
    }
    for (size_t i = 0; i < count; i++) {
        if (stamps[i].fn == NULL) {
            return WEIR_EINVAL;
        }
    }
    return WEIR_OK;
}

/* NULL: all are behind, what comes is the task. */
static const struct weir_stamp *stamp_at(const struct weiri_round *round, size_t index)
{
    const weir_pool *pool = round->worker->pool;
    if (index < pool->stamp_count) {
        return &pool->stamps[index];
    }
    index -= pool->stamp_count;
    weir_envelope *envelope = round->envelope;
    return index < envelope->stamp_count ? &weiri_envelope_stamps(envelope)[index] : NULL;
}

static int run_from(const struct weiri_round *round, size_t index, weir_context *context)
{
    weir_envelope *envelope = round->envelope;
    const struct weir_stamp *stamp = stamp_at(round, index);
    if (stamp == NULL) {
        return weiri_invoke(&round->worker->context);
    }
    const struct weir_next inside = {round, index + 1};
    return stamp->fn(context, envelope, &inside, stamp->arg);
}

int weir_next_run(const weir_next *next, weir_context *context)
{
    if (next == NULL || context == NULL) {
        return WEIR_EINVAL;
    }
    return run_from(next->round, next->index, context);
}

int weiri_stamps_run(const struct weiri_round *round)
{
    return run_from(round, 0, &round->worker->context);
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdatomic.h>

#include "base/random.h"
#include "base/sync.h"
#include "base/time.h"
#include "queue/limiter.h"

/* One step of the sequence of weiri_random_next(), whose state only ever counts up by this. */
#define STEP UINT64_C(0x9e3779b97f4a7c15)

struct jitter {
    struct weiri_wrapper wrapper;
    double fraction;
    /* Relaxed: it orders nothing; each call takes another number of the sequence. */
    _Atomic uint64_t state;
};

/* 0 <= result < 1, in steps of 2^-53. */
static double unit(uint64_t random)
{
    return (double)(random >> 11) * 0x1p-53;
}

static int64_t lengthen(int64_t delay_ns, double part)
{
    double extra = (double)delay_ns * part;
    return extra < 0x1p63 ? weiri_time_add(delay_ns, (int64_t)extra) : INT64_MAX;
}

static enum weir_status when(void *self, struct weir_key key, int64_t now_ns, int64_t *ret_delay_ns)
{
    struct jitter *limiter = self;
    int64_t delay_ns = 0;
    enum weir_status status = weiri_limiter_when(limiter->wrapper.inner, key, now_ns, &delay_ns);
    if (status == WEIR_OK) {
        weiri_sync_point();
        uint64_t state = atomic_fetch_add_explicit(&limiter->state, STEP, memory_order_relaxed);
        *ret_delay_ns = lengthen(delay_ns, limiter->fraction * unit(weiri_random_next(&state)));
    }
    return status;
}

static const struct weir_limiter_ops ops = {
    .size = sizeof(ops),
    .when = when,
    .forget = weiri_wrapper_forget,
    .num_requeues = weiri_wrapper_num_requeues,
    .destroy = weiri_wrapper_destroy,
    .give_back = weiri_wrapper_give_back,
    .undo = weiri_wrapper_undo,
};

enum weir_status weir_limiter_with_jitter_new(weir_limiter *limiter, double fraction, uint64_t seed,
                                              const struct weir_allocator *allocator,
                                              weir_limiter **ret_limiter)
{
    if (limiter == NULL || ret_limiter == NULL) {
        return WEIR_EINVAL;
    }
    if (!(fraction >= 0) || isinf(fraction)) {
        return WEIR_ERANGE;
    }
    void *self = NULL;
    enum weir_status status =
        weiri_wrapper_new(limiter, sizeof(struct jitter), &ops, allocator, &self, ret_limiter);
    if (status == WEIR_OK) {
        struct jitter *jitter = self;
        jitter->fraction = fraction;
        atomic_init(&jitter->state, seed != 0 ? seed : weiri_random_seed());
    }
    return status;
}

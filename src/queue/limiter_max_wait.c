/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/limiter.h"

struct max_wait {
    struct weiri_wrapper wrapper;
    int64_t max_ns;
};

static enum weir_status when(void *self, struct weir_key key, int64_t now_ns, int64_t *ret_delay_ns)
{
    struct max_wait *limiter = self;
    int64_t delay_ns = 0;
    enum weir_status status = weiri_limiter_when(limiter->wrapper.inner, key, now_ns, &delay_ns);
    if (status == WEIR_OK) {
        *ret_delay_ns = delay_ns > limiter->max_ns ? limiter->max_ns : delay_ns;
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

enum weir_status weir_limiter_with_max_wait_new(weir_limiter *limiter, int64_t max_wait_ns,
                                                const struct weir_allocator *allocator,
                                                weir_limiter **ret_limiter)
{
    if (limiter == NULL || ret_limiter == NULL) {
        return WEIR_EINVAL;
    }
    if (max_wait_ns < 0) {
        return WEIR_ERANGE;
    }
    void *self = NULL;
    enum weir_status status =
        weiri_wrapper_new(limiter, sizeof(struct max_wait), &ops, allocator, &self, ret_limiter);
    if (status == WEIR_OK) {
        ((struct max_wait *)self)->max_ns = max_wait_ns;
    }
    return status;
}

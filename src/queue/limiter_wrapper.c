/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/alloc.h"
#include "queue/limiter.h"

enum weir_status weiri_wrapper_new(weir_limiter *inner, size_t size,
                                   const struct weir_limiter_ops *ops,
                                   const struct weir_allocator *allocator, void **ret_wrapper,
                                   weir_limiter **ret_limiter)
{
    struct weir_allocator memory;
    if (weiri_allocator_init(&memory, allocator) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    struct weiri_wrapper *wrapper = weiri_alloc_zero(&memory, 1, size);
    if (wrapper == NULL) {
        return WEIR_ENOMEM;
    }
    *wrapper = (struct weiri_wrapper){.allocator = memory, .inner = inner, .size = size};
    enum weir_status status = weir_limiter_new(ops, wrapper, &memory, ret_limiter);
    if (status != WEIR_OK) {
        weiri_release(&memory, wrapper, size);
        return status;
    }
    *ret_wrapper = wrapper;
    return WEIR_OK;
}

void weiri_wrapper_forget(void *self, struct weir_key key)
{
    struct weiri_wrapper *wrapper = self;
    weiri_limiter_forget(wrapper->inner, key);
}

uint64_t weiri_wrapper_num_requeues(void *self, struct weir_key key)
{
    struct weiri_wrapper *wrapper = self;
    return weir_limiter_num_requeues(wrapper->inner, key);
}

void weiri_wrapper_destroy(void *self)
{
    struct weiri_wrapper *wrapper = self;
    weir_limiter_free(wrapper->inner);
    struct weir_allocator allocator = wrapper->allocator;
    weiri_release(&allocator, wrapper, wrapper->size);
}

void weiri_wrapper_give_back(void *self, struct weir_key key, int64_t now_ns)
{
    struct weiri_wrapper *wrapper = self;
    weir_limiter_give_back(wrapper->inner, key, now_ns);
}

void weiri_wrapper_undo(void *self, struct weir_key key, int64_t now_ns)
{
    struct weiri_wrapper *wrapper = self;
    weir_limiter_undo(wrapper->inner, key, now_ns);
}

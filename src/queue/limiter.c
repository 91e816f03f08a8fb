/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/limiter.h"

#include "base/options.h"

static enum weir_status check(const weir_limiter *limiter, struct weir_key key)
{
    if (limiter == NULL || (key.data == NULL && key.size != 0)) {
        return WEIR_EINVAL;
    }
    if (key.size > WEIR_KEY_SIZE_LIMIT && key.size != WEIR_KEY_ITEM) {
        return WEIR_ETOOBIG;
    }
    return weiri_forked_since(limiter->process) ? WEIR_EFORKED : WEIR_OK;
}

enum weir_status weir_limiter_new(const struct weir_limiter_ops *ops, void *self,
                                  const struct weir_allocator *allocator,
                                  weir_limiter **ret_limiter)
{
    struct weir_allocator memory;
    struct weir_limiter_ops normal;
    if (ops == NULL || ret_limiter == NULL || weiri_allocator_init(&memory, allocator) != WEIR_OK ||
        weiri_options_copy(&normal, sizeof(normal), ops) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    if (normal.when == NULL || normal.forget == NULL || normal.num_requeues == NULL ||
        normal.destroy == NULL) {
        return WEIR_EINVAL;
    }
    uint64_t process = weiri_forked_mark();
    weir_limiter *limiter = process != 0 ? weiri_alloc(&memory, sizeof(*limiter)) : NULL;
    if (limiter == NULL) {
        return WEIR_ENOMEM;
    }
    *limiter = (weir_limiter){.ops = normal, .self = self, .process = process, .allocator = memory};
    *ret_limiter = limiter;
    return WEIR_OK;
}

void weir_limiter_free(weir_limiter *limiter)
{
    /* In a child its locks are as the fork found them. */
    if (limiter != NULL && !weiri_forked_since(limiter->process)) {
        limiter->ops.destroy(limiter->self);
        struct weir_allocator allocator = limiter->allocator;
        weiri_release(&allocator, limiter, sizeof(*limiter));
    }
}

enum weir_status weir_limiter_when(weir_limiter *limiter, struct weir_key key, int64_t now_ns,
                                   int64_t *ret_delay_ns)
{
    enum weir_status status = ret_delay_ns == NULL ? WEIR_EINVAL : check(limiter, key);
    return status == WEIR_OK ? weiri_limiter_when(limiter, key, now_ns, ret_delay_ns) : status;
}

void weir_limiter_give_back(weir_limiter *limiter, struct weir_key key, int64_t now_ns)
{
    if (check(limiter, key) == WEIR_OK && limiter->ops.give_back != NULL) {
        limiter->ops.give_back(limiter->self, key, now_ns);
    }
}

void weir_limiter_undo(weir_limiter *limiter, struct weir_key key, int64_t now_ns)
{
    if (check(limiter, key) == WEIR_OK && limiter->ops.undo != NULL) {
        limiter->ops.undo(limiter->self, key, now_ns);
    }
}

void weir_limiter_forget(weir_limiter *limiter, struct weir_key key)
{
    if (check(limiter, key) == WEIR_OK) {
        weiri_limiter_forget(limiter, key);
    }
}

uint64_t weir_limiter_num_requeues(weir_limiter *limiter, struct weir_key key)
{
    return check(limiter, key) == WEIR_OK ? limiter->ops.num_requeues(limiter->self, key) : 0;
}

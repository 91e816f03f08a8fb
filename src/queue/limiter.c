/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/limiter.h"

#include <stdbool.h>

#include "base/forked.h"
#include "base/sync.h"
#include "queue/key.h"

enum weir_status weiri_limiter_make(const struct weir_limiter_ops *ops, size_t self_size,
                                    const struct weir_allocator *allocator,
                                    weir_limiter **ret_limiter, struct weir_error *ret_error)
{
    struct weir_allocator memory;
    weiri_error_clear(ret_error);
    if (weiri_check_given("ret_limiter", ret_limiter, ret_error) != WEIR_OK ||
        weiri_allocator_init(&memory, allocator, ret_error) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    size_t size = sizeof(weir_limiter) + self_size;
    uint64_t process = weiri_forked_mark();
    weir_limiter *limiter = process != 0 ? weiri_alloc_zero(&memory, 1, size) : NULL;
    if (limiter == NULL) {
        return weiri_explain(ret_error, WEIR_ENOMEM);
    }
    limiter->ops = *ops;
    limiter->self = limiter->memory;
    limiter->allocator = memory;
    limiter->size = size;
    limiter->process = process;
    *ret_limiter = limiter;
    return WEIR_OK;
}

enum weir_status weir_limiter_new(const struct weir_limiter_ops *ops, void *self,
                                  const struct weir_allocator *allocator,
                                  weir_limiter **ret_limiter, struct weir_error *ret_error)
{
    if (weiri_check_given("ops", ops, ret_error) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    const char *missing = ops->when == NULL           ? "when"
                          : ops->forget == NULL       ? "forget"
                          : ops->num_requeues == NULL ? "num_requeues"
                          : ops->destroy == NULL      ? "destroy"
                                                      : NULL;
    if (missing != NULL) {
        return weiri_fail(ret_error, WEIR_EINVAL, "ops->%s is NULL: expected a function", missing);
    }
    enum weir_status status = weiri_limiter_make(ops, 0, allocator, ret_limiter, ret_error);
    if (status == WEIR_OK) {
        (*ret_limiter)->self = self;
    }
    return status;
}

void weiri_limiter_attach(weir_limiter *limiter)
{
    weiri_sync_point();
    (void)atomic_fetch_add_explicit(&limiter->uses, 1, memory_order_relaxed);
}

/* The user's last call on the limiter happens before weir_limiter_free() frees it. */
void weiri_limiter_detach(weir_limiter *limiter)
{
    weiri_sync_point();
    (void)atomic_fetch_sub_explicit(&limiter->uses, 1, memory_order_release);
}

enum weir_status weir_limiter_free(weir_limiter *limiter)
{
    if (limiter == NULL) {
        return WEIR_OK;
    }
    /* In a child its mutexes may be in any state. */
    if (weiri_forked_since(limiter->process)) {
        return WEIR_EFORKED;
    }
    weiri_sync_point();
    if (atomic_load_explicit(&limiter->uses, memory_order_acquire) != 0) {
        return WEIR_EBUSY;
    }
    limiter->ops.destroy(limiter->self);
    struct weir_allocator allocator = limiter->allocator;
    weiri_release(&allocator, limiter, limiter->size);
    return WEIR_OK;
}

/* Queues and pools call this too. One that was made after fork() may have a limiter that was made
 * before: the process of the limiter is checked here for that. */
enum weir_status weiri_limiter_when(weir_limiter *limiter, struct weir_key key, int64_t now_ns,
                                    int64_t *ret_delay_ns)
{
    if (weiri_forked_since(limiter->process)) {
        return WEIR_EFORKED;
    }
    enum weir_status status = limiter->ops.when(limiter->self, key, now_ns, ret_delay_ns);
    if (status == WEIR_OK && *ret_delay_ns < 0) {
        *ret_delay_ns = 0;
    }
    return status;
}

void weiri_limiter_forget(weir_limiter *limiter, struct weir_key key)
{
    if (!weiri_forked_since(limiter->process) && limiter->ops.forget != NULL) {
        limiter->ops.forget(limiter->self, key);
    }
}

void weiri_limiter_give_back(weir_limiter *limiter, struct weir_key key, int64_t now_ns)
{
    if (!weiri_forked_since(limiter->process) && limiter->ops.give_back != NULL) {
        limiter->ops.give_back(limiter->self, key, now_ns);
    }
}

void weiri_limiter_undo(weir_limiter *limiter, struct weir_key key, int64_t now_ns)
{
    if (!weiri_forked_since(limiter->process) && limiter->ops.undo != NULL) {
        limiter->ops.undo(limiter->self, key, now_ns);
    }
}

static enum weir_status check(const weir_limiter *limiter, struct weir_key key)
{
    enum weir_status status =
        limiter == NULL ? WEIR_EINVAL : weiri_key_check(key, WEIR_KEY_SIZE_LIMIT);
    return status == WEIR_OK && weiri_forked_since(limiter->process) ? WEIR_EFORKED : status;
}

enum weir_status weir_limiter_when(weir_limiter *limiter, struct weir_key key, int64_t now_ns,
                                   int64_t *ret_delay_ns)
{
    enum weir_status status = ret_delay_ns == NULL ? WEIR_EINVAL : check(limiter, key);
    return status == WEIR_OK ? weiri_limiter_when(limiter, key, now_ns, ret_delay_ns) : status;
}

void weir_limiter_forget(weir_limiter *limiter, struct weir_key key)
{
    if (check(limiter, key) == WEIR_OK) {
        weiri_limiter_forget(limiter, key);
    }
}

uint64_t weir_limiter_num_requeues(weir_limiter *limiter, struct weir_key key)
{
    bool is_counting = check(limiter, key) == WEIR_OK && limiter->ops.num_requeues != NULL;
    return is_counting ? limiter->ops.num_requeues(limiter->self, key) : 0;
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/alloc.h"
#include "base/inline.h"
#include "base/lock.h"
#include "base/options.h"
#include "base/random.h"
#include "queue/failures.h"
#include "queue/limiter.h"

#define ITEMS_MAX_DEFAULT ((size_t)1 << 20)
#define FORGET_AFTER_DEFAULT WEIR_SECONDS(86400)

struct item_limiter {
    /* Immutable. */
    struct weir_allocator allocator;
    struct weiri_item_terms terms;

    struct weiri_lock lock;
    struct weiri_failures failures; /* guarded by the lock, but for what is immutable in it */
};

/* when() of what is not short, or where something is in the way. */
static WEIRI_NOINLINE enum weir_status when_slow_locked(struct item_limiter *limiter,
                                                        struct weir_key key, int64_t now_ns,
                                                        int64_t *ret_delay_ns)
    WEIRI_RELEASE(limiter->lock)
{
    struct weiri_name name = weiri_failures_name(&limiter->failures, key);
    uint64_t before = 0;
    enum weir_status status = weiri_failures_add(&limiter->failures, name, now_ns, &before);
    weiri_lock_unlock(&limiter->lock);
    if (status == WEIR_OK) {
        *ret_delay_ns = weiri_item_answer(&limiter->terms, before);
    }
    return status;
}

/* The same where weiri_lock_enter() has not taken the lock. */
static WEIRI_NOINLINE enum weir_status when_after(struct item_limiter *limiter, struct weir_key key,
                                                  int64_t now_ns, int64_t *ret_delay_ns,
                                                  uint32_t entry)
{
    weiri_lock_lock_after(&limiter->lock, entry);
    return when_slow_locked(limiter, key, now_ns, ret_delay_ns);
}

/* As in queue/quick.h, the common case calls nothing. */
static enum weir_status when(void *self, struct weir_key key, int64_t now_ns, int64_t *ret_delay_ns)
{
    struct item_limiter *limiter = self;
    if (!WEIRI_LIKELY(weiri_failures_is_key_short(key))) {
        weiri_lock_lock(&limiter->lock);
        return when_slow_locked(limiter, key, now_ns, ret_delay_ns);
    }
    struct weiri_name name = weiri_failures_name_short(&limiter->failures, key);
    uint32_t entry = weiri_lock_enter(&limiter->lock);
    if (!WEIRI_LIKELY(weiri_lock_has_entered(&limiter->lock, entry))) {
        return when_after(limiter, key, now_ns, ret_delay_ns, entry);
    }
    uint64_t before = 0;
    if (!WEIRI_LIKELY(weiri_failures_add_quick(&limiter->failures, name, now_ns, &before))) {
        return when_slow_locked(limiter, key, now_ns, ret_delay_ns);
    }
    weiri_lock_leave(&limiter->lock, entry);
    *ret_delay_ns = weiri_item_answer(&limiter->terms, before);
    return WEIR_OK;
}

static WEIRI_NOINLINE void forget_slow(struct item_limiter *limiter, struct weir_key key)
{
    struct weiri_name name = weiri_failures_name(&limiter->failures, key);
    weiri_lock_lock(&limiter->lock);
    weiri_failures_forget(&limiter->failures, name);
    weiri_lock_unlock(&limiter->lock);
}

static WEIRI_NOINLINE void forget_after(struct item_limiter *limiter, struct weir_key key,
                                        uint32_t entry)
{
    weiri_lock_lock_after(&limiter->lock, entry);
    weiri_failures_forget(&limiter->failures, weiri_failures_name(&limiter->failures, key));
    weiri_lock_unlock(&limiter->lock);
}

static WEIRI_NOINLINE void remove_locked(struct item_limiter *limiter, struct weiri_slot *slot)
    WEIRI_RELEASE(limiter->lock)
{
    weiri_failures_remove(&limiter->failures, slot);
    weiri_lock_unlock(&limiter->lock);
}

static void forget(void *self, struct weir_key key)
{
    struct item_limiter *limiter = self;
    if (!WEIRI_LIKELY(weiri_failures_is_key_short(key))) {
        forget_slow(limiter, key);
        return;
    }
    struct weiri_name name = weiri_failures_name_short(&limiter->failures, key);
    uint32_t entry = weiri_lock_enter(&limiter->lock);
    if (!WEIRI_LIKELY(weiri_lock_has_entered(&limiter->lock, entry))) {
        forget_after(limiter, key, entry);
        return;
    }
    struct weiri_slot *slot = weiri_failures_find(&limiter->failures, name);
    if (slot != NULL) {
        remove_locked(limiter, slot);
        return;
    }
    weiri_lock_leave(&limiter->lock, entry);
}

static uint64_t num_requeues(void *self, struct weir_key key)
{
    struct item_limiter *limiter = self;
    struct weiri_name name = weiri_failures_name(&limiter->failures, key);
    weiri_lock_lock(&limiter->lock);
    uint64_t count = weiri_failures_read(&limiter->failures, name);
    weiri_lock_unlock(&limiter->lock);
    return count;
}

static void undo(void *self, struct weir_key key, int64_t now_ns)
{
    struct item_limiter *limiter = self;
    (void)now_ns;
    struct weiri_name name = weiri_failures_name(&limiter->failures, key);
    weiri_lock_lock(&limiter->lock);
    weiri_failures_undo(&limiter->failures, name);
    weiri_lock_unlock(&limiter->lock);
}

static void destroy(void *self)
{
    struct item_limiter *limiter = self;
    struct weir_allocator allocator = limiter->allocator;
    weiri_failures_fini(&limiter->failures);
    weiri_lock_fini(&limiter->lock);
    weiri_release(&allocator, limiter, sizeof(*limiter));
}

static const struct weir_limiter_ops ops = {
    .size = sizeof(ops),
    .when = when,
    .forget = forget,
    .num_requeues = num_requeues,
    .destroy = destroy,
    .undo = undo,
};

static enum weir_status normalize(struct weir_limiter_options *dst,
                                  const struct weir_limiter_options *src, int64_t longest_ns)
{
    enum weir_status status = weiri_options_copy(dst, sizeof(*dst), src);
    if (status == WEIR_OK) {
        struct weir_allocator given = dst->allocator;
        status = weiri_allocator_init(&dst->allocator, &given);
    }
    if (status != WEIR_OK) {
        return status;
    }
    if (dst->items_max > WEIRI_FAILURES_LIMIT_MAX || dst->forget_after_ns < 0) {
        return WEIR_ERANGE;
    }
    if (dst->items_max == 0) {
        dst->items_max = ITEMS_MAX_DEFAULT;
    }
    if (dst->forget_after_ns == 0) {
        /* An item that waits out the longest answer has not been away: its failures still count. */
        int64_t twice = longest_ns > INT64_MAX / 2 ? INT64_MAX : longest_ns * 2;
        dst->forget_after_ns = twice > FORGET_AFTER_DEFAULT ? twice : FORGET_AFTER_DEFAULT;
    }
    return WEIR_OK;
}

enum weir_status weiri_item_limiter_new(const struct weiri_item_terms *terms,
                                        const struct weir_limiter_options *options,
                                        weir_limiter **ret_limiter)
{
    struct weir_limiter_options normal;
    int64_t longest_ns = terms->first_ns > terms->last_ns ? terms->first_ns : terms->last_ns;
    enum weir_status status = normalize(&normal, options, longest_ns);
    if (status != WEIR_OK) {
        return status;
    }
    struct item_limiter *limiter = weiri_alloc(&normal.allocator, sizeof(*limiter));
    if (limiter == NULL) {
        return WEIR_ENOMEM;
    }
    limiter->allocator = normal.allocator;
    limiter->terms = *terms;
    status = weiri_lock_init(&limiter->lock, true);
    if (status != WEIR_OK) {
        weiri_release(&normal.allocator, limiter, sizeof(*limiter));
        return status;
    }
    weiri_failures_init(&limiter->failures, &normal.allocator, normal.items_max,
                        normal.forget_after_ns, weiri_random_seed());
    status = weir_limiter_new(&ops, limiter, &normal.allocator, ret_limiter);
    if (status != WEIR_OK) {
        destroy(limiter);
    }
    return status;
}

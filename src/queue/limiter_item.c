/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdbool.h>

#include "base/random.h"
#include "base/sync.h"
#include "base/time.h"
#include "queue/limiter.h"

#define ITEMS_MAX_DEFAULT ((size_t)1 << 20)
#define FORGET_AFTER_DEFAULT WEIR_SECONDS(86400)

/* What the limiters that are per item have in common, and those that count an item's failures. */

static enum weir_status normalize(struct weir_limiter_options *dst,
                                  const struct weir_limiter_options *src, int64_t memory_ns,
                                  struct weir_error *ret_error)
{
    *dst = src != NULL ? *src : (struct weir_limiter_options){0};
    if (dst->items_max > WEIRI_REMEMBERED_ITEMS_MAX) {
        return weiri_fail(ret_error, WEIR_ERANGE, "items_max is %zu: expected at most %zu",
                          dst->items_max, WEIRI_REMEMBERED_ITEMS_MAX);
    }
    if (dst->items_max == 0) {
        dst->items_max = ITEMS_MAX_DEFAULT;
    }
    enum weir_status status =
        weiri_check_number("forget_after_ns", dst->forget_after_ns, 0, INT64_MAX, ret_error);
    if (dst->forget_after_ns == 0) {
        /* What is remembered must still be there when it has ceased to matter. */
        int64_t twice = weiri_time_add(memory_ns, memory_ns);
        dst->forget_after_ns = twice > FORGET_AFTER_DEFAULT ? twice : FORGET_AFTER_DEFAULT;
    }
    return status;
}

enum weir_status weiri_item_limiter_make(const struct weir_limiter_ops *ops, size_t self_size,
                                         int64_t memory_ns,
                                         const struct weir_limiter_options *options,
                                         weir_limiter **ret_limiter, struct weir_error *ret_error)
    WEIRI_NO_TSA
{
    struct weir_limiter_options normal;
    enum weir_status status = normalize(&normal, options, memory_ns, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    status = weiri_limiter_make(ops, self_size, &normal.allocator, ret_limiter, ret_error);
    if (status == WEIR_OK) {
        struct weiri_item_limiter *self = (*ret_limiter)->self;
        weiri_mutex_init(&self->mutex);
        weiri_remembered_init(&self->remembered, &(*ret_limiter)->allocator, normal.items_max,
                              normal.forget_after_ns, weiri_random_seed());
    }
    return status;
}

void weiri_item_limiter_destroy(void *self) WEIRI_NO_TSA
{
    struct weiri_item_limiter *limiter = self;
    weiri_remembered_fini(&limiter->remembered);
    weiri_mutex_fini(&limiter->mutex);
}

struct answers {
    int64_t first_ns;
    int64_t last_ns;
    uint64_t first_count; /* unless is_doubling */
    bool is_doubling;
};

struct failure_limiter {
    struct weiri_item_limiter item;
    struct answers answers; /* immutable */
};

/* The answer to a failure that follows `before` others; at most the longer of the two waits. */
static int64_t answer_after(const struct answers *answers, uint64_t before)
{
    if (answers->is_doubling) {
        return weiri_time_shift(answers->first_ns, before, answers->last_ns);
    }
    return before < answers->first_count ? answers->first_ns : answers->last_ns;
}

static enum weir_status when(void *self, struct weir_key key, int64_t now_ns, int64_t *ret_delay_ns)
{
    struct failure_limiter *limiter = self;
    struct weiri_item_limiter *item = self;
    int64_t last_ns;
    weiri_mutex_lock(&item->mutex);
    struct weiri_memory *memory = weiri_remembered_use(&item->remembered, key, now_ns, &last_ns);
    if (memory != NULL) {
        *ret_delay_ns = answer_after(&limiter->answers, memory->failures);
        memory->failures += memory->failures < UINT64_MAX;
    }
    weiri_mutex_unlock(&item->mutex);
    return memory != NULL ? WEIR_OK : WEIR_ENOMEM;
}

static void forget(void *self, struct weir_key key)
{
    struct weiri_item_limiter *item = self;
    weiri_mutex_lock(&item->mutex);
    weiri_remembered_forget(&item->remembered, key);
    weiri_mutex_unlock(&item->mutex);
}

static uint64_t num_requeues(void *self, struct weir_key key)
{
    struct weiri_item_limiter *item = self;
    weiri_mutex_lock(&item->mutex);
    const struct weiri_memory *memory = weiri_remembered_find(&item->remembered, key);
    uint64_t count = memory != NULL ? memory->failures : 0;
    weiri_mutex_unlock(&item->mutex);
    return count;
}

static void undo(void *self, struct weir_key key, int64_t now_ns)
{
    struct weiri_item_limiter *item = self;
    (void)now_ns;
    weiri_mutex_lock(&item->mutex);
    struct weiri_memory *memory = weiri_remembered_find(&item->remembered, key);
    if (memory != NULL && --memory->failures == 0) {
        weiri_remembered_forget(&item->remembered, key);
    }
    weiri_mutex_unlock(&item->mutex);
}

static const struct weir_limiter_ops ops = {
    .when = when,
    .forget = forget,
    .num_requeues = num_requeues,
    .destroy = weiri_item_limiter_destroy,
    .undo = undo,
};

static enum weir_status make(const struct answers *answers,
                             const struct weir_limiter_options *options, weir_limiter **ret_limiter,
                             struct weir_error *ret_error)
{
    int64_t longest_ns =
        answers->first_ns > answers->last_ns ? answers->first_ns : answers->last_ns;
    enum weir_status status = weiri_item_limiter_make(&ops, sizeof(struct failure_limiter),
                                                      longest_ns, options, ret_limiter, ret_error);
    if (status == WEIR_OK) {
        ((struct failure_limiter *)(*ret_limiter)->self)->answers = *answers;
    }
    return status;
}

enum weir_status weir_limiter_exponential_new(int64_t base_ns, int64_t max_ns,
                                              const struct weir_limiter_options *options,
                                              weir_limiter **ret_limiter,
                                              struct weir_error *ret_error)
{
    if (weiri_check_number("base_ns", base_ns, 0, INT64_MAX, ret_error) != WEIR_OK) {
        return WEIR_ERANGE;
    }
    if (max_ns < base_ns) {
        return weiri_fail(ret_error, WEIR_ERANGE,
                          "max_ns is %" PRId64 ": expected at least base_ns, %" PRId64, max_ns,
                          base_ns);
    }
    struct answers answers = {.first_ns = base_ns, .last_ns = max_ns, .is_doubling = true};
    return make(&answers, options, ret_limiter, ret_error);
}

enum weir_status weir_limiter_fast_slow_new(int64_t fast_ns, int64_t slow_ns, uint64_t fast_count,
                                            const struct weir_limiter_options *options,
                                            weir_limiter **ret_limiter,
                                            struct weir_error *ret_error)
{
    if (weiri_check_number("fast_ns", fast_ns, 0, INT64_MAX, ret_error) != WEIR_OK ||
        weiri_check_number("slow_ns", slow_ns, 0, INT64_MAX, ret_error) != WEIR_OK) {
        return WEIR_ERANGE;
    }
    struct answers answers = {.first_ns = fast_ns, .last_ns = slow_ns, .first_count = fast_count};
    return make(&answers, options, ret_limiter, ret_error);
}

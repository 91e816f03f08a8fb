/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdbool.h>

#include "base/random.h"
#include "base/sync.h"
#include "base/time.h"
#include "queue/failures.h"
#include "queue/limiter.h"

#define ITEMS_MAX_DEFAULT ((size_t)1 << 20)
#define FORGET_AFTER_DEFAULT WEIR_SECONDS(86400)

/* The limiters that are per item: a table of failures, and an answer that depends on an item's
 * count. */

struct answers {
    int64_t first_ns;
    int64_t last_ns;
    uint64_t first_count; /* unless is_doubling */
    bool is_doubling;
};

struct item_limiter {
    struct answers answers; /* immutable */
    struct weiri_mutex mutex;
    struct weiri_failures failures WEIRI_GUARDED_BY(mutex);
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
    struct item_limiter *limiter = self;
    uint64_t before = 0;
    weiri_mutex_lock(&limiter->mutex);
    enum weir_status status = weiri_failures_add(&limiter->failures, key, now_ns, &before);
    weiri_mutex_unlock(&limiter->mutex);
    if (status == WEIR_OK) {
        *ret_delay_ns = answer_after(&limiter->answers, before);
    }
    return status;
}

static void forget(void *self, struct weir_key key)
{
    struct item_limiter *limiter = self;
    weiri_mutex_lock(&limiter->mutex);
    weiri_failures_forget(&limiter->failures, key);
    weiri_mutex_unlock(&limiter->mutex);
}

static uint64_t num_requeues(void *self, struct weir_key key)
{
    struct item_limiter *limiter = self;
    weiri_mutex_lock(&limiter->mutex);
    uint64_t count = weiri_failures_count(&limiter->failures, key);
    weiri_mutex_unlock(&limiter->mutex);
    return count;
}

static void undo(void *self, struct weir_key key, int64_t now_ns)
{
    struct item_limiter *limiter = self;
    (void)now_ns;
    weiri_mutex_lock(&limiter->mutex);
    weiri_failures_undo(&limiter->failures, key);
    weiri_mutex_unlock(&limiter->mutex);
}

static void destroy(void *self) WEIRI_NO_TSA
{
    struct item_limiter *limiter = self;
    weiri_failures_fini(&limiter->failures);
    weiri_mutex_fini(&limiter->mutex);
}

static const struct weir_limiter_ops ops = {
    .when = when,
    .forget = forget,
    .num_requeues = num_requeues,
    .destroy = destroy,
    .undo = undo,
};

static enum weir_status normalize(struct weir_limiter_options *dst,
                                  const struct weir_limiter_options *src, int64_t longest_ns,
                                  struct weir_error *ret_error)
{
    *dst = src != NULL ? *src : (struct weir_limiter_options){0};
    if (dst->items_max > WEIRI_FAILURES_ITEMS_MAX) {
        return weiri_fail(ret_error, WEIR_ERANGE, "items_max is %zu: expected at most %zu",
                          dst->items_max, WEIRI_FAILURES_ITEMS_MAX);
    }
    enum weir_status status =
        weiri_check_number("forget_after_ns", dst->forget_after_ns, 0, INT64_MAX, ret_error);
    if (dst->items_max == 0) {
        dst->items_max = ITEMS_MAX_DEFAULT;
    }
    if (dst->forget_after_ns == 0) {
        /* An item's failures must still count after it has waited for the longest answer. */
        int64_t twice = weiri_time_add(longest_ns, longest_ns);
        dst->forget_after_ns = twice > FORGET_AFTER_DEFAULT ? twice : FORGET_AFTER_DEFAULT;
    }
    return status;
}

static enum weir_status make(const struct answers *answers,
                             const struct weir_limiter_options *options, weir_limiter **ret_limiter,
                             struct weir_error *ret_error) WEIRI_NO_TSA
{
    struct weir_limiter_options normal;
    bool is_first_longer = answers->first_ns > answers->last_ns;
    enum weir_status status = normalize(
        &normal, options, is_first_longer ? answers->first_ns : answers->last_ns, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    weir_limiter *limiter;
    status = weiri_limiter_make(&ops, sizeof(struct item_limiter), &normal.allocator, &limiter,
                                ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    struct item_limiter *self = limiter->self;
    weiri_mutex_init(&self->mutex);
    self->answers = *answers;
    weiri_failures_init(&self->failures, &limiter->allocator, normal.items_max,
                        normal.forget_after_ns, weiri_random_seed());
    *ret_limiter = limiter;
    return WEIR_OK;
}

enum weir_status weir_limiter_exponential_new(int64_t base_ns, int64_t max_ns,
                                              const struct weir_limiter_options *options,
                                              weir_limiter **ret_limiter,
                                              struct weir_error *ret_error)
{
    weiri_error_clear(ret_error);
    if (weiri_check_given("ret_limiter", ret_limiter, ret_error) != WEIR_OK) {
        return WEIR_EINVAL;
    }
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
    weiri_error_clear(ret_error);
    if (weiri_check_given("ret_limiter", ret_limiter, ret_error) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    if (weiri_check_number("fast_ns", fast_ns, 0, INT64_MAX, ret_error) != WEIR_OK ||
        weiri_check_number("slow_ns", slow_ns, 0, INT64_MAX, ret_error) != WEIR_OK) {
        return WEIR_ERANGE;
    }
    struct answers answers = {.first_ns = fast_ns, .last_ns = slow_ns, .first_count = fast_count};
    return make(&answers, options, ret_limiter, ret_error);
}

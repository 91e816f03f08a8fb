/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdbool.h>

#include "queue/limiter.h"

/* Immutable. The limiters have mutexes of their own, and no two are held at once. */
struct max_of {
    size_t count;
    weir_limiter *limiters[];
};

static enum weir_status when(void *self, struct weir_key key, int64_t now_ns, int64_t *ret_delay_ns)
{
    struct max_of *max = self;
    int64_t longest = 0;
    for (size_t i = 0; i < max->count; i++) {
        int64_t delay = 0;
        enum weir_status status = weiri_limiter_when(max->limiters[i], key, now_ns, &delay);
        if (status != WEIR_OK) {
            while (i > 0) {
                weiri_limiter_undo(max->limiters[--i], key, now_ns);
            }
            return status;
        }
        longest = delay > longest ? delay : longest;
    }
    *ret_delay_ns = longest;
    return WEIR_OK;
}

static void give_back(void *self, struct weir_key key, int64_t now_ns)
{
    struct max_of *max = self;
    for (size_t i = 0; i < max->count; i++) {
        weiri_limiter_give_back(max->limiters[i], key, now_ns);
    }
}

static void undo(void *self, struct weir_key key, int64_t now_ns)
{
    struct max_of *max = self;
    for (size_t i = 0; i < max->count; i++) {
        weiri_limiter_undo(max->limiters[i], key, now_ns);
    }
}

static void forget(void *self, struct weir_key key)
{
    struct max_of *max = self;
    for (size_t i = 0; i < max->count; i++) {
        weiri_limiter_forget(max->limiters[i], key);
    }
}

static uint64_t num_requeues(void *self, struct weir_key key)
{
    struct max_of *max = self;
    uint64_t largest = 0;
    for (size_t i = 0; i < max->count; i++) {
        uint64_t count = weir_limiter_num_requeues(max->limiters[i], key);
        largest = count > largest ? count : largest;
    }
    return largest;
}

static void destroy(void *self)
{
    struct max_of *max = self;
    for (size_t i = 0; i < max->count; i++) {
        weiri_limiter_detach(max->limiters[i]);
        (void)weir_limiter_free(max->limiters[i]);
    }
}

static const struct weir_limiter_ops ops = {
    .when = when,
    .forget = forget,
    .num_requeues = num_requeues,
    .destroy = destroy,
    .give_back = give_back,
    .undo = undo,
};

/* Whether no limiter is NULL or listed twice. One that is listed twice would count each try twice.
 */
static bool are_distinct(weir_limiter *const *limiters, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (limiters[i] == NULL) {
            return false;
        }
        for (size_t j = 0; j < i; j++) {
            if (limiters[j] == limiters[i]) {
                return false;
            }
        }
    }
    return true;
}

enum weir_status weir_limiter_max_of_new(weir_limiter *const *limiters, size_t count,
                                         const struct weir_allocator *allocator,
                                         weir_limiter **ret_limiter, struct weir_error *ret_error)
{
    weiri_error_clear(ret_error);
    if (weiri_check_given("limiters", limiters, ret_error) != WEIR_OK ||
        weiri_check_given("ret_limiter", ret_limiter, ret_error) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    if (count == 0) {
        return weiri_fail(ret_error, WEIR_EINVAL, "count is 0: expected 1 or more");
    }
    if (!are_distinct(limiters, count)) {
        return weiri_fail(ret_error, WEIR_EINVAL, "of limiters one is NULL or there twice");
    }
    /* The caller's array of pointers is in memory, so a size of a few more bytes does not overflow.
     */
    size_t self_size = sizeof(struct max_of) + count * sizeof(weir_limiter *);
    weir_limiter *limiter; /* ret_limiter may point into the array */
    enum weir_status status = weiri_limiter_make(&ops, self_size, allocator, &limiter, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    struct max_of *self = limiter->self;
    self->count = count;
    for (size_t i = 0; i < count; i++) {
        self->limiters[i] = limiters[i];
        weiri_limiter_attach(limiters[i]);
    }
    *ret_limiter = limiter;
    return WEIR_OK;
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/random.h"
#include "base/sync.h"
#include "base/time.h"
#include "queue/limiter.h"

/* The step by which weiri_random_next() changes its state. */
#define STEP UINT64_C(0x9e3779b97f4a7c15)

/* The limiters that are made of others: every one is asked, and the longest answer wins, cut and
 * then lengthened. All but state is immutable. The limiters have mutexes of their own, and no two
 * are held at once. */
struct composed {
    int64_t max_ns;
    double fraction;
    /* The sequence of weiri_random_next(). Relaxed: the calls share nothing but this number. */
    _Atomic uint64_t state;
    size_t count;
    weir_limiter *limiters[];
};

static enum weir_status when(void *self, struct weir_key key, int64_t now_ns, int64_t *ret_delay_ns)
{
    struct composed *composed = self;
    int64_t longest = 0;
    for (size_t i = 0; i < composed->count; i++) {
        int64_t delay = 0;
        enum weir_status status = weiri_limiter_when(composed->limiters[i], key, now_ns, &delay);
        if (status != WEIR_OK) {
            while (i > 0) {
                weiri_limiter_undo(composed->limiters[--i], key, now_ns);
            }
            return status;
        }
        longest = delay > longest ? delay : longest;
    }
    longest = longest < composed->max_ns ? longest : composed->max_ns;
    if (composed->fraction > 0) {
        weiri_sync_point();
        uint64_t state = atomic_fetch_add_explicit(&composed->state, STEP, memory_order_relaxed);
        longest = weiri_time_lengthen(longest, composed->fraction, weiri_random_next(&state));
    }
    *ret_delay_ns = longest;
    return WEIR_OK;
}

static void give_back(void *self, struct weir_key key, int64_t now_ns)
{
    struct composed *composed = self;
    for (size_t i = 0; i < composed->count; i++) {
        weiri_limiter_give_back(composed->limiters[i], key, now_ns);
    }
}

static void undo(void *self, struct weir_key key, int64_t now_ns)
{
    struct composed *composed = self;
    for (size_t i = 0; i < composed->count; i++) {
        weiri_limiter_undo(composed->limiters[i], key, now_ns);
    }
}

static void forget(void *self, struct weir_key key)
{
    struct composed *composed = self;
    for (size_t i = 0; i < composed->count; i++) {
        weiri_limiter_forget(composed->limiters[i], key);
    }
}

static uint64_t num_requeues(void *self, struct weir_key key)
{
    struct composed *composed = self;
    uint64_t largest = 0;
    for (size_t i = 0; i < composed->count; i++) {
        uint64_t count = weir_limiter_num_requeues(composed->limiters[i], key);
        largest = count > largest ? count : largest;
    }
    return largest;
}

static void destroy(void *self)
{
    struct composed *composed = self;
    for (size_t i = 0; i < composed->count; i++) {
        weiri_limiter_detach(composed->limiters[i]);
        (void)weir_limiter_free(composed->limiters[i]);
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

/* Makes one that neither cuts nor lengthens. Takes the limiters on success. */
static enum weir_status make(weir_limiter *const *limiters, size_t count,
                             const struct weir_allocator *allocator, weir_limiter **ret_limiter,
                             struct weir_error *ret_error)
{
    /* The caller's array is in memory, so a size of a few more bytes does not overflow. */
    size_t self_size = sizeof(struct composed) + count * sizeof(weir_limiter *);
    weir_limiter *limiter; /* ret_limiter may point into the array */
    enum weir_status status = weiri_check_given("ret_limiter", ret_limiter, ret_error);
    if (status == WEIR_OK) {
        status = weiri_limiter_make(&ops, self_size, allocator, &limiter, ret_error);
    }
    if (status == WEIR_OK) {
        struct composed *self = limiter->self;
        self->max_ns = INT64_MAX;
        self->count = count;
        for (size_t i = 0; i < count; i++) {
            self->limiters[i] = limiters[i];
            weiri_limiter_attach(limiters[i]);
        }
        *ret_limiter = limiter;
    }
    return status;
}

/* Whether none is NULL or listed twice, which would count each try twice. */
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
    if (weiri_check_given("limiters", limiters, ret_error) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    if (count == 0) {
        return weiri_fail(ret_error, WEIR_EINVAL, "count is 0: expected 1 or more");
    }
    if (!are_distinct(limiters, count)) {
        return weiri_fail(ret_error, WEIR_EINVAL, "of limiters one is NULL or there twice");
    }
    return make(limiters, count, allocator, ret_limiter, ret_error);
}

enum weir_status weir_limiter_with_max_wait_new(weir_limiter *limiter, int64_t max_wait_ns,
                                                const struct weir_allocator *allocator,
                                                weir_limiter **ret_limiter,
                                                struct weir_error *ret_error)
{
    if (weiri_check_given("limiter", limiter, ret_error) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    enum weir_status status =
        weiri_check_number("max_wait_ns", max_wait_ns, 0, INT64_MAX, ret_error);
    if (status == WEIR_OK) {
        status = make(&limiter, 1, allocator, ret_limiter, ret_error);
    }
    if (status == WEIR_OK) {
        ((struct composed *)(*ret_limiter)->self)->max_ns = max_wait_ns;
    }
    return status;
}

enum weir_status weir_limiter_with_jitter_new(weir_limiter *limiter, double fraction, uint64_t seed,
                                              const struct weir_allocator *allocator,
                                              weir_limiter **ret_limiter,
                                              struct weir_error *ret_error)
{
    if (weiri_check_given("limiter", limiter, ret_error) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    if (!(fraction >= 0) || isinf(fraction)) {
        return weiri_fail(ret_error, WEIR_ERANGE, "fraction is %g: expected a number from 0 on",
                          fraction);
    }
    enum weir_status status = make(&limiter, 1, allocator, ret_limiter, ret_error);
    if (status == WEIR_OK) {
        struct composed *self = (*ret_limiter)->self;
        self->fraction = fraction;
        atomic_init(&self->state, seed != 0 ? seed : weiri_random_seed());
    }
    return status;
}

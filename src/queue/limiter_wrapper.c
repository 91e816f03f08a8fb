/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdatomic.h>

#include "base/random.h"
#include "base/sync.h"
#include "base/time.h"
#include "queue/limiter.h"

/* The limiters that change the answer of another one. All calls but when() pass through. */

/* The first member of each. */
struct wrapper {
    weir_limiter *inner;
};

struct max_wait {
    struct wrapper wrapper;
    int64_t max_ns;
};

struct jitter {
    struct wrapper wrapper;
    double fraction;
    /* The sequence of weiri_random_next(). Relaxed: the calls share nothing but this number. */
    _Atomic uint64_t state;
};

/* The step by which weiri_random_next() changes its state. */
#define STEP UINT64_C(0x9e3779b97f4a7c15)

static void forget(void *self, struct weir_key key)
{
    struct wrapper *wrapper = self;
    weiri_limiter_forget(wrapper->inner, key);
}

static uint64_t num_requeues(void *self, struct weir_key key)
{
    struct wrapper *wrapper = self;
    return weir_limiter_num_requeues(wrapper->inner, key);
}

static void destroy(void *self)
{
    struct wrapper *wrapper = self;
    weiri_limiter_detach(wrapper->inner);
    (void)weir_limiter_free(wrapper->inner);
}

static void give_back(void *self, struct weir_key key, int64_t now_ns)
{
    struct wrapper *wrapper = self;
    weiri_limiter_give_back(wrapper->inner, key, now_ns);
}

static void undo(void *self, struct weir_key key, int64_t now_ns)
{
    struct wrapper *wrapper = self;
    weiri_limiter_undo(wrapper->inner, key, now_ns);
}

static enum weir_status when_at_most(void *self, struct weir_key key, int64_t now_ns,
                                     int64_t *ret_delay_ns)
{
    struct max_wait *limiter = self;
    int64_t delay_ns = 0;
    enum weir_status status = weiri_limiter_when(limiter->wrapper.inner, key, now_ns, &delay_ns);
    if (status == WEIR_OK) {
        *ret_delay_ns = delay_ns > limiter->max_ns ? limiter->max_ns : delay_ns;
    }
    return status;
}

static enum weir_status when_lengthened(void *self, struct weir_key key, int64_t now_ns,
                                        int64_t *ret_delay_ns)
{
    struct jitter *limiter = self;
    int64_t delay_ns = 0;
    enum weir_status status = weiri_limiter_when(limiter->wrapper.inner, key, now_ns, &delay_ns);
    if (status == WEIR_OK) {
        weiri_sync_point();
        uint64_t state = atomic_fetch_add_explicit(&limiter->state, STEP, memory_order_relaxed);
        *ret_delay_ns = weiri_time_lengthen(delay_ns, limiter->fraction, weiri_random_next(&state));
    }
    return status;
}

/* Takes inner on success. */
static enum weir_status make(weir_limiter *inner, size_t self_size,
                             enum weir_status (*when)(void *, struct weir_key, int64_t, int64_t *),
                             const struct weir_allocator *allocator, weir_limiter **ret_limiter,
                             struct weir_error *ret_error)
{
    struct weir_limiter_ops ops = {
        .when = when,
        .forget = forget,
        .num_requeues = num_requeues,
        .destroy = destroy,
        .give_back = give_back,
        .undo = undo,
    };
    enum weir_status status =
        weiri_limiter_make(&ops, self_size, allocator, ret_limiter, ret_error);
    if (status == WEIR_OK) {
        ((struct wrapper *)(*ret_limiter)->self)->inner = inner;
        weiri_limiter_attach(inner);
    }
    return status;
}

enum weir_status weir_limiter_with_max_wait_new(weir_limiter *limiter, int64_t max_wait_ns,
                                                const struct weir_allocator *allocator,
                                                weir_limiter **ret_limiter,
                                                struct weir_error *ret_error)
{
    weiri_error_clear(ret_error);
    if (weiri_check_given("limiter", limiter, ret_error) != WEIR_OK ||
        weiri_check_given("ret_limiter", ret_limiter, ret_error) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    enum weir_status status =
        weiri_check_number("max_wait_ns", max_wait_ns, 0, INT64_MAX, ret_error);
    if (status == WEIR_OK) {
        status =
            make(limiter, sizeof(struct max_wait), when_at_most, allocator, ret_limiter, ret_error);
    }
    if (status == WEIR_OK) {
        struct max_wait *self = (*ret_limiter)->self;
        self->max_ns = max_wait_ns;
    }
    return status;
}

enum weir_status weir_limiter_with_jitter_new(weir_limiter *limiter, double fraction, uint64_t seed,
                                              const struct weir_allocator *allocator,
                                              weir_limiter **ret_limiter,
                                              struct weir_error *ret_error)
{
    weiri_error_clear(ret_error);
    if (weiri_check_given("limiter", limiter, ret_error) != WEIR_OK ||
        weiri_check_given("ret_limiter", ret_limiter, ret_error) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    if (!(fraction >= 0) || isinf(fraction)) {
        return weiri_fail(ret_error, WEIR_ERANGE, "fraction is %g: expected a number from 0 on",
                          fraction);
    }
    enum weir_status status =
        make(limiter, sizeof(struct jitter), when_lengthened, allocator, ret_limiter, ret_error);
    if (status == WEIR_OK) {
        struct jitter *self = (*ret_limiter)->self;
        self->fraction = fraction;
        atomic_init(&self->state, seed != 0 ? seed : weiri_random_seed());
    }
    return status;
}

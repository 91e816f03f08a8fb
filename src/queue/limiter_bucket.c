/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>

#include "base/sync.h"
#include "base/time.h"
#include "queue/limiter.h"

#define NS_PER_SECOND INT64_C(1000000000)
/* Integers up to this one are exact as doubles. */
#define BURST_MAX (UINT64_C(1) << 53)

/* The arithmetic is that of golang.org/x/time/rate, operation for operation, so that the answers
 * are the same to the nanosecond. tokens is a double, and reservations make it negative. Two rules
 * are ours:
 * - A time before the latest one counts as the latest one. Going back would fill the bucket twice
 *   for the same time.
 * - Returning a reservation returns a whole token. rate returns less if another try has reserved a
 *   token in between, and loses the rest: tries that were coalesced would slow down the others.
 *   From the bucket's start on there are still at most burst + qps * time tries. */
struct bucket {
    double qps;
    double burst;
    double tokens;
    int64_t last_ns; /* the time of tokens; INT64_MIN: a new, full bucket */
};

struct bucket_limiter {
    struct weiri_mutex mutex;
    struct bucket bucket WEIRI_GUARDED_BY(mutex);
};

static void pass_time(struct bucket *bucket, int64_t now_ns)
{
    if (now_ns > bucket->last_ns) {
        int64_t passed = weiri_time_sub(now_ns, bucket->last_ns);
        int64_t whole = passed / NS_PER_SECOND;
        double seconds = (double)whole + (double)(passed % NS_PER_SECOND) / 1e9;
        /* Two statements, so that no compiler fuses the two roundings. */
        double gained = seconds * bucket->qps;
        double tokens = bucket->tokens + gained;
        bucket->tokens = tokens < bucket->burst ? tokens : bucket->burst;
        bucket->last_ns = now_ns;
    }
}

static int64_t reserve(struct bucket *bucket, int64_t now_ns)
{
    pass_time(bucket, now_ns);
    bucket->tokens -= 1;
    if (bucket->tokens >= 0) {
        return 0;
    }
    double seconds = -bucket->tokens / bucket->qps;
    double wait = 1e9 * seconds;
    return wait < 0x1p63 ? (int64_t)wait : INT64_MAX;
}

static enum weir_status when(void *self, struct weir_key key, int64_t now_ns, int64_t *ret_delay_ns)
{
    struct bucket_limiter *limiter = self;
    (void)key;
    weiri_mutex_lock(&limiter->mutex);
    *ret_delay_ns = reserve(&limiter->bucket, now_ns);
    weiri_mutex_unlock(&limiter->mutex);
    return WEIR_OK;
}

static void give_back(void *self, struct weir_key key, int64_t now_ns)
{
    struct bucket_limiter *limiter = self;
    (void)key;
    (void)now_ns;
    weiri_mutex_lock(&limiter->mutex);
    struct bucket *bucket = &limiter->bucket;
    double tokens = bucket->tokens + 1;
    bucket->tokens = tokens < bucket->burst ? tokens : bucket->burst;
    weiri_mutex_unlock(&limiter->mutex);
}

static void forget(void *self, struct weir_key key)
{
    (void)self;
    (void)key;
}

static uint64_t num_requeues(void *self, struct weir_key key)
{
    (void)self;
    (void)key;
    return 0;
}

static void destroy(void *self)
{
    struct bucket_limiter *limiter = self;
    weiri_mutex_fini(&limiter->mutex);
}

static const struct weir_limiter_ops ops = {
    .when = when,
    .forget = forget,
    .num_requeues = num_requeues,
    .destroy = destroy,
    .give_back = give_back,
    .undo = give_back,
};

enum weir_status weir_limiter_bucket_new(double qps, uint64_t burst,
                                         const struct weir_allocator *allocator,
                                         weir_limiter **ret_limiter, struct weir_error *ret_error)
    WEIRI_NO_TSA
{
    weiri_error_clear(ret_error);
    if (weiri_check_given("ret_limiter", ret_limiter, ret_error) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    if (!(qps > 0) || isinf(qps)) {
        return weiri_fail(ret_error, WEIR_ERANGE, "qps is %g: expected a number above 0", qps);
    }
    if (burst == 0 || burst > BURST_MAX) {
        return weiri_fail(ret_error, WEIR_ERANGE, "burst is %" PRIu64 ": expected 1 to %" PRIu64,
                          burst, BURST_MAX);
    }
    weir_limiter *limiter;
    enum weir_status status =
        weiri_limiter_make(&ops, sizeof(struct bucket_limiter), allocator, &limiter, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    struct bucket_limiter *self = limiter->self;
    weiri_mutex_init(&self->mutex);
    self->bucket = (struct bucket){qps, (double)burst, (double)burst, INT64_MIN};
    *ret_limiter = limiter;
    return WEIR_OK;
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdbool.h>

#include "base/alloc.h"
#include "base/lock.h"
#include "base/time.h"
#include "queue/limiter.h"

#define NS_PER_SECOND INT64_C(1000000000)
/* The counts up to here are exact as double. */
#define BURST_MAX (UINT64_C(1) << 53)

/* The arithmetic is golang.org/x/time/rate's, operation for operation, so that the answers are the
 * same to the nanosecond: tokens are a double that goes below zero by what is reserved. Two rules
 * are ours. A time before the latest one counts as that one: going back would fill the bucket twice
 * for the same time. And what is given back is a whole token, also when another try has reserved
 * one in between (rate gives back less then, and the token is lost): tries that came to nothing
 * must not slow down the others, and over any time from the bucket's start on there are still no
 * more tries than burst + qps * time. */
struct bucket {
    double qps;
    double burst;
    double tokens;
    int64_t last_ns; /* the time that tokens is right for */
    bool is_started; /* last_ns is set */
};

struct bucket_limiter {
    struct weir_allocator allocator; /* immutable */
    struct weiri_lock lock;
    struct bucket bucket; /* guarded by the lock */
};

static void pass_time(struct bucket *bucket, int64_t now_ns)
{
    if (!bucket->is_started) {
        bucket->is_started = true;
        bucket->last_ns = now_ns;
    }
    if (now_ns > bucket->last_ns) {
        int64_t passed = weiri_time_sub(now_ns, bucket->last_ns);
        int64_t whole = passed / NS_PER_SECOND;
        double seconds = (double)whole + (double)(passed % NS_PER_SECOND) / 1e9;
        double gained = seconds * bucket->qps;
        double tokens = bucket->tokens + gained;
        bucket->tokens = tokens > bucket->burst ? bucket->burst : tokens;
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

static void give_token_back(struct bucket *bucket)
{
    double tokens = bucket->tokens + 1;
    bucket->tokens = tokens > bucket->burst ? bucket->burst : tokens;
}

static enum weir_status when(void *self, struct weir_key key, int64_t now_ns, int64_t *ret_delay_ns)
{
    struct bucket_limiter *limiter = self;
    (void)key;
    weiri_lock_lock(&limiter->lock);
    *ret_delay_ns = reserve(&limiter->bucket, now_ns);
    weiri_lock_unlock(&limiter->lock);
    return WEIR_OK;
}

static void give_back(void *self, struct weir_key key, int64_t now_ns)
{
    struct bucket_limiter *limiter = self;
    (void)key;
    (void)now_ns;
    weiri_lock_lock(&limiter->lock);
    give_token_back(&limiter->bucket);
    weiri_lock_unlock(&limiter->lock);
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
    struct weir_allocator allocator = limiter->allocator;
    weiri_lock_fini(&limiter->lock);
    weiri_release(&allocator, limiter, sizeof(*limiter));
}

static const struct weir_limiter_ops ops = {
    .size = sizeof(ops),
    .when = when,
    .forget = forget,
    .num_requeues = num_requeues,
    .destroy = destroy,
    .give_back = give_back,
    .undo = give_back,
};

enum weir_status weir_limiter_bucket_new(double qps, uint64_t burst,
                                         const struct weir_allocator *allocator,
                                         weir_limiter **ret_limiter)
{
    struct weir_allocator memory;
    if (ret_limiter == NULL || weiri_allocator_init(&memory, allocator) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    if (!(qps > 0) || isinf(qps) || burst == 0 || burst > BURST_MAX) {
        return WEIR_ERANGE;
    }
    struct bucket_limiter *limiter = weiri_alloc(&memory, sizeof(*limiter));
    if (limiter == NULL) {
        return WEIR_ENOMEM;
    }
    limiter->allocator = memory;
    limiter->bucket = (struct bucket){.qps = qps, .burst = (double)burst, .tokens = (double)burst};
    enum weir_status status = weiri_lock_init(&limiter->lock, true);
    if (status != WEIR_OK) {
        weiri_release(&memory, limiter, sizeof(*limiter));
        return status;
    }
    status = weir_limiter_new(&ops, limiter, &memory, ret_limiter);
    if (status != WEIR_OK) {
        destroy(limiter);
    }
    return status;
}

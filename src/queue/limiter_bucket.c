/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

#include "base/sync.h"
#include "base/time.h"
#include "queue/limiter.h"

#define NS_PER_SECOND INT64_C(1000000000)
/* Integers up to this one are exact as doubles. */
#define BURST_MAX (UINT64_C(1) << 53)

/* The buckets: one for all items together, and one for each.
 *
 * The arithmetic is that of golang.org/x/time/rate, operation for operation, so that the answers
 * are the same to the nanosecond. tokens is a double, and reservations make it negative. Two rules
 * are ours:
 * - A time before the latest one counts as the latest one. Going back would fill the bucket twice
 *   for the same time.
 * - Returning a reservation returns a whole token. rate returns less if another try has reserved a
 *   token in between, and loses the rest: tries that were coalesced would slow down the others.
 *   From the bucket's start on there are still at most burst + qps * time tries. */
struct rate {
    double qps;
    double burst;
};

struct bucket_limiter {
    struct rate rate; /* immutable */
    struct weiri_mutex mutex;
    double tokens WEIRI_GUARDED_BY(mutex);
    int64_t last_ns WEIRI_GUARDED_BY(mutex); /* the time of tokens; INT64_MIN: a new, full bucket */
};

struct item_bucket_limiter {
    struct weiri_item_limiter item;
    struct rate rate; /* immutable */
};

static double at_most(double tokens, double burst)
{
    return tokens < burst ? tokens : burst;
}

/* Takes a token of a bucket that was used at last_ns before; the wait until the token is there. */
static int64_t reserve(const struct rate *rate, double *tokens, int64_t last_ns, int64_t now_ns)
{
    if (now_ns > last_ns) {
        int64_t passed = weiri_time_sub(now_ns, last_ns);
        int64_t whole = passed / NS_PER_SECOND;
        double seconds = (double)whole + (double)(passed % NS_PER_SECOND) / 1e9;
        /* Two statements, so that no compiler fuses the two roundings. */
        double gained = seconds * rate->qps;
        double sum = *tokens + gained;
        *tokens = at_most(sum, rate->burst);
    }
    *tokens -= 1;
    if (*tokens >= 0) {
        return 0;
    }
    double seconds = -*tokens / rate->qps;
    double wait = 1e9 * seconds;
    return wait < 0x1p63 ? (int64_t)wait : INT64_MAX;
}

static enum weir_status when(void *self, struct weir_key key, int64_t now_ns, int64_t *ret_delay_ns)
{
    struct bucket_limiter *limiter = self;
    (void)key;
    weiri_mutex_lock(&limiter->mutex);
    *ret_delay_ns = reserve(&limiter->rate, &limiter->tokens, limiter->last_ns, now_ns);
    limiter->last_ns = now_ns > limiter->last_ns ? now_ns : limiter->last_ns;
    weiri_mutex_unlock(&limiter->mutex);
    return WEIR_OK;
}

static void give_back(void *self, struct weir_key key, int64_t now_ns)
{
    struct bucket_limiter *limiter = self;
    (void)key;
    (void)now_ns;
    weiri_mutex_lock(&limiter->mutex);
    limiter->tokens = at_most(limiter->tokens + 1, limiter->rate.burst);
    weiri_mutex_unlock(&limiter->mutex);
}

static enum weir_status when_of_item(void *self, struct weir_key key, int64_t now_ns,
                                     int64_t *ret_delay_ns)
{
    struct item_bucket_limiter *limiter = self;
    struct weiri_item_limiter *item = self;
    int64_t last_ns;
    weiri_mutex_lock(&item->mutex);
    struct weiri_memory *memory = weiri_remembered_use(&item->remembered, key, now_ns, &last_ns);
    if (memory != NULL) {
        memory->tokens = last_ns == INT64_MIN ? limiter->rate.burst : memory->tokens;
        *ret_delay_ns = reserve(&limiter->rate, &memory->tokens, last_ns, memory->last_ns);
    }
    weiri_mutex_unlock(&item->mutex);
    return memory != NULL ? WEIR_OK : WEIR_ENOMEM;
}

static void return_of_item(struct item_bucket_limiter *limiter, struct weir_key key, bool is_undone)
{
    struct weiri_item_limiter *item = &limiter->item;
    weiri_mutex_lock(&item->mutex);
    struct weiri_memory *memory = weiri_remembered_find(&item->remembered, key);
    if (memory != NULL) {
        memory->tokens = at_most(memory->tokens + 1, limiter->rate.burst);
        if (is_undone && memory->tokens >= limiter->rate.burst) { /* as a new one */
            weiri_remembered_forget(&item->remembered, key);
        }
    }
    weiri_mutex_unlock(&item->mutex);
}

static void give_back_of_item(void *self, struct weir_key key, int64_t now_ns)
{
    (void)now_ns;
    return_of_item(self, key, false);
}

static void undo_of_item(void *self, struct weir_key key, int64_t now_ns)
{
    (void)now_ns;
    return_of_item(self, key, true);
}

static void destroy(void *self)
{
    struct bucket_limiter *limiter = self;
    weiri_mutex_fini(&limiter->mutex);
}

/* Nothing is forgotten: tokens were spent on tries that were made. */
static const struct weir_limiter_ops ops = {
    .when = when,
    .destroy = destroy,
    .give_back = give_back,
    .undo = give_back,
};

static const struct weir_limiter_ops item_ops = {
    .when = when_of_item,
    .destroy = weiri_item_limiter_destroy,
    .give_back = give_back_of_item,
    .undo = undo_of_item,
};

static enum weir_status check(double qps, uint64_t burst, struct weir_error *ret_error)
{
    if (!(qps > 0) || isinf(qps)) {
        return weiri_fail(ret_error, WEIR_ERANGE, "qps is %g: expected a number above 0", qps);
    }
    if (burst == 0 || burst > BURST_MAX) {
        return weiri_fail(ret_error, WEIR_ERANGE, "burst is %" PRIu64 ": expected 1 to %" PRIu64,
                          burst, BURST_MAX);
    }
    return WEIR_OK;
}

enum weir_status weir_limiter_bucket_new(double qps, uint64_t burst,
                                         const struct weir_allocator *allocator,
                                         weir_limiter **ret_limiter, struct weir_error *ret_error)
    WEIRI_NO_TSA
{
    enum weir_status status = check(qps, burst, ret_error);
    if (status == WEIR_OK) {
        status = weiri_limiter_make(&ops, sizeof(struct bucket_limiter), allocator, ret_limiter,
                                    ret_error);
    }
    if (status == WEIR_OK) {
        struct bucket_limiter *self = (*ret_limiter)->self;
        weiri_mutex_init(&self->mutex);
        self->rate = (struct rate){qps, (double)burst};
        self->tokens = (double)burst;
        self->last_ns = INT64_MIN;
    }
    return status;
}

enum weir_status weir_limiter_item_bucket_new(double qps, uint64_t burst,
                                              const struct weir_limiter_options *options,
                                              weir_limiter **ret_limiter,
                                              struct weir_error *ret_error)
{
    enum weir_status status = check(qps, burst, ret_error);
    if (status == WEIR_OK) {
        double fill_ns = 1e9 * ((double)burst / qps);
        status = weiri_item_limiter_make(&item_ops, sizeof(struct item_bucket_limiter),
                                         fill_ns < 0x1p63 ? (int64_t)fill_ns : INT64_MAX, options,
                                         ret_limiter, ret_error);
    }
    if (status == WEIR_OK) {
        ((struct item_bucket_limiter *)(*ret_limiter)->self)->rate =
            (struct rate){qps, (double)burst};
    }
    return status;
}

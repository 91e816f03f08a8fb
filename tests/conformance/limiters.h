/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_CONFORMANCE_LIMITERS_H
#define WEIR_TEST_CONFORMANCE_LIMITERS_H

#include "conformance/fixture.h"
#include "queue/limiters.h"

/* What limiters say of the fixture's items, alone and through its queue. */

/* Asks a limiter beside the queue, at START. */
static inline int64_t when(struct fixture *f, weir_limiter *limiter, unsigned item)
{
    int64_t delay_ns = -1;
    CHECK_STATUS(weir_limiter_when(limiter, key_of(f, item), START, &delay_ns), WEIR_OK);
    return delay_ns;
}

static inline uint64_t failures(struct fixture *f, weir_limiter *limiter, unsigned item)
{
    return weir_limiter_num_requeues(limiter, key_of(f, item));
}

/* Adds rate-limited through the queue, in which nothing else is: the item must become ready after
 * exactly so long. */
static inline void check_wait(struct fixture *f, unsigned item, int64_t delay_ns)
{
    CHECK_COUNTS(f, 0, 0, 0);
    CHECK_STATUS(weir_queue_add_rate_limited(f->queue, key_of(f, item)), WEIR_OK);
    if (delay_ns > 0) {
        pass(f, delay_ns - 1);
        CHECK_COUNTS(f, 0, 1, 0);
        pass(f, 1);
    }
    get_and_done(f, item);
}

static inline uint64_t requeues(struct fixture *f, unsigned item)
{
    uint64_t count = UINT64_MAX;
    CHECK_STATUS(weir_queue_num_requeues(f->queue, key_of(f, item), &count), WEIR_OK);
    return count;
}

static inline void forget(struct fixture *f, unsigned item)
{
    CHECK_STATUS(weir_queue_forget(f->queue, key_of(f, item)), WEIR_OK);
}

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_SUPPORT_ANSWERING_LIMITER_H
#define WEIR_TEST_SUPPORT_ANSWERING_LIMITER_H

#include <weir/limiter.h>

#include "support/harness.h"

/* A user's own limiter with a given answer, which remembers nothing. */
struct answer {
    enum weir_status status;
    int64_t delay_ns; /* set where status is WEIR_OK */
};

static inline enum weir_status answer_when(void *self, struct weir_key key, int64_t now_ns,
                                           int64_t *ret_delay_ns)
{
    const struct answer *answer = self;
    (void)key;
    (void)now_ns;
    if (answer->status == WEIR_OK) {
        *ret_delay_ns = answer->delay_ns;
    }
    return answer->status;
}

static inline void answer_forget(void *self, struct weir_key key)
{
    (void)self;
    (void)key;
}

static inline uint64_t answer_count(void *self, struct weir_key key)
{
    (void)self;
    (void)key;
    return 0;
}

static inline void answer_destroy(void *self)
{
    (void)self;
}

/* answer is borrowed, and may change. Returns owned. */
static inline weir_limiter *answering_limiter(struct answer *answer)
{
    static const struct weir_limiter_ops ops = {.when = answer_when,
                                                .forget = answer_forget,
                                                .num_requeues = answer_count,
                                                .destroy = answer_destroy};
    weir_limiter *limiter;
    CHECK_STATUS(weir_limiter_new(&ops, answer, test_allocator(), &limiter, NULL), WEIR_OK);
    return limiter;
}

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_CONFORMANCE_OWN_LIMITER_H
#define WEIR_TEST_CONFORMANCE_OWN_LIMITER_H

#include <weir/limiter.h>

/* A limiter of one's own. self is a count of what reaches it besides questions: what is forgotten,
 * given back, undone, and its end. At the least of times it answers less than nothing. */

static inline enum weir_status own_when(void *self, struct weir_key key, int64_t now_ns,
                                        int64_t *ret_delay_ns)
{
    (void)self;
    (void)key;
    *ret_delay_ns = now_ns == INT64_MIN ? INT64_MIN : 7;
    return WEIR_OK;
}

static inline void own_forget(void *self, struct weir_key key)
{
    (void)key;
    ++*(unsigned *)self;
}

static inline uint64_t own_count(void *self, struct weir_key key)
{
    (void)self;
    (void)key;
    return 3;
}

static inline void own_destroy(void *self)
{
    ++*(unsigned *)self;
}

static inline void own_give_back(void *self, struct weir_key key, int64_t now_ns)
{
    (void)key;
    (void)now_ns;
    ++*(unsigned *)self;
}

static const struct weir_limiter_ops own_ops = {.when = own_when,
                                                .forget = own_forget,
                                                .num_requeues = own_count,
                                                .destroy = own_destroy,
                                                .give_back = own_give_back,
                                                .undo = own_give_back};

#endif

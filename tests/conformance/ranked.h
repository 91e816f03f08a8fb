/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_CONFORMANCE_RANKED_H
#define WEIR_TEST_CONFORMANCE_RANKED_H

#include "conformance/fixture.h"

/* What the tests of queues with priorities share. */

static inline void setup_ranked(struct fixture *f, enum kind kind, int64_t aging_ns)
{
    struct weir_queue_options options = {0};
    options.flags = WEIR_QUEUE_PRIORITIES;
    options.aging_ns = aging_ns;
    setup_options(f, kind, &options);
}

static inline enum weir_status try_add_at(struct fixture *f, unsigned item, int32_t priority,
                                          int64_t delay_ns, uint32_t flags)
{
    struct weir_add_options options = {0};
    options.delay_ns = delay_ns;
    options.flags = flags;
    options.priority = priority;
    return weir_queue_add_with(f->queue, key_of(f, item), &options, NULL);
}

static inline void add_at(struct fixture *f, unsigned item, int32_t priority)
{
    CHECK_STATUS(try_add_at(f, item, priority, 0, 0), WEIR_OK);
}

static inline void add_after_at(struct fixture *f, unsigned item, int64_t delay_ns,
                                int32_t priority)
{
    CHECK_STATUS(try_add_at(f, item, priority, delay_ns, 0), WEIR_OK);
}

/* These come out, in this order, and nothing else. */
static inline void check_order(struct fixture *f, const unsigned *want, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        get_and_done(f, want[i]);
    }
    CHECK_NOTHING_READY(f);
}

#define CHECK_ORDER(f, ...)                                                                        \
    check_order(f, (const unsigned[]){__VA_ARGS__},                                                \
                sizeof((const unsigned[]){__VA_ARGS__}) / sizeof(unsigned))

#endif

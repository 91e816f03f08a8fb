/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_CONFORMANCE_DURATIONS_H
#define WEIR_TEST_CONFORMANCE_DURATIONS_H

#include <weir/queue.h>

#include "support/harness.h"

/* Every call that takes a duration or a time, with each of these, at each of those times: nothing
 * overflows (the sanitizers would say so), and nothing comes early. */

static const int64_t edges[] = {INT64_MIN,
                                INT64_MIN + 1,
                                -WEIR_SECONDS(1),
                                -1,
                                0,
                                1,
                                WEIR_SECONDS(1),
                                INT64_MAX / 2,
                                INT64_MAX / 2 + 1,
                                INT64_MAX - 1000,
                                INT64_MAX - 1,
                                INT64_MAX};
static const int64_t starts[] = {
    0, 1, WEIR_SECONDS(1), INT64_MAX / 2, INT64_MAX - 1000, INT64_MAX - 1, INT64_MAX};
#define EDGES (sizeof(edges) / sizeof(edges[0]))
#define STARTS (sizeof(starts) / sizeof(starts[0]))

static inline int64_t sum(int64_t a, int64_t b)
{
    int64_t result;
    if (__builtin_add_overflow(a, b, &result)) {
        return b < 0 ? INT64_MIN : INT64_MAX;
    }
    return result;
}

/* A queue on a manual clock, and what is expected of its one item. */
struct bench {
    weir_clock *clock;
    weir_queue *queue;
    int64_t now_ns;
    bool is_queued;
    bool is_waiting;
    int64_t due_ns;
};

static inline void set_up(struct bench *b, int64_t start_ns, weir_limiter *limiter)
{
    *b = (struct bench){.now_ns = start_ns};
    CHECK_STATUS(weir_clock_manual_new(start_ns, test_allocator(), &b->clock), WEIR_OK);
    struct weir_queue_options options = {0};
    options.allocator = *test_allocator();
    options.clock = b->clock;
    options.limiter = limiter;
    CHECK_STATUS(weir_queue_new(&options, &b->queue, NULL), WEIR_OK);
}

static inline void tear_down(struct bench *b)
{
    weir_queue_free(b->queue);
    weir_clock_free(b->clock);
}

static inline void expect_time(struct bench *b)
{
    if (b->is_waiting && b->due_ns <= b->now_ns) {
        b->is_waiting = false;
        b->is_queued = true;
    }
}

static inline void expect_add(struct bench *b, int64_t delay_ns, uint32_t flags)
{
    int64_t due_ns = sum(b->now_ns, delay_ns);
    expect_time(b);
    if (delay_ns <= 0) {
        b->is_queued = true;
        b->is_waiting = b->is_waiting && (flags & (WEIR_ADD_MOVE | WEIR_ADD_SUPERSEDE)) == 0;
    } else if (!b->is_waiting || (flags & WEIR_ADD_MOVE) != 0 || due_ns < b->due_ns) {
        b->is_waiting = true;
        b->due_ns = due_ns;
    }
}

static inline void check(struct bench *b)
{
    expect_time(b);
    struct weir_queue_counts counts;
    CHECK_STATUS(weir_queue_count(b->queue, &counts), WEIR_OK);
    CHECK_INT(counts.queued, ==, b->is_queued);
    CHECK_INT(counts.waiting, ==, b->is_waiting);
}

static inline void step(struct bench *b, int64_t step_ns)
{
    bool is_possible = step_ns >= 0 && step_ns <= INT64_MAX - b->now_ns;
    CHECK_STATUS(weir_clock_advance(b->clock, step_ns), is_possible ? WEIR_OK : WEIR_ERANGE);
    b->now_ns += is_possible ? step_ns : 0;
    CHECK_INT(weir_clock_now(b->clock), ==, b->now_ns);
}

static inline void add(struct bench *b, int64_t delay_ns, uint32_t flags)
{
    struct weir_add_options options = {0};
    options.delay_ns = delay_ns;
    options.flags = flags;
    bool is_refused = (flags & WEIR_ADD_SUPERSEDE) != 0 && delay_ns > 0;
    CHECK_STATUS(weir_queue_add_with(b->queue, weir_key_string("a"), &options, NULL),
                 is_refused ? WEIR_EINVAL : WEIR_OK);
    if (!is_refused) {
        expect_add(b, delay_ns, flags);
    }
    check(b);
}

#endif

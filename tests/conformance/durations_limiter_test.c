/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/durations.h"
#include "queue/limiter.h"
#include "support/answering_limiter.h"

TEST(rate_limited, "an item comes after whatever its limiter answers")
{
    struct answer answer = {.status = WEIR_OK};
    weir_limiter *limiter = answering_limiter(&answer);
    for (size_t i = 0; i < STARTS * EDGES * EDGES; i++) {
        struct bench b;
        set_up(&b, starts[i / EDGES / EDGES], limiter);
        answer.delay_ns = edges[i / EDGES % EDGES];
        CHECK_STATUS(weir_queue_add_rate_limited(b.queue, weir_key_string("a")), WEIR_OK);
        expect_add(&b, answer.delay_ns, 0);
        check(&b);
        step(&b, edges[i % EDGES]);
        check(&b);
        tear_down(&b);
    }
    weir_limiter_free(limiter);
}

/* Asks and takes back at all times, in order and not. */
static void ask_at_edges(weir_limiter *limiter, int64_t max_ns)
{
    for (size_t i = 0; i < EDGES * EDGES; i++) {
        int64_t now_ns = i % 2 == 0 ? edges[i % EDGES] : edges[i / EDGES];
        int64_t delay_ns = -1;
        CHECK_STATUS(weir_limiter_when(limiter, weir_key_string("a"), now_ns, &delay_ns), WEIR_OK);
        CHECK_INT(delay_ns, >=, 0);
        CHECK_INT(delay_ns, <=, max_ns);
        if (i % 5 == 0) {
            weiri_limiter_give_back(limiter, weir_key_string("a"), edges[i / EDGES]);
        } else if (i % 5 == 1) {
            weiri_limiter_undo(limiter, weir_key_string("a"), edges[i % EDGES]);
        }
    }
    weir_limiter_free(limiter);
}

static void try_limiters(int64_t first_ns, int64_t second_ns)
{
    weir_limiter *limiter;
    struct weir_limiter_options options = {0};
    options.allocator = *test_allocator();
    options.forget_after_ns = second_ns < 0 ? 0 : second_ns;
    bool is_range = first_ns >= 0 && second_ns >= first_ns;
    CHECK_STATUS(weir_limiter_exponential_new(first_ns, second_ns, &options, &limiter, NULL),
                 is_range ? WEIR_OK : WEIR_ERANGE);
    if (is_range) {
        ask_at_edges(limiter, second_ns);
    }
    bool are_times = first_ns >= 0 && second_ns >= 0;
    CHECK_STATUS(weir_limiter_fast_slow_new(first_ns, second_ns, 7, &options, &limiter, NULL),
                 are_times ? WEIR_OK : WEIR_ERANGE);
    if (are_times) {
        ask_at_edges(limiter, first_ns > second_ns ? first_ns : second_ns);
    }
    struct answer first = {.status = WEIR_OK, .delay_ns = first_ns};
    weir_limiter *inner = answering_limiter(&first);
    CHECK_STATUS(weir_limiter_with_max_wait_new(inner, second_ns, test_allocator(), &limiter, NULL),
                 second_ns >= 0 ? WEIR_OK : WEIR_ERANGE);
    ask_at_edges(second_ns >= 0 ? limiter : inner, second_ns >= 0 ? second_ns : INT64_MAX);
    CHECK_STATUS(weir_limiter_with_jitter_new(answering_limiter(&first), 1e300, 1, test_allocator(),
                                              &limiter, NULL),
                 WEIR_OK);
    ask_at_edges(limiter, INT64_MAX);
}

TEST(limiters, "a limiter of whatever times, asked at whatever times, answers a wait in its range")
{
    for (size_t i = 0; i < EDGES * EDGES; i++) {
        try_limiters(edges[i / EDGES], edges[i % EDGES]);
    }
    struct weir_limiter_options options = {0};
    options.allocator = *test_allocator();
    static const double speeds[] = {5e-324, 1e-9, 1, 1e9, 1e308};
    for (size_t i = 0; i < 5; i++) {
        weir_limiter *bucket;
        CHECK_STATUS(weir_limiter_bucket_new(speeds[i], 1, test_allocator(), &bucket, NULL),
                     WEIR_OK);
        ask_at_edges(bucket, INT64_MAX);
        CHECK_STATUS(weir_limiter_item_bucket_new(speeds[i], 1, &options, &bucket, NULL), WEIR_OK);
        ask_at_edges(bucket, INT64_MAX);
    }
    weir_limiter *usual;
    CHECK_STATUS(weir_limiter_default_new(&options, &usual, NULL), WEIR_OK);
    ask_at_edges(usual, INT64_MAX);
}

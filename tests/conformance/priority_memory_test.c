/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "conformance/ranked.h"

/* Queues with priorities: their memory, and the lack of it. */

/* What is asked of all items at a priority and then comes to nothing, or is used up. */
static size_t bytes_after_burst(struct fixture *f, int32_t priority)
{
    struct weir_work works[ITEMS];
    for (unsigned i = 0; i < ITEMS; i++) {
        add_after_at(f, i, 10, priority);
    }
    for (unsigned i = 0; i < ITEMS; i++) {
        CHECK(cancel(f, i));
        add_at(f, i, priority);
        works[i] = get(f, i);
        add_at(f, i, priority);
        add_after_at(f, i, 10, priority);
    }
    for (unsigned i = 0; i < ITEMS; i++) {
        CHECK(i % 2 != 0 || cancel(f, i));
    }
    pass(f, 10);
    CHECK_STATUS(weir_queue_done_batch(f->queue, works, ITEMS), WEIR_OK);
    for (unsigned i = 1; i < ITEMS; i += 2) {
        get_and_done(f, i);
    }
    CHECK_COUNTS(f, 0, 0, 0);
    return test_allocated_bytes();
}

TEST_EACH(memory_returns,
          "priorities that were asked take no memory any more when they are used or cancelled")
{
    struct fixture f;
    setup_ranked(&f, kind, 0);
    size_t without = bytes_after_burst(&f, 0);
    size_t with = bytes_after_burst(&f, -1);
    CHECK_INT(with, <=, without + 16 * 16);
    CHECK_INT(bytes_after_burst(&f, 1), ==, with);
    teardown(&f);
}

/* Each add is tried while no memory is to be had, and again. */
TEST_EACH(no_memory,
          "an add that fails for lack of memory has changed no priority; done and time never fail")
{
    struct fixture f;
    setup_ranked(&f, kind, 0);
    unsigned refused[2] = {0, 0};
    struct weir_work works[ITEMS];
    for (unsigned i = 0; i < ITEMS; i++) {
        add_at(&f, i, -1);
        works[i] = get(&f, i);
    }
    /* Makes each item dirty at -2 and waiting at 3, against allocations that fail at first. */
    for (unsigned i = 0; i < ITEMS; i++) {
        for (int64_t delay_ns = 0; delay_ns <= 10; delay_ns += 10) {
            struct weir_queue_counts before;
            CHECK_STATUS(weir_queue_count(f.queue, &before), WEIR_OK);
            test_fail_allocation(1, true);
            enum weir_status status = try_add_at(&f, i, delay_ns == 0 ? -2 : 3, delay_ns, 0);
            test_fail_allocation(0, false);
            if (status != WEIR_OK) {
                CHECK_STATUS(status, WEIR_ENOMEM);
                refused[delay_ns > 0]++;
                CHECK_COUNTS(&f, before.queued, before.waiting, before.processing);
                CHECK_STATUS(try_add_at(&f, i, delay_ns == 0 ? -2 : 3, delay_ns, 0), WEIR_OK);
            }
        }
    }
    /* An item that is held has its place among the queued ones; only a time may need memory. */
    CHECK_INT(refused[0], ==, 0);
    CHECK_INT(refused[1], >, 2);
    test_fail_allocation(1, true);
    CHECK_STATUS(weir_queue_done_batch(f.queue, works, ITEMS), WEIR_OK);
    for (unsigned i = 0; i < ITEMS; i++) {
        get_and_done(&f, i);
    }
    pass(&f, 10);
    for (unsigned i = 0; i < ITEMS; i++) {
        get_and_done(&f, i);
    }
    test_fail_allocation(0, false);
    CHECK_COUNTS(&f, 0, 0, 0);
    teardown(&f);
}

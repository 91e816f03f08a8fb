/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_PARALLEL_PIECES_H
#define WEIR_TEST_PARALLEL_PIECES_H

#include <weir/parallel.h>

#include "support/counter.h"

/* For tests of weir/parallel.h. */

static inline weir_crew *crew_of(size_t workers)
{
    struct weir_crew_options options = {0};
    options.allocator = *test_allocator();
    options.workers = workers;
    weir_crew *crew;
    CHECK_STATUS(weir_crew_new(&options, &crew, NULL), WEIR_OK);
    return crew;
}

static inline int must_not_run(size_t piece, void *arg)
{
    (void)piece;
    (void)arg;
    test_fail(__FILE__, __LINE__, "a piece was done");
}

/* Threads of this number wait for one another. */
struct meeting {
    struct counter arrived;
    int expected;
};

static inline void meeting_init(struct meeting *meeting, size_t expected)
{
    counter_init(&meeting->arrived);
    meeting->expected = (int)expected;
}

/* Checks that as many came. */
static inline void meeting_fini(struct meeting *meeting)
{
    CHECK_INT(counter_value(&meeting->arrived), ==, meeting->expected);
    counter_fini(&meeting->arrived);
}

/* Also a piece. It ends when as many pieces as expected are being done at once. */
static inline int meet(size_t piece, void *arg)
{
    struct meeting *meeting = arg;
    (void)piece;
    counter_add(&meeting->arrived, 1);
    counter_wait(&meeting->arrived, meeting->expected);
    return WEIR_OK;
}

#endif

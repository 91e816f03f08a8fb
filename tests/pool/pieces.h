/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_POOL_PIECES_H
#define WEIR_TEST_POOL_PIECES_H

#include <weir/parallel.h>

#include "pool/fixture.h"

/* For tests of weir/parallel.h. */

static inline weir_crew *crew_of(size_t workers)
{
    struct weir_crew_options options = WEIR_CREW_OPTIONS_INIT;
    options.allocator = *test_allocator();
    options.workers = workers;
    weir_crew *crew;
    CHECK_STATUS(weir_crew_new(&options, &crew), WEIR_OK);
    return crew;
}

static inline int must_not_run(size_t piece, void *arg)
{
    (void)piece;
    (void)arg;
    test_fail(__FILE__, __LINE__, "a piece was done");
}

/* A place where so many wait until all of them are there. */
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

/* A piece, too: one that only ends when as many of them are being done at once. */
static inline int meet(size_t piece, void *arg)
{
    struct meeting *meeting = arg;
    (void)piece;
    counter_add(&meeting->arrived, 1);
    counter_wait(&meeting->arrived, meeting->expected);
    return WEIR_OK;
}

#endif

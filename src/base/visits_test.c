/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/visits.h"

#include "support/harness.h"

#define STRIPES 4

static struct weiri_stripe stripes[STRIPES];

static bool is_open(const struct weiri_visits *visits)
{
    return weiri_visits_door(visits) % 2 == 0;
}

TEST(door, "a visitor finds the door closed from before the holder looks until it opens it")
{
    struct weiri_visits visits;
    weiri_visits_init(&visits, stripes, STRIPES);
    CHECK(is_open(&visits));
    CHECK(weiri_visits_close(&visits, test_allocator()));
    CHECK(!is_open(&visits));
    uint64_t closed = weiri_visits_door(&visits);
    weiri_visits_open(&visits);
    CHECK(is_open(&visits));
    CHECK_INT(weiri_visits_door(&visits), >, closed);
    weiri_visits_fini(&visits, test_allocator());
}

TEST(inside, "a holder is told that somebody is inside, until he has left")
{
    struct weiri_visits visits;
    weiri_visits_init(&visits, stripes, STRIPES);
    struct weiri_stripe *stripe = weiri_visits_enter(&visits);
    CHECK(stripe != NULL);
    CHECK(weiri_visits_enter(&visits) == NULL); /* the thread's stripe is taken */
    CHECK(!weiri_visits_close(&visits, test_allocator()));
    weiri_visits_open(&visits);
    weiri_visits_leave(stripe);
    CHECK(weiri_visits_close(&visits, test_allocator()));
    weiri_visits_open(&visits);
    stripe = weiri_visits_enter(&visits);
    CHECK(stripe != NULL);
    weiri_visits_leave(stripe);
    weiri_visits_fini(&visits, test_allocator());
}

TEST(retired, "what is retired is given back when nobody is inside, and at the end")
{
    struct weiri_visits visits;
    weiri_visits_init(&visits, stripes, STRIPES);
    size_t blocks = test_allocated_blocks();
    struct weiri_stripe *stripe = weiri_visits_enter(&visits);
    for (int i = 0; i < 2; i++) {
        weiri_visits_retire(&visits, weiri_alloc(test_allocator(), 100), 100);
    }
    CHECK(!weiri_visits_close(&visits, test_allocator()));
    weiri_visits_open(&visits);
    CHECK_INT(test_allocated_blocks(), ==, blocks + 2);
    weiri_visits_leave(stripe);
    CHECK(weiri_visits_close(&visits, test_allocator()));
    weiri_visits_open(&visits);
    CHECK_INT(test_allocated_blocks(), ==, blocks);
    weiri_visits_retire(&visits, weiri_alloc(test_allocator(), 100), 100);
    weiri_visits_fini(&visits, test_allocator());
    CHECK_INT(test_allocated_blocks(), ==, blocks);
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "queue/quick.h"

#include "support/harness.h"

/* The quick moves of a queue with priorities, beyond what quick_test.c compares. */

#define MARK 4u

TEST(ranked_says_no,
     "what is in the way with priorities: no room, a place to move up to, a priority to keep")
{
    struct weiri_core core;
    struct weiri_core other;
    struct weir_item items[WEIRI_RANKS_CAPACITY_MIN + 1] = {0};
    struct weir_work work;
    struct weiri_added added;
    weiri_core_init(&core, test_allocator(), 1, 5, MARK);
    weiri_core_init(&other, test_allocator(), 1, 5, 2 * MARK);
    weiri_ready_init_ranks(&core.ready, 0);
    struct weir_key last = weir_key_item(&items[WEIRI_RANKS_CAPACITY_MIN]);
    CHECK(!weiri_quick_add(&core, last, WEIRI_QUICK_ITEM, 0,
                           WEIRI_RANKED)); /* there is no heap yet */
    CHECK(!weiri_quick_next(&core, &work, WEIRI_RANKED));
    for (size_t i = 0; i < WEIRI_RANKS_CAPACITY_MIN; i++) {
        CHECK_STATUS(weiri_core_add(&core, weir_key_item(&items[i]), false, 3, &added), WEIR_OK);
    }
    CHECK(!weiri_quick_add(&core, last, WEIRI_QUICK_ITEM, 0, WEIRI_RANKED));
    CHECK(!weiri_quick_next(&core, &work,
                            WEIRI_RANKED)); /* there is no room among the running ones */
    CHECK(weiri_core_next(&core, &work));
    CHECK(weiri_quick_add(&core, last, WEIRI_QUICK_ITEM, 9, WEIRI_RANKED));
    CHECK(weiri_quick_next(&core, &work, WEIRI_RANKED) && work.item == &items[1]);
    /* Nothing changes by what is asked for no better than it is; else the item moves up. */
    CHECK(weiri_quick_add(&core, last, WEIRI_QUICK_ITEM, 9, WEIRI_RANKED));
    CHECK(weiri_quick_add(&core, last, WEIRI_QUICK_ITEM, INT32_MAX, WEIRI_RANKED));
    CHECK(!weiri_quick_add(&core, last, WEIRI_QUICK_ITEM, 8, WEIRI_RANKED));
    CHECK(weiri_quick_has_room(&core, WEIRI_RANKED));
    /* The priority of a dirty item is kept elsewhere. */
    CHECK(!weiri_quick_add(&core, weir_key_item(&items[0]), WEIRI_QUICK_ITEM, 1, WEIRI_RANKED));
    CHECK_INT(weiri_item_place(&items[0]), ==, WEIRI_PROCESSING);
    CHECK_STATUS(weiri_core_add(&core, weir_key_item(&items[0]), false, 1, &added), WEIR_OK);
    CHECK(!weiri_quick_add(&core, weir_key_item(&items[1]), WEIRI_QUICK_ITEM, 0, WEIRI_RANKED));
    struct weir_work dirty = {.item = &items[0], .ticket = items[0].weir_position};
    CHECK(!weiri_quick_done(&core, &dirty, WEIRI_QUICK_ITEM, NULL, WEIRI_RANKED));
    CHECK(weiri_quick_done(&core, &work, WEIRI_QUICK_ITEM, NULL, WEIRI_RANKED));
    CHECK(!weiri_quick_done(&core, &work, WEIRI_QUICK_ITEM, NULL, WEIRI_RANKED));
    CHECK_STATUS(weiri_core_add(&other, weir_key_item(&items[1]), false, 0, &added), WEIR_OK);
    CHECK(!weiri_quick_add(&core, weir_key_item(&items[1]), WEIRI_QUICK_ITEM, 0, WEIRI_RANKED));
    struct weiri_ended ended;
    CHECK_STATUS(weiri_core_done(&core, &dirty, &ended), WEIR_OK);
    CHECK(weiri_quick_next(&core, &work, WEIRI_RANKED) && work.item == &items[0]); /* by its 1 */
    CHECK(weiri_core_next(&core, &dirty));
    CHECK(weiri_quick_add(&core, weir_key_item(&items[0]), WEIRI_QUICK_ITEM, 0, WEIRI_RANKED));
    CHECK_INT(weiri_item_place(&items[0]), ==, WEIRI_DIRTY);
    CHECK(weiri_quick_add(&core, weir_key_item(&items[0]), WEIRI_QUICK_ITEM, 0, WEIRI_RANKED));
    CHECK(!weiri_quick_add(&core, weir_key_item(&items[0]), WEIRI_QUICK_ITEM, -1, WEIRI_RANKED));
    weiri_core_fini(&core);
    weiri_core_fini(&other);
}

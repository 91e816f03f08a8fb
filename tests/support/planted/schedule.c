/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/sync.h"

#include "support/explorer/explorer.h"
#include "support/harness.h"

/* Scenarios that fail on purpose, so that schedules/explorer_test.c can check the report of a
 * failure. */

static int count;

static void count_up(void *arg)
{
    (void)arg;
    int before = count;
    explorer_note("read %d", before);
    weiri_sync_point();
    count = before + 1;
}

static void lost_update(void *arg)
{
    (void)arg;
    struct weiri_thread threads[2];
    count = 0;
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(weiri_thread_start(&threads[i], "counter", count_up, NULL), WEIR_OK);
    }
    for (int i = 0; i < 2; i++) {
        weiri_thread_join(&threads[i]);
    }
    CHECK_INT(count, ==, 2);
}

TEST(seeded, "a failing schedule that has a seed")
{
    const struct explorer_options options = {.no_exhaustive = true};
    explorer_must_pass(lost_update, NULL, &options);
}

TEST(searched, "a failing schedule of the search")
{
    const struct explorer_options options = {.no_seeded = true};
    explorer_must_pass(lost_update, NULL, &options);
}

static void remembering(void *arg)
{
    (void)arg;
    static int schedules;
    CHECK_INT(++schedules, <, 100);
}

TEST(unsteady, "a scenario that does not depend on its schedule alone")
{
    const struct explorer_options options = {.no_exhaustive = true};
    explorer_must_pass(remembering, NULL, &options);
}

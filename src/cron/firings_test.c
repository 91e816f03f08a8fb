/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cron/crons.h"
#include "cron/plan.h"

#define FIRINGS_MAX 4000

/* Firings at random seconds of random minutes of an hour, now close, now far from one another. */
static weir_cron *random_cron(void)
{
    char text[128];
    size_t size = 0;
    for (int field = 0; field < 2; field++) {
        for (uint64_t n = 1 + test_random_below(5); n > 0; n--) {
            size += (size_t)snprintf(text + size, sizeof(text) - size, "%d%s",
                                     (int)test_random_below(60), n == 1 ? " " : ",");
        }
    }
    (void)snprintf(text + size, sizeof(text) - size, "* * * *");
    return cron_new(text);
}

TEST(searched, "what a search finds is what a walk finds")
{
    static int64_t walked[FIRINGS_MAX];
    static const uint64_t reaches[] = {WEIR_SECONDS(100), WEIR_SECONDS(4000), WEIR_SECONDS(40000)};
    for (uint64_t i = 0; i < test_scaled(6000); i++) {
        struct weiri_plan plan = {.cron = random_cron(), .kind = WEIR_SCHEDULE_CRON};
        int64_t first_ns = weiri_firing_after(&plan, cron_time("2024-05-01 00:00"));
        int64_t now_ns = first_ns + (int64_t)test_random_below(reaches[i % 3]);
        if (test_random_below(2) == 0) {
            now_ns -= now_ns % WEIR_SECONDS(1); /* often a firing itself, or its middle */
            now_ns = now_ns < first_ns ? first_ns : now_ns;
        }
        size_t count = 0;
        for (int64_t at_ns = first_ns; at_ns <= now_ns; at_ns = weiri_firing_after(&plan, at_ns)) {
            CHECK(count < FIRINGS_MAX);
            walked[count++] = at_ns;
        }
        struct weiri_firings passed = weiri_firings_passed(&plan, first_ns, now_ns);
        CHECK_INT(passed.count, ==, count);
        CHECK_INT(passed.latest_ns, ==, walked[count - 1]);
        uint64_t last = 1 + test_random_below(count < 50 ? count : 50);
        CHECK_INT(weiri_firing_of_last(&plan, first_ns, passed.latest_ns, last), ==,
                  walked[count - last]);
        weir_cron_unref(plan.cron);
    }
}

TEST(capped, "a walk ends at the largest count of runs to make up for")
{
    struct weiri_plan plan = {.cron = cron_new("@every 1s"), .kind = WEIR_SCHEDULE_CRON};
    struct weiri_firings passed = weiri_firings_passed(&plan, 0, WEIR_SECONDS(INT64_C(9000000000)));
    CHECK_INT(passed.count, ==, WEIR_CATCH_UP_LIMIT);
    CHECK_INT(passed.latest_ns, ==, WEIR_SECONDS(INT64_C(9000000000)));
    CHECK_INT(weiri_firing_of_last(&plan, 0, passed.latest_ns, WEIR_CATCH_UP_LIMIT), ==,
              WEIR_SECONDS(INT64_C(9000000000) - WEIR_CATCH_UP_LIMIT + 1));
    passed = weiri_firings_passed(&plan, 0, WEIR_SECONDS(WEIR_CATCH_UP_LIMIT - 2));
    CHECK_INT(passed.count, ==, WEIR_CATCH_UP_LIMIT - 1);
    weir_cron_unref(plan.cron);
}

TEST(special_first, "the first firing need not be one of the expression's")
{
    struct weiri_plan plan = {.cron = cron_new("0 * * * *"), .kind = WEIR_SCHEDULE_CRON};
    int64_t first_ns = cron_time("2024-05-01 00:10:11");
    struct weiri_firings passed =
        weiri_firings_passed(&plan, first_ns, cron_time("2024-05-01 00:59:59"));
    CHECK(passed.count == 1 && passed.latest_ns == first_ns);
    passed = weiri_firings_passed(&plan, first_ns, cron_time("2024-05-01 01:00"));
    CHECK(passed.count == 2 && passed.latest_ns == cron_time("2024-05-01 01:00"));
    CHECK_INT(weiri_firing_of_last(&plan, first_ns, passed.latest_ns, 2), ==, first_ns);
    weir_cron_unref(plan.cron);
}

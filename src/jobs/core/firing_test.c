/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/core/firing.h"

#include "support/harness.h"

#define MINUTE WEIR_SECONDS(60)
#define HOUR WEIR_SECONDS(3600)
#define DAY WEIR_SECONDS(86400)
/* 2026-11-23 00:00 UTC, a Monday. */
#define START WEIR_SECONDS(1795392000)

static weir_cron *cron_of(const char *text)
{
    struct weir_cron_options options = {0};
    options.zone = "UTC";
    options.flags = WEIR_CRON_SECONDS;
    weir_cron *cron = NULL;
    CHECK_STATUS(weir_cron_new(text, &options, &cron, NULL), WEIR_OK);
    return cron;
}

TEST(resumed, "a schedule that resumes stays in step, and skips what it missed")
{
    weir_cron *cron = cron_of("30 2 * * *");
    const struct weiri_plan daily = {.cron = cron};
    const struct weiri_plan rate = {.interval_ns = 10 * MINUTE};
    static const struct {
        int64_t at_ns;
        int64_t now_ns;
        int64_t next_ns;
        uint64_t skipped;
    } rows[] = {
        {START, START - 1, START, 0},
        {START, START, START + 10 * MINUTE, 1},
        {START, START + 25 * MINUTE, START + 30 * MINUTE, 3},
        {START, START + 30 * MINUTE, START + 40 * MINUTE, 4},
        {START + 365 * DAY, START, START + 10 * MINUTE, 0},
        {START + 365 * DAY, START - 1, START, 0},
        {START + 365 * DAY, START + 1, START + 10 * MINUTE, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct weiri_due due = weiri_due_resume(&rate, rows[i].at_ns, rows[i].now_ns);
        CHECK_INT(due.count, ==, 0);
        CHECK_INT(due.next_ns, ==, rows[i].next_ns);
        CHECK_INT(due.skipped, ==, rows[i].skipped);
    }
    const int64_t half_past_two = START + 2 * HOUR + 30 * MINUTE;
    struct weiri_due due = weiri_due_resume(&daily, half_past_two - 2 * DAY, START);
    CHECK_INT(due.next_ns, ==, half_past_two);
    CHECK_INT(due.skipped, ==, 2);
    due = weiri_due_resume(&daily, START + 365 * DAY, half_past_two);
    CHECK_INT(due.next_ns, ==, half_past_two + DAY);
    CHECK_INT(due.skipped, ==, 0);
    CHECK_INT(weiri_due_resume(&daily, half_past_two, INT64_MAX - 1).next_ns, ==, WEIR_FOREVER);
    weir_cron_unref(cron);
}

static void check_row(size_t row, const struct weiri_due *found, const struct weiri_due *expected)
{
    if (found->count != expected->count || found->skipped != expected->skipped ||
        found->next_ns != expected->next_ns || found->first_ns != expected->first_ns) {
        test_fail(__FILE__, __LINE__, "row %zu: %llu firings, %llu skipped, first %lld, next %lld",
                  row, (unsigned long long)found->count, (unsigned long long)found->skipped,
                  (long long)found->first_ns, (long long)found->next_ns);
    }
}

TEST(policies, "the policies decide about missed firings as their table says")
{
    weir_cron *cron = cron_of("*/10 * * * *");
    static const struct {
        enum weir_missed missed;
        int64_t tolerance_ns;
        uint32_t most;
        int64_t now_ns;
        struct weiri_due due;
    } rows[] = {
        {WEIR_MISSED_ONCE, 0, 1, START - 1, {0, 0, 0, START}},
        {WEIR_MISSED_ONCE, 0, 1, START, {1, START, 0, START + 10 * MINUTE}},
        {WEIR_MISSED_ONCE,
         0,
         1,
         START + 35 * MINUTE,
         {1, START + 30 * MINUTE, 3, START + 40 * MINUTE}},
        {WEIR_MISSED_SKIP, 4 * MINUTE, 1, START + 4 * MINUTE, {1, START, 0, START + 10 * MINUTE}},
        {WEIR_MISSED_SKIP, 4 * MINUTE, 1, START + 4 * MINUTE + 1, {0, 0, 1, START + 10 * MINUTE}},
        {WEIR_MISSED_SKIP,
         4 * MINUTE,
         1,
         START + 34 * MINUTE,
         {1, START + 30 * MINUTE, 3, START + 40 * MINUTE}},
        {WEIR_MISSED_SKIP, 4 * MINUTE, 1, START + 35 * MINUTE, {0, 0, 4, START + 40 * MINUTE}},
        {WEIR_MISSED_ALL, 0, 100, START + 35 * MINUTE, {4, START, 0, START + 40 * MINUTE}},
        {WEIR_MISSED_ALL,
         0,
         3,
         START + 35 * MINUTE,
         {3, START + 10 * MINUTE, 1, START + 40 * MINUTE}},
        {WEIR_MISSED_ALL,
         0,
         3,
         START + 7 * DAY,
         {3, START + 7 * DAY - 20 * MINUTE, 1006, START + 7 * DAY + 10 * MINUTE}},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct weiri_plan plan = {
            .cron = cron, .tolerance_ns = rows[i].tolerance_ns, .catch_up_max = rows[i].most};
        struct weiri_due due = weiri_due_decide(&plan, rows[i].missed, START, rows[i].now_ns);
        check_row(i, &due, &rows[i].due);
        plan.cron = NULL;
        plan.interval_ns = 10 * MINUTE;
        due = weiri_due_decide(&plan, rows[i].missed, START, rows[i].now_ns);
        check_row(i, &due, &rows[i].due);
    }
    weir_cron_unref(cron);
}

TEST(years, "after a year without a consumer the latest firings are found")
{
    weir_cron *dense = cron_of("* * * 1 1 *"); /* each second of the first of January */
    const struct weiri_plan plan = {.cron = dense, .catch_up_max = WEIR_SCHEDULE_CATCH_UP_LIMIT};
    int64_t first = weiri_firing_after(&plan, START);
    struct weiri_due due = weiri_due_decide(&plan, WEIR_MISSED_ALL, first, first + 350 * DAY);
    CHECK_INT(due.count, ==, WEIR_SCHEDULE_CATCH_UP_LIMIT);
    CHECK_INT(due.first_ns, ==, first + DAY - WEIR_SECONDS(WEIR_SCHEDULE_CATCH_UP_LIMIT));
    CHECK_INT(due.skipped, ==, 10000 - WEIR_SCHEDULE_CATCH_UP_LIMIT);
    CHECK_INT(due.next_ns, ==, first + 365 * DAY);
    weir_cron_unref(dense);
}

TEST(alone, "without overlap the last firing alone puts a job, and none beside a job that runs")
{
    const struct weiri_plan rate = {.interval_ns = MINUTE};
    static const struct {
        bool is_running;
        struct weiri_due due;
        struct weiri_due alone;
    } rows[] = {
        {false, {0, 0, 2, START + MINUTE}, {0, 0, 2, START + MINUTE}},
        {false, {1, START, 2, START + MINUTE}, {1, START, 2, START + MINUTE}},
        {false, {3, START, 2, START + 3 * MINUTE}, {1, START + 2 * MINUTE, 4, START + 3 * MINUTE}},
        {true, {0, 0, 2, START + MINUTE}, {0, 0, 2, START + MINUTE}},
        {true, {3, START, 2, START + 3 * MINUTE}, {0, START, 5, START + 3 * MINUTE}},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct weiri_due due = rows[i].due;
        weiri_due_alone(&rate, rows[i].is_running, &due);
        check_row(i, &due, &rows[i].alone);
    }
}

static int64_t first_of(const struct weiri_plan *plan, int64_t first_at_ns, int64_t now_ns)
{
    const struct weir_job_schedule_options options = {.first_at_ns = first_at_ns};
    return weiri_firing_of_put(plan, &options, NULL, 0, now_ns);
}

TEST(first, "a new schedule begins at its time, or at the next one in step with it")
{
    weir_cron *cron = cron_of("30 2 * * *");
    const struct weiri_plan daily = {.cron = cron};
    const struct weiri_plan rate = {.interval_ns = MINUTE};
    const int64_t half_past_two = START + 2 * HOUR + 30 * MINUTE;
    CHECK_INT(first_of(&rate, 0, START), ==, START + MINUTE);
    CHECK_INT(first_of(&rate, START, START), ==, START);
    CHECK_INT(first_of(&rate, START + 5, START), ==, START + 5);
    CHECK_INT(first_of(&rate, START - 5, START), ==, START + MINUTE - 5);
    CHECK_INT(first_of(&daily, 0, START), ==, half_past_two);
    CHECK_INT(first_of(&daily, half_past_two, START), ==, half_past_two);
    CHECK_INT(first_of(&daily, half_past_two + 1, START), ==, half_past_two + DAY);
    CHECK_INT(first_of(&daily, START - DAY, START), ==, half_past_two);
    weir_cron_unref(cron);
}

TEST(put_again, "a schedule that is put again keeps its next firing, unless it has other times")
{
    const struct weiri_plan rate = {.interval_ns = MINUTE};
    const struct weir_job_schedule_options before = {
        .cron = "", .zone = "UTC", .interval_ns = MINUTE, .first_at_ns = START, .priority = 7};
    struct weir_job_schedule_options options = before;
    options.priority = 0;
    options.missed = WEIR_MISSED_ALL;
    CHECK_INT(weiri_firing_of_put(&rate, &options, &before, START + 5 * MINUTE, START), ==,
              START + 5 * MINUTE);
    for (int i = 0; i < 4; i++) {
        options = before;
        options.cron = i == 0 ? "@hourly" : before.cron; /* the plan stays, and says when */
        options.zone = i == 1 ? "" : before.zone;
        options.interval_ns = i == 2 ? 2 * MINUTE : before.interval_ns;
        options.first_at_ns = i == 3 ? START + 1 : before.first_at_ns;
        CHECK_INT(weiri_firing_of_put(&rate, &options, &before, START + 5 * MINUTE, START), ==,
                  i == 3 ? START + 1 : START);
    }
}

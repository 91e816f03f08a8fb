/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cron/plan.h"

#include "cron/crons.h"

/* One envelope's plan and the clock it is on. */
struct world {
    struct weiri_plan plan;
    struct weiri_plan_state state;
    int64_t now_ns;
};

static struct weiri_moment now(const struct world *w)
{
    return (struct weiri_moment){.clock_ns = w->now_ns};
}

static struct weir_schedule rate(int64_t interval_ns)
{
    struct weir_schedule schedule = {0};
    schedule.kind = WEIR_SCHEDULE_RATE;
    schedule.interval_ns = interval_ns;
    return schedule;
}

static struct world start(const struct weir_schedule *schedule, int64_t now_ns, int64_t wake_ns)
{
    struct world w = {.now_ns = now_ns};
    CHECK_STATUS(weiri_plan_init(&w.plan, schedule, 0, 0, NULL), WEIR_OK);
    CHECK(weiri_plan_is_periodic(&w.plan));
    CHECK_INT(weiri_plan_start(&w.plan, &w.state, now(&w)), ==, wake_ns);
    return w;
}

static void check_run(struct world *w, int64_t now_ns, int64_t due_ns, uint64_t skipped)
{
    w->now_ns = now_ns;
    struct weiri_turn turn = weiri_plan_begin(&w->plan, &w->state, now(w));
    CHECK(turn.run);
    CHECK_INT(turn.due_ns, ==, due_ns);
    CHECK_INT(turn.skipped, ==, skipped);
}

static void check_no_run(struct world *w, int64_t now_ns, int64_t wake_ns, uint64_t skipped)
{
    w->now_ns = now_ns;
    struct weiri_turn turn = weiri_plan_begin(&w->plan, &w->state, now(w));
    CHECK(!turn.run);
    CHECK_INT(turn.wake_ns, ==, wake_ns);
    CHECK_INT(turn.skipped, ==, skipped);
}

static void check_end(struct world *w, int64_t now_ns, int64_t wake_ns, uint64_t skipped)
{
    w->now_ns = now_ns;
    struct weiri_turn turn = weiri_plan_end(&w->plan, &w->state, now(w));
    CHECK(!turn.run);
    CHECK_INT(turn.wake_ns, ==, wake_ns);
    CHECK_INT(turn.skipped, ==, skipped);
}

TEST(delay, "a fixed delay counts from the end of each run")
{
    struct weir_schedule schedule = {0};
    schedule.interval_ns = 100;
    struct world w = start(&schedule, 1000, 1000);
    check_run(&w, 1005, 1000, 0);
    check_no_run(&w, 1006, WEIR_FOREVER, 0); /* of one firing there is one run */
    check_end(&w, 1250, 1350, 0);
    check_no_run(&w, 1349, 1350, 0);
    check_run(&w, 9000, 1350, 0);
    check_end(&w, 9001, 9101, 0);
}

TEST(delay_simple, "without a schedule it is a fixed delay by the envelope's interval")
{
    struct world w = {.now_ns = 50};
    CHECK_STATUS(weiri_plan_init(&w.plan, NULL, 10, 0, NULL), WEIR_OK);
    CHECK(weiri_plan_is_periodic(&w.plan));
    CHECK_INT(weiri_plan_start(&w.plan, &w.state, now(&w)), ==, 50);
    check_run(&w, 50, 50, 0);
    check_end(&w, 52, 62, 0);
    CHECK_STATUS(weiri_plan_init(&w.plan, NULL, 0, 5, NULL), WEIR_OK);
    CHECK(!weiri_plan_is_periodic(&w.plan));
}

TEST(delay_asked_for, "a run asked for in between puts the next one off")
{
    struct weir_schedule schedule = {0};
    schedule.interval_ns = 100;
    schedule.first = WEIR_FIRST_INTERVAL;
    struct world w = start(&schedule, 0, 100);
    check_end(&w, 40, 140, 0);
    check_no_run(&w, 100, 140, 0);
    check_run(&w, 140, 140, 0);
}

TEST(rate_keeps_time, "a fixed rate keeps its times however long runs take")
{
    struct weir_schedule schedule = rate(100);
    struct world w = start(&schedule, 1000, 1000);
    check_run(&w, 1007, 1000, 0);
    check_end(&w, 1060, 1100, 0);
    check_run(&w, 1100, 1100, 0);
    check_end(&w, 1199, 1200, 0);
    check_run(&w, 1201, 1200, 0);
    check_end(&w, 1202, 1300, 0);
}

TEST(rate_asked_for, "a run asked for in between shifts no firing")
{
    struct weir_schedule schedule = rate(100);
    schedule.first = WEIR_FIRST_INTERVAL;
    struct world w = start(&schedule, 0, 100);
    check_end(&w, 40, 100, 0);
    check_run(&w, 100, 100, 0);
}

TEST(first, "the first firing is at once, after an interval, or at a time")
{
    struct weir_schedule schedule = rate(100);
    schedule.first = WEIR_FIRST_NOW;
    (void)start(&schedule, 1010, 1010);
    schedule.first = WEIR_FIRST_INTERVAL;
    (void)start(&schedule, 1010, 1110);
    schedule.first = WEIR_FIRST_AT;
    schedule.first_at_ns = 5000;
    (void)start(&schedule, 1010, 5000);
    (void)start(&schedule, 5000, 5000);
    (void)start(&schedule, 5001, 5100);
    (void)start(&schedule, 5700, 5700);
    schedule.kind = WEIR_SCHEDULE_DELAY;
    struct world w = start(&schedule, 1010, 5000);
    check_no_run(&w, 4999, 5000, 0);
    w = start(&schedule, 5001, 5000);
    check_run(&w, 5001, 5000, 0);
}

TEST(missed_skip, "missed firings are skipped, but for the latest where it is not too late")
{
    struct weir_schedule schedule = rate(100);
    schedule.tolerance_ns = 30;
    struct world w = start(&schedule, 0, 0);
    check_run(&w, 330, 300, 3);
    check_end(&w, 335, 400, 0);
    check_no_run(&w, 631, 700, 3);
    check_run(&w, 700, 700, 0);
}

TEST(missed_tolerance, "a minute late is not too late, unless told otherwise")
{
    struct weir_schedule schedule = rate(WEIR_SECONDS(3600));
    struct world w = start(&schedule, 0, 0);
    check_run(&w, WEIR_SECONDS(60), 0, 0);
    check_end(&w, WEIR_SECONDS(60), WEIR_SECONDS(3600), 0);
    check_no_run(&w, WEIR_SECONDS(3660) + 1, WEIR_SECONDS(7200), 1);
    schedule.tolerance_ns = WEIR_FOREVER;
    w = start(&schedule, 0, 0);
    check_run(&w, WEIR_SECONDS(3599), 0, 0);
}

TEST(missed_once, "missed firings are run as one, however late")
{
    struct weir_schedule schedule = rate(100);
    schedule.missed = WEIR_FIRING_ONCE;
    schedule.tolerance_ns = 1;
    struct world w = start(&schedule, 0, 0);
    check_run(&w, 390, 300, 3);
    check_end(&w, 395, 400, 0);
}

TEST(missed_all, "missed firings are run one after the other, the latest so many of them")
{
    struct weir_schedule schedule = rate(100);
    schedule.missed = WEIR_FIRING_ALL;
    schedule.catch_up_max = 3;
    struct world w = start(&schedule, 0, 0);
    check_run(&w, 560, 300, 3);
    check_end(&w, 570, 570, 0);
    check_run(&w, 571, 400, 0);
    check_end(&w, 572, 572, 0);
    check_run(&w, 573, 500, 0);
    check_end(&w, 574, 600, 0);
    check_run(&w, 600, 600, 0);
    schedule.catch_up_max = 0;
    w = start(&schedule, 0, 0);
    check_run(&w, 20000, 10100, 101);
}

TEST(overlap_skip, "firings during a run are skipped")
{
    struct weir_schedule schedule = rate(100);
    struct world w = start(&schedule, 0, 0);
    check_run(&w, 0, 0, 0);
    check_end(&w, 300, 400, 3);
    check_run(&w, 400, 400, 0);
}

TEST(overlap_once, "firings during a run are made up for by one run")
{
    struct weir_schedule schedule = rate(100);
    schedule.overlap = WEIR_FIRING_ONCE;
    struct world w = start(&schedule, 0, 0);
    check_run(&w, 0, 0, 0);
    check_end(&w, 350, 350, 2);
    check_run(&w, 351, 300, 0);
    check_end(&w, 360, 400, 0);
}

TEST(overlap_all, "firings during runs are made up for one by one, the latest so many of them")
{
    struct weir_schedule schedule = rate(100);
    schedule.overlap = WEIR_FIRING_ALL;
    schedule.catch_up_max = 3;
    struct world w = start(&schedule, 0, 0);
    check_run(&w, 0, 0, 0);
    check_end(&w, 250, 250, 0);
    check_run(&w, 250, 100, 0);
    check_end(&w, 500, 500, 1);
    check_run(&w, 500, 300, 0);
    check_end(&w, 501, 501, 0);
    check_run(&w, 502, 400, 0);
    check_end(&w, 503, 503, 0);
    check_run(&w, 504, 500, 0);
    check_end(&w, 505, 600, 0);
}

TEST(both_policies, "while missed firings are made up for, those that pass are overlapped")
{
    struct weir_schedule schedule = rate(100);
    schedule.missed = WEIR_FIRING_ALL;
    struct world w = start(&schedule, 0, 0);
    check_run(&w, 250, 0, 0);
    check_end(&w, 310, 310, 1);
    check_run(&w, 420, 100, 0);
    check_end(&w, 430, 430, 1);
    check_run(&w, 430, 200, 0);
    check_end(&w, 440, 500, 0);
    schedule.overlap = WEIR_FIRING_ONCE;
    w = start(&schedule, 0, 0);
    check_run(&w, 150, 0, 0);
    check_end(&w, 310, 310, 2); /* the run that is owed for 100 stands for 200 and 300 as well */
    check_run(&w, 310, 100, 0);
    check_end(&w, 320, 400, 0);
}

TEST(ends_of_time, "at the end of the numbers a firing never comes")
{
    struct weir_schedule schedule = rate(WEIR_FOREVER);
    struct world w = start(&schedule, 5, 5);
    check_run(&w, 5, 5, 0);
    check_end(&w, 6, WEIR_FOREVER, 0);
    check_no_run(&w, WEIR_FOREVER, WEIR_FOREVER, 0);
    schedule.first = WEIR_FIRST_INTERVAL;
    w = start(&schedule, 5, WEIR_FOREVER);
    check_end(&w, WEIR_FOREVER, WEIR_FOREVER, 0);
    schedule = rate(1);
    schedule.missed = WEIR_FIRING_ALL;
    schedule.overlap = WEIR_FIRING_ALL;
    w = start(&schedule, 0, 0);
    check_run(&w, WEIR_FOREVER, WEIR_FOREVER - 100, UINT64_C(9223372036854775707));
    check_end(&w, WEIR_FOREVER, WEIR_FOREVER, 0);
    schedule.kind = WEIR_SCHEDULE_DELAY;
    schedule.interval_ns = WEIR_FOREVER;
    w = start(&schedule, 0, 0);
    check_run(&w, 1, 0, 0);
    check_end(&w, 1, WEIR_FOREVER, 0);
    check_no_run(&w, WEIR_FOREVER, WEIR_FOREVER, 0);
}

TEST(slack, "wake times are put off to multiples of the slack, and firings are not")
{
    struct weir_schedule schedule = rate(100);
    schedule.slack_ns = 30;
    struct world w = start(&schedule, 1001, 1001); /* at once is not put off */
    check_run(&w, 1001, 1001, 0);
    check_end(&w, 1002, 1110, 0);    /* of 1101 */
    check_no_run(&w, 1100, 1110, 0); /* never early */
    check_run(&w, 1110, 1101, 0);    /* due when it was planned */
    check_end(&w, 1110, 1230, 0);    /* of 1201: counted from the firing */
    check_run(&w, 1202, 1201, 0);    /* somebody came sooner */
    check_end(&w, 1202, 1320, 0);    /* of 1301 */
}

TEST(slack_of_delay, "with a fixed delay too the slack is in the wake time alone")
{
    struct weir_schedule schedule = {0};
    schedule.interval_ns = 100;
    schedule.slack_ns = 100;
    schedule.first = WEIR_FIRST_INTERVAL;
    struct world w = start(&schedule, 1000, 1100); /* a multiple as it is */
    check_run(&w, 1100, 1100, 0);
    check_end(&w, 1150, 1300, 0); /* of 1250 */
    check_run(&w, 1300, 1250, 0);
    check_end(&w, 1300, 1400, 0);
}

TEST(slack_shared, "envelopes of different intervals wake together, also by default")
{
    const int64_t intervals[] = {WEIR_SECONDS(2), WEIR_SECONDS(2) - 1, WEIR_SECONDS(2) - 999999};
    for (size_t i = 0; i < 3; i++) {
        struct weir_schedule schedule = {0};
        schedule.interval_ns = intervals[i];
        schedule.first = WEIR_FIRST_INTERVAL;
        (void)start(&schedule, 0, WEIR_SECONDS(2));
        schedule.slack_ns = WEIR_SLACK_NONE;
        (void)start(&schedule, 0, intervals[i]);
    }
}

TEST(slack_default, "the slack is the power of ten in a thousandth of the interval, at most 1 ms")
{
    const struct {
        int64_t interval_ns, tolerance_ns, slack_ns;
    } rows[] = {
        {1, 0, 1},
        {9999, 0, 1},
        {10000, 0, 10},
        {WEIR_MS(11), 0, 10000},
        {WEIR_MS(300), 0, 100000},
        {WEIR_SECONDS(1) - 1, 0, 100000},
        {WEIR_SECONDS(1), 0, WEIR_MS(1)},
        {WEIR_FOREVER, 0, WEIR_MS(1)},
        {WEIR_SECONDS(1), WEIR_MS(1), 1000},
        {WEIR_SECONDS(1), 1, 1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct weir_schedule schedule = rate(rows[i].interval_ns);
        schedule.tolerance_ns = rows[i].tolerance_ns;
        struct weiri_plan plan;
        CHECK_STATUS(weiri_plan_init(&plan, &schedule, 0, 0, NULL), WEIR_OK);
        CHECK_INT(plan.slack_ns, ==, rows[i].slack_ns);
    }
}

TEST(slack_at_the_end, "where no multiple is left before the end of the numbers, it is exact")
{
    struct weir_schedule schedule = rate(WEIR_SECONDS(1));
    schedule.first = WEIR_FIRST_AT;
    schedule.first_at_ns = WEIR_FOREVER - 2;
    schedule.slack_ns = WEIR_MS(1);
    (void)start(&schedule, 0, WEIR_FOREVER - 2);
}

TEST(bad_schedules, "a schedule that cannot be is refused, and nothing is written")
{
    weir_cron *cron = cron_new("@daily");
    const struct {
        const char *what;
        struct weir_schedule schedule;
        int64_t interval_ns, deadline_ns;
        enum weir_status status;
    } rows[] = {
        {"no interval", {.kind = WEIR_SCHEDULE_DELAY}, 0, 0, WEIR_EINVAL},
        {"kind", {.interval_ns = 1, .kind = 3}, 0, 0, WEIR_EINVAL},
        {"first", {.interval_ns = 1, .first = 4}, 0, 0, WEIR_EINVAL},
        {"missed", {.interval_ns = 1, .missed = 3}, 0, 0, WEIR_EINVAL},
        {"overlap", {.interval_ns = 1, .overlap = 3}, 0, 0, WEIR_EINVAL},
        {"two intervals", {.interval_ns = 1}, 2, 0, WEIR_EINVAL},
        {"interval", {.interval_ns = -1}, 0, 0, WEIR_ERANGE},
        {"time", {.interval_ns = 1, .first_at_ns = -1}, 0, 0, WEIR_ERANGE},
        {"tolerance", {.interval_ns = 1, .tolerance_ns = -1}, 0, 0, WEIR_ERANGE},
        {"slack", {.interval_ns = 1, .slack_ns = -1}, 0, 0, WEIR_ERANGE},
        {"least slack", {.interval_ns = 1, .slack_ns = INT64_MIN}, 0, 0, WEIR_ERANGE},
        {"long slack", {.interval_ns = 5, .slack_ns = 6}, 0, 0, WEIR_ERANGE},
        {"long for the envelope's", {.slack_ns = 6}, 5, 0, WEIR_ERANGE},
        {"count", {.interval_ns = 1, .catch_up_max = 10001}, 0, 0, WEIR_ERANGE},
        {"envelope's interval", {.interval_ns = 1}, -1, 0, WEIR_ERANGE},
        {"deadline", {.interval_ns = 1}, 0, -1, WEIR_ERANGE},
        {"long deadline", {.interval_ns = 5}, 0, 6, WEIR_EINTERVAL},
        {"long for the envelope's", {.first = WEIR_FIRST_NOW}, 5, 6, WEIR_EINTERVAL},
        {"no expression", {.kind = WEIR_SCHEDULE_CRON}, 0, 0, WEIR_EINVAL},
        {"an expression", {.interval_ns = 1, .cron = cron}, 0, 0, WEIR_EINVAL},
        {"both", {.interval_ns = 1, .kind = WEIR_SCHEDULE_CRON, .cron = cron}, 0, 0, WEIR_EINVAL},
        {"both", {.kind = WEIR_SCHEDULE_CRON, .cron = cron}, 1, 0, WEIR_EINVAL},
        {"same interval", {.interval_ns = 5}, 5, 5, WEIR_OK},
        {"longest slack", {.interval_ns = 5, .slack_ns = 5}, 0, 0, WEIR_OK},
        {"slack of cron",
         {.kind = WEIR_SCHEDULE_CRON, .cron = cron, .slack_ns = WEIR_FOREVER},
         0,
         0,
         WEIR_OK},
        {"largest count", {.interval_ns = 5, .catch_up_max = 10000}, 0, 0, WEIR_OK},
        {"deadline of cron", {.kind = WEIR_SCHEDULE_CRON, .cron = cron}, 0, WEIR_FOREVER, WEIR_OK},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct weiri_plan plan;
        struct weiri_plan before;
        memset(&plan, 0xa5, sizeof(plan));
        before = plan;
        enum weir_status status = weiri_plan_init(&plan, &rows[i].schedule, rows[i].interval_ns,
                                                  rows[i].deadline_ns, NULL);
        if (status != rows[i].status) {
            test_fail(__FILE__, __LINE__, "%s: %s", rows[i].what, weir_status_name((int)status));
        }
        if (status == WEIR_OK) {
            weiri_plan_fini(&plan);
        } else {
            CHECK(memcmp(&plan, &before, sizeof(plan)) == 0);
        }
    }
    weir_cron_unref(cron);
}

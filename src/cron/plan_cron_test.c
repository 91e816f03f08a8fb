/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cron/crons.h"
#include "cron/plan.h"

/* Plans of cron expressions. The pool's clock shows this much less than the wall's. */
#define APART cron_time("2024-01-01 00:00")

struct world {
    struct weiri_plan plan;
    struct weiri_plan_state state;
    int64_t apart_ns; /* of the clocks; to be changed where the wall's is set */
};

static int64_t seconds_between(int64_t from_ns, int64_t to_ns)
{
    return (to_ns - from_ns) / WEIR_SECONDS(1);
}

/* The moment at which the wall clock shows a time. */
static struct weiri_moment at(const struct world *w, const char *wall)
{
    int64_t wall_ns = cron_time(wall);
    return (struct weiri_moment){wall_ns - w->apart_ns, wall_ns};
}

static struct weir_schedule schedule_of(weir_cron *cron)
{
    struct weir_schedule schedule = {0};
    schedule.kind = WEIR_SCHEDULE_CRON;
    schedule.cron = cron;
    return schedule;
}

/* Sent when the wall clock shows now; the first wake-up is so many seconds later. */
static struct world start(const struct weir_schedule *schedule, const char *now, int64_t wait_s)
{
    struct world w = {.apart_ns = APART};
    CHECK_STATUS(weiri_plan_init(&w.plan, schedule, 0, 0, NULL), WEIR_OK);
    CHECK(weiri_plan_is_periodic(&w.plan) && weiri_plan_reads_wall(&w.plan));
    struct weiri_moment moment = at(&w, now);
    int64_t wake_ns = weiri_plan_start(&w.plan, &w.state, moment);
    CHECK_INT(seconds_between(moment.clock_ns, wake_ns), ==, wait_s);
    return w;
}

static struct world start_text(const char *text, const char *now, int64_t wait_s)
{
    weir_cron *cron = cron_new(text);
    struct weir_schedule schedule = schedule_of(cron);
    struct world w = start(&schedule, now, wait_s);
    weir_cron_unref(cron);
    return w;
}

static void check_run(struct world *w, const char *now, const char *planned, uint64_t skipped)
{
    struct weiri_turn turn = weiri_plan_begin(&w->plan, &w->state, at(w, now));
    CHECK(turn.run);
    CHECK_INT(turn.due_ns, ==, cron_time(planned));
    CHECK_INT(turn.skipped, ==, skipped);
}

static void check_no_run(struct world *w, const char *now, int64_t wait_s, uint64_t skipped)
{
    struct weiri_moment moment = at(w, now);
    struct weiri_turn turn = weiri_plan_begin(&w->plan, &w->state, moment);
    CHECK(!turn.run);
    CHECK_INT(seconds_between(moment.clock_ns, turn.wake_ns), ==, wait_s);
    CHECK_INT(turn.skipped, ==, skipped);
}

static void check_end(struct world *w, const char *now, int64_t wait_s, uint64_t skipped)
{
    struct weiri_moment moment = at(w, now);
    struct weiri_turn turn = weiri_plan_end(&w->plan, &w->state, moment);
    CHECK_INT(seconds_between(moment.clock_ns, turn.wake_ns), ==, wait_s);
    CHECK_INT(turn.skipped, ==, skipped);
}

TEST(waits_by_the_minute, "a firing is waited for in steps of a minute, and begun in time")
{
    struct world w = start_text("30 2 * * *", "2024-05-01 02:27:50", 60);
    check_no_run(&w, "2024-05-01 02:28:50", 60, 0);
    check_no_run(&w, "2024-05-01 02:29:50", 10, 0);
    check_run(&w, "2024-05-01 02:30", "2024-05-01 02:30", 0);
    check_end(&w, "2024-05-01 02:31", 60, 0);
    weiri_plan_fini(&w.plan);
}

TEST(first, "the first run is when the expression says, unless it is asked for before")
{
    weir_cron *cron = cron_new("0 * * * *");
    struct weir_schedule schedule = schedule_of(cron);
    struct world w = start(&schedule, "2024-05-01 10:59:30", 30);
    weiri_plan_fini(&w.plan);
    schedule.first = WEIR_FIRST_INTERVAL;
    w = start(&schedule, "2024-05-01 10:59:30", 30);
    weiri_plan_fini(&w.plan);
    schedule.first = WEIR_FIRST_NOW;
    w = start(&schedule, "2024-05-01 10:59:30", 0);
    check_run(&w, "2024-05-01 10:59:30", "2024-05-01 10:59:30", 0);
    check_end(&w, "2024-05-01 10:59:50", 10, 0);
    check_run(&w, "2024-05-01 11:00", "2024-05-01 11:00", 0);
    weiri_plan_fini(&w.plan);
    schedule.first = WEIR_FIRST_AT;
    schedule.first_at_ns = cron_time("2024-05-01 12:00");
    w = start(&schedule, "2024-05-01 10:59:30", 60);
    check_no_run(&w, "2024-05-01 11:59:50", 10, 0);
    check_run(&w, "2024-05-01 12:00", "2024-05-01 12:00", 0);
    weiri_plan_fini(&w.plan);
    w = start(&schedule, "2024-05-01 13:00", 0); /* that has passed, 13:00 has not */
    weiri_plan_fini(&w.plan);
    w = start(&schedule, "2024-05-01 13:59:59", 1);
    weiri_plan_fini(&w.plan);
    weir_cron_unref(cron);
}

TEST(missed_skip, "what was missed by more than a minute waits for its next time")
{
    struct world w = start_text("30 2 * * *", "2024-05-01 00:00", 60);
    check_run(&w, "2024-05-01 02:31", "2024-05-01 02:30", 0);
    check_end(&w, "2024-05-01 02:31", 60, 0);
    check_no_run(&w, "2024-05-04 02:31:01", 60, 3);
    check_run(&w, "2024-05-05 02:30", "2024-05-05 02:30", 0);
    weiri_plan_fini(&w.plan);
}

TEST(missed_once, "or is run once, as the latest")
{
    weir_cron *cron = cron_new("30 2,14 * * *");
    struct weir_schedule schedule = schedule_of(cron);
    schedule.missed = WEIR_FIRING_ONCE;
    struct world w = start(&schedule, "2024-05-01 00:00", 60);
    check_run(&w, "2024-05-03 12:00", "2024-05-03 02:30", 4);
    check_end(&w, "2024-05-03 14:29:59", 1, 0);
    weiri_plan_fini(&w.plan);
    weir_cron_unref(cron);
}

TEST(missed_all, "or one by one, the latest so many")
{
    weir_cron *cron = cron_new("30 2,14 * * *");
    struct weir_schedule schedule = schedule_of(cron);
    schedule.missed = WEIR_FIRING_ALL;
    schedule.catch_up_max = 3;
    struct world w = start(&schedule, "2024-05-01 00:00", 60);
    check_run(&w, "2024-05-03 12:00", "2024-05-02 02:30", 2);
    check_end(&w, "2024-05-03 12:00", 0, 0);
    check_run(&w, "2024-05-03 12:00", "2024-05-02 14:30", 0);
    check_end(&w, "2024-05-03 12:00", 0, 0);
    check_run(&w, "2024-05-03 12:00", "2024-05-03 02:30", 0);
    check_end(&w, "2024-05-03 14:29:59", 1, 0);
    weiri_plan_fini(&w.plan);
    weir_cron_unref(cron);
}

TEST(overlap, "firings during a run are dealt with as those of a fixed rate")
{
    weir_cron *cron = cron_new("*/10 * * * *");
    struct weir_schedule schedule = schedule_of(cron);
    struct world w = start(&schedule, "2024-05-01 00:09:59", 1);
    check_run(&w, "2024-05-01 00:10", "2024-05-01 00:10", 0);
    check_end(&w, "2024-05-01 00:39:50", 10, 2);
    weiri_plan_fini(&w.plan);
    schedule.overlap = WEIR_FIRING_ONCE;
    w = start(&schedule, "2024-05-01 00:09:59", 1);
    check_run(&w, "2024-05-01 00:10", "2024-05-01 00:10", 0);
    check_end(&w, "2024-05-01 00:35", 0, 1);
    check_run(&w, "2024-05-01 00:35", "2024-05-01 00:30", 0);
    weiri_plan_fini(&w.plan);
    schedule.overlap = WEIR_FIRING_ALL;
    w = start(&schedule, "2024-05-01 00:09:59", 1);
    check_run(&w, "2024-05-01 00:10", "2024-05-01 00:10", 0);
    check_end(&w, "2024-05-01 00:35", 0, 0);
    check_run(&w, "2024-05-01 00:35", "2024-05-01 00:20", 0);
    check_end(&w, "2024-05-01 00:35", 0, 0);
    check_run(&w, "2024-05-01 00:35", "2024-05-01 00:30", 0);
    check_end(&w, "2024-05-01 00:39", 60, 0);
    weiri_plan_fini(&w.plan);
    weir_cron_unref(cron);
}

TEST(years_missed, "years of firings each second cost no walk through them")
{
    weir_cron *cron = cron_new("* * * * * *");
    struct weir_schedule schedule = schedule_of(cron);
    schedule.missed = WEIR_FIRING_ALL;
    schedule.catch_up_max = WEIR_CATCH_UP_LIMIT;
    struct world w = start(&schedule, "2024-05-01 00:00", 1);
    /* The count ends at ten thousand; none of these is skipped. */
    check_run(&w, "2099-05-01 02:46:39", "2099-05-01 00:00", 0);
    check_end(&w, "2099-05-01 02:46:39", 0, 0);
    check_run(&w, "2099-05-01 02:46:39", "2099-05-01 00:00:01", 0);
    weiri_plan_fini(&w.plan);
    schedule.missed = WEIR_FIRING_SKIP;
    w = start(&schedule, "2024-05-01 00:00", 1);
    check_run(&w, "2099-05-01 00:00", "2099-05-01 00:00", WEIR_CATCH_UP_LIMIT - 1);
    weiri_plan_fini(&w.plan);
    weir_cron_unref(cron);
}

TEST(set_forward, "a wall clock that is set forward is noticed within a minute")
{
    struct world w = start_text("30 2 * * *", "2024-05-01 00:00", 60);
    w.apart_ns += cron_time("2024-05-01 02:30") - cron_time("2024-05-01 00:01");
    check_run(&w, "2024-05-01 02:30", "2024-05-01 02:30", 0);
    weiri_plan_fini(&w.plan);
}

TEST(set_back, "set back by up to three hours nothing is run twice, further back it begins anew")
{
    struct world w = start_text("30 * * * *", "2024-05-01 09:29:59", 1);
    check_run(&w, "2024-05-01 09:30", "2024-05-01 09:30", 0);
    check_end(&w, "2024-05-01 09:31", 60, 0);
    w.apart_ns -= WEIR_SECONDS(10800);
    check_no_run(&w, "2024-05-01 06:31", 60, 0);
    check_no_run(&w, "2024-05-01 07:30", 60, 0);
    check_no_run(&w, "2024-05-01 10:29:58", 2, 0);
    check_run(&w, "2024-05-01 10:30", "2024-05-01 10:30", 0);
    w.apart_ns -= WEIR_SECONDS(10801);
    check_end(&w, "2024-05-01 07:29:59", 1, 0);
    check_run(&w, "2024-05-01 07:30", "2024-05-01 07:30", 0);
    weiri_plan_fini(&w.plan);
}

TEST(set_back_owed, "firings that are owed are forgotten where the clock is set far back")
{
    weir_cron *cron = cron_new("0 * * * *");
    struct weir_schedule schedule = schedule_of(cron);
    schedule.missed = WEIR_FIRING_ALL;
    struct world w = start(&schedule, "2024-05-02 00:00", 60);
    check_run(&w, "2024-05-02 09:10", "2024-05-02 01:00", 0);
    w.apart_ns -= WEIR_SECONDS(86400);
    check_end(&w, "2024-05-01 09:10", 60, 0);
    check_no_run(&w, "2024-05-01 09:59", 60, 0);
    check_run(&w, "2024-05-01 10:00", "2024-05-01 10:00", 0);
    weiri_plan_fini(&w.plan);
    weir_cron_unref(cron);
}

TEST(last_time, "behind the last firing there is none")
{
    struct world w = start_text("0 0 1 1 *", "2261-12-31 23:59:59", 1);
    check_run(&w, "2262-01-01 00:00", "2262-01-01 00:00", 0);
    struct weiri_turn turn = weiri_plan_end(&w.plan, &w.state, at(&w, "2262-01-01 00:00"));
    CHECK_INT(turn.wake_ns, ==, WEIR_FOREVER);
    turn = weiri_plan_begin(&w.plan, &w.state, (struct weiri_moment){WEIR_FOREVER, WEIR_FOREVER});
    CHECK(!turn.run);
    CHECK_INT(turn.wake_ns, ==, WEIR_FOREVER);
    weiri_plan_fini(&w.plan);
}

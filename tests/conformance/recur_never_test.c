/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/cron.h>
#include <weir/lifecycle.h>

#include "pool/script.h"

/* Schedules whose next firing never comes: it is at WEIR_FOREVER. The envelope waits until it is
 * sent. */

static void start_with(struct script *script, const struct weir_schedule *schedule,
                       int64_t interval_ns)
{
    struct weir_envelope_options options = script_envelope(script, interval_ns);
    options.deadline_ns = 0;
    options.schedule = schedule;
    script_init(script);
    script_start(script, &options, NULL);
    script_pass_by(script);
}

static void step_to_end(struct script *script)
{
    int64_t left_ns = WEIR_FOREVER - weir_clock_now(script->clock);
    CHECK_STATUS(weir_clock_advance(script->clock, left_ns), WEIR_OK);
    script_pass_by(script);
}

/* The envelope has been run so often, is in flight, and keeps nobody waiting. */
static void check_waits(struct script *script, int runs)
{
    CHECK_STATUS(weir_pool_wait_idle(script->pool, WEIR_FOREVER), WEIR_OK);
    struct weir_pool_counts counts = counts_of(script->pool);
    CHECK_INT(counts.runs, ==, runs + script->others);
    CHECK_INT(counts.in_flight, ==, 1);
    CHECK_INT(counts.waiting, ==, 1);
    CHECK_INT(counts.queued + counts.running, ==, 0);
}

/* Runs the envelope by a send, which moves no firing: it waits again. */
static void run_by_send(struct script *script, int run)
{
    CHECK_STATUS(weir_pool_send(script->pool, script->envelope), WEIR_OK);
    script_wait(script, run);
    CHECK_INT(script->due_ns, ==, 0);
    check_waits(script, run);
}

static void check_never(const struct weir_schedule *schedule, int64_t interval_ns)
{
    struct script script;
    start_with(&script, schedule, interval_ns);
    check_waits(&script, 0);
    run_by_send(&script, 1);
    run_by_send(&script, 2);
    step_to_end(&script);
    check_waits(&script, 2);
    run_by_send(&script, 3);
    script_end(&script, 3, 1);
    CHECK_INT(script.ended.reason, ==, WEIR_ENDED_DRAINED);
    script_fini(&script);
}

TEST(first, "a first firing that never comes: the envelope waits, and is run when it is sent")
{
    struct weir_schedule schedule = {0};
    for (uint32_t kind = WEIR_SCHEDULE_DELAY; kind <= WEIR_SCHEDULE_RATE; kind++) {
        schedule = (struct weir_schedule){0};
        schedule.kind = kind;
        schedule.first = WEIR_FIRST_INTERVAL;
        check_never(&schedule, WEIR_FOREVER);
        schedule.first = WEIR_FIRST_AT;
        schedule.first_at_ns = WEIR_FOREVER;
        check_never(&schedule, WEIR_SECONDS(10));
        check_never(&schedule, WEIR_FOREVER);
    }
    struct weir_cron_options options = {0};
    options.zone = "UTC";
    schedule.kind = WEIR_SCHEDULE_CRON;
    CHECK_STATUS(weir_cron_new("0 * * * *", &options, &schedule.cron, NULL), WEIR_OK);
    check_never(&schedule, 0);
    weir_cron_unref(schedule.cron);
}

TEST(last, "the run for the last firing ends it")
{
    for (uint32_t kind = WEIR_SCHEDULE_DELAY; kind <= WEIR_SCHEDULE_RATE; kind++) {
        struct script script;
        struct weir_schedule schedule = {0};
        schedule.kind = kind;
        start_with(&script, &schedule, WEIR_FOREVER);
        script_wait(&script, 1);
        CHECK_INT(script.due_ns, ==, WEIR_SECONDS(1000));
        CHECK_STATUS(weir_pool_wait_idle(script.pool, WEIR_FOREVER), WEIR_OK);
        CHECK_INT(script.ended.reason, ==, WEIR_ENDED_DONE);
        script_end(&script, 1, 0);
        script_fini(&script);
    }
}

/* The firing at 10 seconds from the end of time is too late when the envelope is taken up. */
TEST(skipped, "so it is where the last firing is skipped")
{
    struct script script;
    struct weir_schedule schedule = {0};
    schedule.kind = WEIR_SCHEDULE_RATE;
    schedule.first = WEIR_FIRST_AT;
    schedule.first_at_ns = WEIR_FOREVER - WEIR_SECONDS(10);
    schedule.tolerance_ns = WEIR_SECONDS(1);
    start_with(&script, &schedule, WEIR_SECONDS(3600));
    step_to_end(&script);
    check_waits(&script, 0);
    CHECK_INT(counts_of(script.pool).skipped, ==, 1);
    run_by_send(&script, 1);
    run_by_send(&script, 2);
    script_end(&script, 2, 1);
    script_fini(&script);
}

TEST(sent_later, "a send for later is run at its time; one for never is none")
{
    struct script script;
    struct weir_schedule schedule = {0};
    schedule.first = WEIR_FIRST_AT;
    schedule.first_at_ns = WEIR_FOREVER;
    start_with(&script, &schedule, WEIR_SECONDS(10));
    CHECK_STATUS(weir_pool_send_after(script.pool, script.envelope, WEIR_FOREVER), WEIR_OK);
    check_waits(&script, 0);
    CHECK_STATUS(weir_pool_send_after(script.pool, script.envelope, 5), WEIR_OK);
    CHECK_STATUS(weir_pool_wait_idle(script.pool, 0), WEIR_ETIMEDOUT);
    CHECK_STATUS(weir_clock_advance(script.clock, 5), WEIR_OK);
    script_wait(&script, 1);
    check_waits(&script, 1);
    script_end(&script, 1, 1);
    script_fini(&script);
}

TEST(stopped, "WEIR_ESTOP and a cancellation end it; a pool that is freed gives it back")
{
    static const int64_t interval_ns = WEIR_FOREVER;
    struct script script;
    struct weir_schedule schedule = {0};
    schedule.first = WEIR_FIRST_INTERVAL;
    start_with(&script, &schedule, interval_ns);
    script.statuses[0] = WEIR_ESTOP;
    CHECK_STATUS(weir_pool_send(script.pool, script.envelope), WEIR_OK);
    script_wait(&script, 1);
    CHECK_STATUS(weir_pool_wait_idle(script.pool, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(counts_of(script.pool).in_flight, ==, 0);
    CHECK_INT(script.ended.reason, ==, WEIR_ENDED_DONE);

    CHECK_STATUS(weir_pool_send(script.pool, script.envelope), WEIR_OK);
    script_pass_by(&script);
    uint32_t found = 0;
    CHECK_STATUS(weir_pool_cancel(script.pool, script.envelope, 0, &found), WEIR_OK);
    CHECK_INT(found, ==, WEIR_CANCELED_PENDING);
    CHECK_INT(counts_of(script.pool).in_flight, ==, 0);

    CHECK_STATUS(weir_pool_send(script.pool, script.envelope), WEIR_OK);
    script_pass_by(&script);
    weir_envelope_unref(script.envelope);
    weir_pool_free(script.pool);
    script.pool = NULL;
    CHECK_INT(counter_value(&script.released), ==, 1);
    script_fini(&script);
}

TEST(drained, "a drain that takes it up ends it")
{
    struct script script;
    struct weir_schedule schedule = {0};
    schedule.first = WEIR_FIRST_INTERVAL;
    start_with(&script, &schedule, WEIR_FOREVER);
    CHECK_STATUS(weir_pool_cancel(script.pool, script.envelope, 0, NULL), WEIR_OK);
    CHECK_STATUS(weir_pool_pause(script.pool, 0), WEIR_OK);
    CHECK_STATUS(weir_pool_send(script.pool, script.envelope), WEIR_OK);
    script_end(&script, 0, 2);
    CHECK_INT(script.ended.reason, ==, WEIR_ENDED_DRAINED);
    script_fini(&script);
}

TEST(end_of_time, "on a clock that shows WEIR_FOREVER what has passed is run, and no more comes")
{
    struct script script;
    struct weir_schedule schedule = {0};
    schedule.kind = WEIR_SCHEDULE_RATE;
    schedule.missed = WEIR_FIRING_ALL;
    schedule.catch_up_max = 3;
    start_with(&script, &schedule, WEIR_SECONDS(10));
    script_wait(&script, 1);
    step_to_end(&script);
    script_wait(&script, 4);
    CHECK_STATUS(weir_pool_wait_idle(script.pool, WEIR_FOREVER), WEIR_OK);
    CHECK_INT(script.ended.reason, ==, WEIR_ENDED_DONE);

    /* A schedule that begins then fires now, if at all. */
    CHECK_STATUS(weir_pool_send(script.pool, script.envelope), WEIR_OK);
    script_wait(&script, 5);
    CHECK_INT(script.due_ns, ==, WEIR_FOREVER - 1);
    script_end(&script, 5, 0);
    script_fini(&script);

    schedule.first = WEIR_FIRST_INTERVAL;
    start_with(&script, &schedule, WEIR_SECONDS(10));
    CHECK_STATUS(weir_pool_cancel(script.pool, script.envelope, 0, NULL), WEIR_OK);
    step_to_end(&script);
    CHECK_STATUS(weir_pool_send(script.pool, script.envelope), WEIR_OK);
    script_pass_by(&script);
    CHECK_INT(counts_of(script.pool).waiting, ==, 1);
    run_by_send(&script, 1);
    script_end(&script, 1, 2);
    script_fini(&script);
}

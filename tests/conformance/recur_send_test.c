/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/cron.h>
#include <weir/lifecycle.h>

#include "pool/script.h"

/* Sends of periodic envelopes that meet their schedules: those that are refused, that are for
 * later, that come when the schedule ends. */

#define START WEIR_SECONDS(1000) /* of script_init()'s clock: 00:16:40 on 1 January 1970 */
#define INTERVAL WEIR_SECONDS(10)

static void start_with(struct script *script, weir_invoke_fn *invoke, int64_t interval_ns,
                       const struct weir_schedule *schedule)
{
    struct weir_envelope_options options = script_envelope(script, interval_ns);
    options.invoke = invoke;
    options.before = NULL;
    options.after = NULL;
    options.success = NULL;
    options.deadline_ns = 0;
    options.schedule = schedule;
    script_start(script, &options, NULL);
}

/* It fires at a time of the day, and looks at the clock once a minute until then. */
static void start_daily(struct script *script, const char *text)
{
    struct weir_cron_options options = {0};
    struct weir_schedule schedule = {0};
    options.allocator = *test_allocator();
    options.zone = "UTC";
    schedule.kind = WEIR_SCHEDULE_CRON;
    CHECK_STATUS(weir_cron_new(text, &options, &schedule.cron, NULL), WEIR_OK);
    script_init(script);
    start_with(script, script_invoke, 0, &schedule);
    weir_cron_unref(schedule.cron);
    script_pass_by(script); /* it has been looked at, and waits */
}

/* Steps to that many seconds after the start, minute by minute, and looks what has run by then. */
static void expect_by(struct script *script, int64_t seconds, int runs)
{
    for (int64_t left_ns = 1; left_ns > 0;) {
        left_ns = START + WEIR_SECONDS(seconds) - weir_clock_now(script->clock);
        int64_t step_ns = left_ns < WEIR_SECONDS(60) ? left_ns : WEIR_SECONDS(60);
        CHECK_STATUS(weir_clock_advance(script->clock, step_ns), WEIR_OK);
        script_pass_by(script);
    }
    script_wait(script, runs);
    CHECK_INT(counter_value(&script->ends), ==, runs);
}

TEST(refused_elsewhere, "a send to a pool that refuses it is no send: nothing is run for it")
{
    struct script script;
    start_daily(&script, "0 12 * * *");
    weir_pool *other = pool_with(1, 0, script.clock);
    CHECK_STATUS(weir_pool_send(other, script.envelope), WEIR_EBUSY);
    CHECK_STATUS(weir_pool_send_all(other, &script.envelope, 1), WEIR_EBUSY);
    expect_by(&script, 130, 0);
    weir_pool_free(other);
    script_end(&script, 0, 1);
    script_fini(&script);
}

TEST(refused_stopped, "nor is one to a pool that has stopped, which keeps the envelope")
{
    struct script script;
    start_daily(&script, "0 12 * * *");
    CHECK_STATUS(weir_pool_end(script.pool, WEIR_END_STOP, WEIR_END_KEEP, WEIR_FOREVER), WEIR_OK);
    CHECK_STATUS(weir_pool_send(script.pool, script.envelope), WEIR_ESHUTDOWN);
    CHECK_STATUS(weir_pool_send_all(script.pool, &script.envelope, 1), WEIR_ESHUTDOWN);
    CHECK_STATUS(weir_pool_send_after(script.pool, script.envelope, 1), WEIR_ESHUTDOWN);
    CHECK_STATUS(weir_pool_start(script.pool), WEIR_OK);
    expect_by(&script, 130, 0);
    script_end(&script, 0, 1);
    script_fini(&script);
}

TEST(once, "a send is run once: the look at the clock that was to come before it is none")
{
    struct script script;
    start_daily(&script, "0 12 * * *");
    expect_by(&script, 30, 0);
    CHECK_STATUS(weir_pool_send(script.pool, script.envelope), WEIR_OK);
    expect_by(&script, 30, 1);
    expect_by(&script, 60, 1);
    expect_by(&script, 130, 1);
    script_end(&script, 1, 1);
    script_fini(&script);
}

TEST(later, "a send for later than the next look at the clock is run at its time, and not before")
{
    struct script script;
    start_daily(&script, "0 12 * * *");
    CHECK_STATUS(weir_pool_send_after(script.pool, script.envelope, WEIR_SECONDS(400)), WEIR_OK);
    CHECK_STATUS(weir_pool_send_after(script.pool, script.envelope, WEIR_SECONDS(200)), WEIR_OK);
    expect_by(&script, 199, 0);
    expect_by(&script, 200, 1);
    CHECK_INT(script.due_ns, ==, 0);
    expect_by(&script, 500, 1); /* of two times the earlier was kept */
    script_end(&script, 1, 1);
    script_fini(&script);
}

TEST(later_and_now, "one at once meanwhile is a run of its own")
{
    struct script script;
    start_daily(&script, "0 12 * * *");
    CHECK_STATUS(weir_pool_send_after(script.pool, script.envelope, WEIR_SECONDS(200)), WEIR_OK);
    expect_by(&script, 70, 0);
    CHECK_STATUS(weir_pool_send(script.pool, script.envelope), WEIR_OK);
    expect_by(&script, 70, 1);
    expect_by(&script, 199, 1);
    expect_by(&script, 200, 2);
    script_end(&script, 2, 1);
    script_fini(&script);
}

TEST(later_than_firing, "a firing before it is the earlier of the two times, and the only run")
{
    struct script script;
    start_daily(&script, "19 0 * * *"); /* 140 seconds after the start */
    CHECK_STATUS(weir_pool_send_after(script.pool, script.envelope, WEIR_SECONDS(200)), WEIR_OK);
    expect_by(&script, 139, 0);
    expect_by(&script, 140, 1);
    CHECK_INT(script.due_ns, ==, START + WEIR_SECONDS(140));
    expect_by(&script, 300, 1);
    script_end(&script, 1, 1);
    script_fini(&script);
}

/* Begins a run that goes on until the counter is let go. */
static int held(weir_context *context, void *payload)
{
    struct script *script = payload;
    int status = script_invoke(context, payload);
    counter_wait(&script->let_go, script->runs);
    return status;
}

/* A task that has the only worker until it is let go. */
struct busy {
    struct counter begun;
    struct counter let_go;
};

static int wait_for(weir_context *context, void *payload)
{
    struct busy *busy = payload;
    (void)context;
    counter_add(&busy->begun, 1);
    counter_wait(&busy->let_go, 1);
    return WEIR_OK;
}

static weir_envelope *begin_busy(struct script *script, struct busy *busy)
{
    struct weir_envelope_options options = {0};
    options.allocator = *test_allocator();
    options.payload = busy;
    options.invoke = wait_for;
    counter_init(&busy->begun);
    counter_init(&busy->let_go);
    weir_envelope *envelope = NULL;
    CHECK_STATUS(weir_envelope_new(&options, &envelope, NULL), WEIR_OK);
    CHECK_STATUS(weir_pool_send(script->pool, envelope), WEIR_OK);
    counter_wait(&busy->begun, 1);
    return envelope;
}

static void start_held(struct script *script, uint32_t first, int status)
{
    struct weir_schedule schedule = {0};
    schedule.kind = WEIR_SCHEDULE_RATE;
    schedule.first = first;
    schedule.tolerance_ns = WEIR_SECONDS(2);
    script_init(script);
    script->statuses[0] = status;
    start_with(script, held, INTERVAL, &schedule);
}

TEST(anew_after_cancel, "one that is sent after its run was cancelled begins its schedule anew")
{
    struct script script;
    start_held(&script, WEIR_FIRST_INTERVAL, WEIR_OK);
    script_pass_by(&script);
    CHECK_STATUS(weir_clock_advance(script.clock, INTERVAL), WEIR_OK);
    counter_wait(&script.begun, 1);
    CHECK_STATUS(weir_pool_cancel(script.pool, script.envelope, 0, NULL), WEIR_OK);
    CHECK_STATUS(weir_clock_advance(script.clock, WEIR_SECONDS(7)), WEIR_OK);
    CHECK_STATUS(weir_pool_send(script.pool, script.envelope), WEIR_OK);
    counter_add(&script.let_go, SCRIPT_RUNS);
    script_wait(&script, 1);
    script_pass_by(&script); /* the run is over, and it is queued by now, */
    script_pass_by(&script); /* and was looked at */
    CHECK_INT(script.tellings, ==, 0);
    expect_by(&script, 26, 1);
    expect_by(&script, 27, 2);
    CHECK_INT(script.due_ns, ==, START + WEIR_SECONDS(27));
    script_end(&script, 2, 2); /* the schedule that was cancelled, too */
    script_fini(&script);
}

TEST(joined, "a send that finds it queued for a firing which is then given up is run all the same")
{
    struct script script;
    struct busy busy;
    start_held(&script, WEIR_FIRST_USUAL, WEIR_OK);
    counter_add(&script.let_go, SCRIPT_RUNS);
    script_wait(&script, 1);
    script_pass_by(&script);
    weir_envelope *other = begin_busy(&script, &busy);
    CHECK_STATUS(weir_clock_advance(script.clock, 2 * INTERVAL - WEIR_SECONDS(1)), WEIR_OK);
    CHECK_INT(counts_of(script.pool).queued, ==, 1);
    CHECK_STATUS(weir_pool_send(script.pool, script.envelope), WEIR_OK);
    counter_add(&busy.let_go, 1);
    script_wait(&script, 2);
    CHECK_INT(script.due_ns, ==, 0);
    CHECK_INT(counts_of(script.pool).skipped, ==, 1);
    script.others++;
    script_end(&script, 2, 1);
    script_fini(&script);
    weir_envelope_unref(other);
    counter_fini(&busy.begun);
    counter_fini(&busy.let_go);
}

/* It is sent during a run which then says that it was the last. */
static void send_to_last(struct script *script, int64_t delay_ns)
{
    start_held(script, WEIR_FIRST_USUAL, WEIR_ESTOP);
    counter_wait(&script->begun, 1);
    CHECK_STATUS(weir_clock_advance(script->clock, WEIR_SECONDS(3)), WEIR_OK);
    CHECK_STATUS(weir_pool_send_after(script->pool, script->envelope, delay_ns), WEIR_OK);
    counter_add(&script->let_go, SCRIPT_RUNS);
    script_wait(script, 1);
}

TEST(anew_after_stop, "a send during a run that ends the schedule begins it anew")
{
    struct script script;
    send_to_last(&script, 0);
    script_wait(&script, 2);
    CHECK_INT(script.due_ns, ==, START + WEIR_SECONDS(3));
    expect_by(&script, 13, 3);
    CHECK_INT(counts_of(script.pool).dropped, ==, 0);
    script_end(&script, 3, 1);
    script_fini(&script);
}

TEST(later_after_stop, "so does one for later, at its time")
{
    struct script script;
    send_to_last(&script, WEIR_SECONDS(4));
    script_pass_by(&script);
    CHECK_INT(counts_of(script.pool).waiting, ==, 1);
    expect_by(&script, 6, 1);
    expect_by(&script, 7, 2);
    CHECK_INT(script.due_ns, ==, START + WEIR_SECONDS(7));
    script_end(&script, 2, 1);
    script_fini(&script);
}

static int send_when_told(weir_context *context, void *payload)
{
    struct script *script = payload;
    if (script->runs == 0 && script->hook_ns > 0) {
        CHECK_STATUS(weir_pool_send_after(script->pool, script->envelope, script->hook_ns),
                     WEIR_OK);
    }
    return script_invoke(context, payload);
}

TEST(stop_and_earlier_send,
     "WEIR_ESTOP takes away what was sent for later before the run, and not what was sent in it")
{
    for (int is_inside = 0; is_inside < 2; is_inside++) {
        struct script script;
        script_init(&script);
        script.statuses[is_inside == 0] = WEIR_ESTOP;
        script.hook_ns = is_inside != 0 ? WEIR_SECONDS(5) : 0;
        start_with(&script, send_when_told, INTERVAL, NULL);
        script_wait(&script, 1);
        if (is_inside == 0) {
            CHECK_STATUS(weir_pool_send_after(script.pool, script.envelope, WEIR_SECONDS(5)),
                         WEIR_OK);
            CHECK_STATUS(weir_pool_send(script.pool, script.envelope), WEIR_OK);
            script_wait(&script, 2);
            script_pass_by(&script);
            CHECK_INT(counts_of(script.pool).in_flight, ==, 0);
        }
        CHECK_STATUS(weir_clock_advance(script.clock, WEIR_SECONDS(5)), WEIR_OK);
        script_pass_by(&script);
        script_wait(&script, 2);
        CHECK_INT(counter_value(&script.ends), ==, 2);
        CHECK_INT(counts_of(script.pool).in_flight, ==, is_inside);
        script_end(&script, 2, 1);
        script_fini(&script);
    }
}

TEST(due_after_send, "after a run for a send the firing says its time, with a fixed delay too")
{
    struct script script;
    script_init(&script);
    start_with(&script, script_invoke, INTERVAL, NULL);
    script_wait(&script, 1);
    CHECK_STATUS(weir_clock_advance(script.clock, WEIR_SECONDS(4)), WEIR_OK);
    CHECK_STATUS(weir_pool_send(script.pool, script.envelope), WEIR_OK);
    script_wait(&script, 2);
    CHECK_INT(script.due_ns, ==, 0);
    CHECK_STATUS(weir_clock_advance(script.clock, WEIR_SECONDS(6)), WEIR_OK);
    script_wait(&script, 3);
    CHECK_INT(script.due_ns, ==, START + INTERVAL);
    script_end(&script, 3, 1);
    script_fini(&script);
}

TEST(end_of_time, "at the end of time a periodic envelope has no next firing, and ends")
{
    struct script script;
    script_init(&script);
    start_with(&script, script_invoke, INTERVAL, NULL);
    script_wait(&script, 1);
    CHECK_STATUS(weir_clock_advance(script.clock, INT64_MAX - weir_clock_now(script.clock)),
                 WEIR_OK);
    script_wait(&script, 2);
    script_pass_by(&script); /* the worker comes to something else, and sleeps */
    CHECK_INT(counter_value(&script.ends), ==, 2);
    CHECK_INT(counts_of(script.pool).in_flight, ==, 0);
    CHECK_INT(script.ended.reason, ==, WEIR_ENDED_DONE);
    script_end(&script, 2, 0);
    script_fini(&script);
}

TEST(looks, "a cron envelope that only waits is not displaced, and counts as nothing")
{
    struct script script;
    start_daily(&script, "0 12 * * *");
    struct weir_pool_counts before = counts_of(script.pool);
    for (int minute = 0; minute < 60; minute++) {
        CHECK_STATUS(weir_clock_advance(script.clock, WEIR_SECONDS(60)), WEIR_OK);
        struct weir_pool_counts counts = counts_of(script.pool);
        CHECK_INT(counts.queued, ==, 0);
        CHECK_INT(counts.running, ==, 0);
        CHECK_INT(counts.waiting, ==, 1);
    }
    CHECK_INT(counts_of(script.pool).runs, ==, before.runs);
    script_end(&script, 0, 1);
    script_fini(&script);
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/script.h"

/* Periodic envelopes in a pool: when they run, with each kind of schedule and policy. What the
 * planner decides is tested with it (cron.plan); here it is that the pool does so. */

#define START WEIR_SECONDS(1000) /* of script_init()'s clock */
#define INTERVAL WEIR_SECONDS(10)

static struct weir_schedule rate(uint32_t missed, uint32_t overlap)
{
    struct weir_schedule schedule = {0};
    schedule.kind = WEIR_SCHEDULE_RATE;
    schedule.missed = missed;
    schedule.overlap = overlap;
    return schedule;
}

static void start_with(struct script *script, const struct weir_schedule *schedule)
{
    struct weir_envelope_options options = script_envelope(script, INTERVAL);
    options.before = NULL;
    options.after = NULL;
    options.success = NULL;
    options.deadline_ns = 0;
    options.schedule = schedule;
    script_start(script, &options, NULL);
}

/* Steps the clock to that many seconds after the start. */
static void step_to(struct script *script, int64_t seconds)
{
    int64_t time_ns = START + WEIR_SECONDS(seconds);
    int64_t now_ns = weir_clock_now(script->clock);
    CHECK_INT(time_ns, >=, now_ns);
    CHECK_STATUS(weir_clock_advance(script->clock, time_ns - now_ns), WEIR_OK);
}

/* The run of this number has ended and was due then. */
static void expect_run(struct script *script, int run, int64_t due_seconds)
{
    script_wait(script, run);
    CHECK_INT(script->due_ns, ==, START + WEIR_SECONDS(due_seconds));
}

/* Nothing runs up to a nanosecond before this time, at which the run does. */
static void expect_run_at(struct script *script, int run, int64_t seconds)
{
    int64_t now_ns = weir_clock_now(script->clock);
    CHECK_STATUS(weir_clock_advance(script->clock, START + WEIR_SECONDS(seconds) - 1 - now_ns),
                 WEIR_OK);
    struct weir_pool_counts counts = counts_of(script->pool);
    CHECK_INT(counts.runs, ==, run - 1 + script->others);
    CHECK_INT(counts.waiting, ==, 1);
    step_to(script, seconds);
    expect_run(script, run, seconds);
}

TEST(delay, "fixed delay: each run is due an interval after the end of the one before")
{
    struct script script;
    script_init(&script);
    struct weir_schedule schedule = {0};
    script.invoke_ns = WEIR_SECONDS(3);
    start_with(&script, &schedule);
    expect_run(&script, 1, 0);
    expect_run_at(&script, 2, 13);
    expect_run_at(&script, 3, 26);
    script_end(&script, 3, 1);
    CHECK_INT(counts_of(script.pool).skipped, ==, 0);
    script_fini(&script);
}

TEST(rate, "fixed rate: each run is due an interval after the one before was, however long it took "
           "(R18)")
{
    struct script script;
    script_init(&script);
    struct weir_schedule schedule = rate(WEIR_FIRING_SKIP, WEIR_FIRING_SKIP);
    script.invoke_ns = WEIR_SECONDS(3);
    start_with(&script, &schedule);
    expect_run(&script, 1, 0);
    expect_run_at(&script, 2, 10);
    expect_run_at(&script, 3, 20);
    script_end(&script, 3, 1);
    CHECK_INT(counts_of(script.pool).skipped, ==, 0);
    script_fini(&script);
}

TEST(overlap_skip, "firings during a run are skipped and counted, and the rate is kept")
{
    struct script script;
    script_init(&script);
    struct weir_schedule schedule = rate(WEIR_FIRING_SKIP, WEIR_FIRING_SKIP);
    script.invoke_ns = WEIR_SECONDS(25);
    start_with(&script, &schedule);
    expect_run(&script, 1, 0);
    CHECK_INT(counts_of(script.pool).skipped, ==, 2);
    expect_run_at(&script, 2, 30);
    script_end(&script, 2, 1);
    CHECK_INT(counts_of(script.pool).skipped, ==, 4);
    script_fini(&script);
}

static int slow_once(weir_context *context, void *payload)
{
    struct script *script = payload;
    int status = script_invoke(context, payload);
    script->invoke_ns = 0;
    return status;
}

static void start_slow_once(struct script *script, const struct weir_schedule *schedule)
{
    script_init(script);
    script->invoke_ns = WEIR_SECONDS(35);
    struct weir_envelope_options options = script_envelope(script, INTERVAL);
    options.invoke = slow_once;
    options.deadline_ns = 0;
    options.schedule = schedule;
    script_start(script, &options, NULL);
}

TEST(overlap_once, "one run for all firings during a run, at once")
{
    struct script script;
    struct weir_schedule schedule = rate(WEIR_FIRING_SKIP, WEIR_FIRING_ONCE);
    start_slow_once(&script, &schedule);
    expect_run(&script, 2, 30);
    CHECK_INT(weir_clock_now(script.clock), ==, START + WEIR_SECONDS(35));
    CHECK_INT(counts_of(script.pool).skipped, ==, 2);
    expect_run_at(&script, 3, 40);
    script_end(&script, 3, 1);
    script_fini(&script);
}

TEST(overlap_all, "a run for each firing during a run, one after the other, at once")
{
    struct script script;
    struct weir_schedule schedule = rate(WEIR_FIRING_SKIP, WEIR_FIRING_ALL);
    start_slow_once(&script, &schedule);
    expect_run(&script, 4, 30);
    CHECK_INT(weir_clock_now(script.clock), ==, START + WEIR_SECONDS(35));
    CHECK_INT(counts_of(script.pool).skipped, ==, 0);
    expect_run_at(&script, 5, 40);
    script_end(&script, 5, 1);
    script_fini(&script);
}

/* Firings are missed while another envelope has the only worker. */
struct busy {
    struct task task;
    weir_envelope *envelope;
};

static void busy_begin(struct busy *busy, struct script *script)
{
    task_init(&busy->task);
    busy->task.is_held = true;
    busy->envelope = envelope_for(&busy->task, 0);
    CHECK_STATUS(weir_pool_send(script->pool, busy->envelope), WEIR_OK);
    weir_envelope_unref(busy->envelope);
    counter_wait(&busy->task.entered, 1);
}

static void busy_end(struct busy *busy, struct script *script)
{
    counter_add(&busy->task.allowed, 1);
    counter_wait(&busy->task.released, 1);
    task_fini(&busy->task);
    script->others++;
}

TEST(first_interval, "the first run after an interval: the send itself runs nothing")
{
    struct script script;
    script_init(&script);
    struct weir_schedule schedule = {0};
    schedule.first = WEIR_FIRST_INTERVAL;
    start_with(&script, &schedule);
    script_pass_by(&script);
    expect_run_at(&script, 1, 10);
    expect_run_at(&script, 2, 20);
    script_end(&script, 2, 1);
    script_fini(&script);
}

TEST(missed_late,
     "of firings that passed while workers were busy the latest is run if it is not too late")
{
    struct script script;
    struct busy busy;
    script_init(&script);
    struct weir_schedule schedule = rate(WEIR_FIRING_SKIP, WEIR_FIRING_SKIP);
    start_with(&script, &schedule);
    expect_run(&script, 1, 0);
    busy_begin(&busy, &script);
    step_to(&script, 35);
    busy_end(&busy, &script);
    expect_run(&script, 2, 30);
    CHECK_INT(counts_of(script.pool).skipped, ==, 2);
    expect_run_at(&script, 3, 40);
    script_end(&script, 3, 1);
    script_fini(&script);
}

TEST(missed_all, "or each of them")
{
    struct script script;
    struct busy busy;
    script_init(&script);
    struct weir_schedule schedule = rate(WEIR_FIRING_ALL, WEIR_FIRING_SKIP);
    start_with(&script, &schedule);
    expect_run(&script, 1, 0);
    busy_begin(&busy, &script);
    step_to(&script, 35);
    busy_end(&busy, &script);
    expect_run(&script, 4, 30);
    CHECK_INT(counts_of(script.pool).skipped, ==, 0);
    script_end(&script, 4, 1);
    script_fini(&script);
}

static void miss_by_far(struct script *script, struct busy *busy,
                        void (*meanwhile)(struct script *script))
{
    script_init(script);
    struct weir_schedule schedule = rate(WEIR_FIRING_SKIP, WEIR_FIRING_SKIP);
    schedule.tolerance_ns = WEIR_SECONDS(2);
    start_with(script, &schedule);
    expect_run(script, 1, 0);
    busy_begin(busy, script);
    step_to(script, 15);
    meanwhile(script);
    busy_end(busy, script);
}

static void send_nothing(struct script *script)
{
    (void)script;
}

static void send_it(struct script *script)
{
    CHECK_STATUS(weir_pool_send(script->pool, script->envelope), WEIR_OK);
}

/* To a pool that has no business with it. */
static void send_in_vain(struct script *script)
{
    weir_pool *other = pool_with(1, 0, script->clock);
    CHECK_STATUS(weir_pool_send(other, script->envelope), WEIR_EBUSY);
    CHECK_STATUS(weir_pool_send_after(other, script->envelope, 1), WEIR_EBUSY);
    CHECK_STATUS(weir_pool_send_all(other, &script->envelope, 1), WEIR_EBUSY);
    weir_pool_free(other);
}

TEST(missed_skipped, "one that is too late is skipped, and the next is on time")
{
    struct script script;
    struct busy busy;
    miss_by_far(&script, &busy, send_nothing);
    script_pass_by(&script);
    CHECK_INT(counts_of(script.pool).skipped, ==, 1);
    CHECK_INT(counter_value(&script.ends), ==, 1);
    expect_run_at(&script, 2, 20);
    script_end(&script, 2, 1);
    script_fini(&script);
}

TEST(missed_but_sent, "a send that joins a firing which is then skipped is run all the same")
{
    struct script script;
    struct busy busy;
    miss_by_far(&script, &busy, send_it);
    script_wait(&script, 2);
    CHECK_INT(script.due_ns, ==, 0);
    CHECK_INT(counts_of(script.pool).skipped, ==, 1);
    CHECK_STATUS(weir_clock_advance(script.clock, WEIR_SECONDS(5)), WEIR_OK);
    expect_run(&script, 3, 20);
    script_end(&script, 3, 1);
    script_fini(&script);
}

TEST(missed_but_refused, "a send that is refused does not have a firing run that is skipped")
{
    struct script script;
    struct busy busy;
    miss_by_far(&script, &busy, send_in_vain);
    script_pass_by(&script);
    CHECK_INT(counts_of(script.pool).skipped, ==, 1);
    CHECK_INT(counter_value(&script.ends), ==, 1);
    expect_run_at(&script, 2, 20);
    script_end(&script, 2, 1);
    script_fini(&script);
}

TEST(sent_between, "a send between two firings is run once, for no firing, and moves none")
{
    struct script script;
    script_init(&script);
    struct weir_schedule schedule = rate(WEIR_FIRING_SKIP, WEIR_FIRING_SKIP);
    start_with(&script, &schedule);
    expect_run(&script, 1, 0);
    step_to(&script, 4);
    CHECK_STATUS(weir_pool_send(script.pool, script.envelope), WEIR_OK);
    script_wait(&script, 2);
    CHECK_INT(script.due_ns, ==, 0);
    CHECK_STATUS(weir_clock_advance(script.clock, WEIR_SECONDS(6)), WEIR_OK);
    expect_run(&script, 3, 10);
    script_end(&script, 3, 1);
    script_fini(&script);
}

TEST(sent_for_earlier, "a send for a time before the next firing is run then, and moves none")
{
    struct script script;
    script_init(&script);
    struct weir_schedule schedule = rate(WEIR_FIRING_SKIP, WEIR_FIRING_SKIP);
    start_with(&script, &schedule);
    expect_run(&script, 1, 0);
    CHECK_STATUS(weir_pool_send(script.pool, script.envelope), WEIR_OK); /* takes the mark */
    script_wait(&script, 2);
    CHECK_STATUS(weir_pool_send_after(script.pool, script.envelope, WEIR_SECONDS(6)), WEIR_OK);
    CHECK_STATUS(weir_pool_send(script.pool, script.envelope), WEIR_OK);
    script_wait(&script, 3);
    step_to(&script, 6);
    script_wait(&script, 4);
    CHECK_INT(script.due_ns, ==, 0);
    step_to(&script, 10);
    expect_run(&script, 5, 10);
    script_end(&script, 5, 1);
    script_fini(&script);
}

TEST(starts_anew, "one that was cancelled starts anew when it is sent again")
{
    struct script script;
    script_init(&script);
    struct weir_schedule schedule = rate(WEIR_FIRING_SKIP, WEIR_FIRING_SKIP);
    start_with(&script, &schedule);
    expect_run(&script, 1, 0);
    step_to(&script, 4);
    script_pass_by(&script); /* the run has left the worker's hands */
    CHECK_STATUS(weir_pool_cancel(script.pool, script.envelope, 0, NULL), WEIR_OK);
    CHECK_INT(counts_of(script.pool).in_flight, ==, 0);
    CHECK_INT(script.told, ==, WEIR_ENDED_CANCELED);
    step_to(&script, 12);
    CHECK_STATUS(weir_pool_send(script.pool, script.envelope), WEIR_OK);
    expect_run(&script, 2, 12);
    CHECK_INT(counts_of(script.pool).skipped, ==, 0);
    CHECK_STATUS(weir_clock_advance(script.clock, WEIR_SECONDS(10)), WEIR_OK);
    expect_run(&script, 3, 22);
    script_end(&script, 3, 2);
    script_fini(&script);
}

TEST(cancelled_while_running, "one that is cancelled while it runs does not come again")
{
    struct script script;
    script_init(&script);
    script.sleeps = true;
    start_with(&script, NULL);
    counter_wait(&script.begun, 1);
    CHECK_STATUS(weir_pool_cancel(script.pool, script.envelope, WEIR_FOREVER, NULL), WEIR_OK);
    CHECK_INT(script.status, ==, WEIR_ECANCELED);
    CHECK_INT(counts_of(script.pool).waiting, ==, 0);
    script_end(&script, 1, 1);
    CHECK_INT(script.told, ==, WEIR_ENDED_CANCELED);
    script_fini(&script);
}

TEST(attempts, "the context tells how many runs in a row have failed before this one")
{
    struct script script;
    script_init(&script);
    script.statuses[0] = WEIR_EUSER;
    script.statuses[1] = WEIR_EUSER;
    static const uint32_t attempts[] = {1, 2, 3, 1};
    start_with(&script, NULL);
    for (int run = 1; run <= 4; run++) {
        expect_run(&script, run, (run - 1) * 10);
        CHECK_INT(script.attempt, ==, attempts[run - 1]);
        CHECK_STATUS(weir_clock_advance(script.clock, INTERVAL), WEIR_OK);
    }
    expect_run(&script, 5, 40);
    script_end(&script, 5, 1);
    script_fini(&script);
}

TEST(bad_schedules, "a schedule that is none is refused")
{
    struct script script;
    script_init(&script);
    struct weir_envelope_options good = script_envelope(&script, 0);
    struct weir_schedule no_interval = {0};
    struct weir_schedule another = rate(0, 0);
    another.interval_ns = 5;
    struct weir_schedule short_one = another;
    struct weir_schedule unknown = another;
    unknown.kind = 99;
    const struct {
        const struct weir_schedule *schedule;
        int64_t interval_ns;
        int64_t deadline_ns;
        enum weir_status status;
    } rows[] = {
        {&no_interval, 0, 0, WEIR_EINVAL},
        {&another, 6, 0, WEIR_EINVAL},
        {&short_one, 0, 6, WEIR_EINTERVAL},
        {&unknown, 0, 0, WEIR_EINVAL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct weir_envelope_options options = good;
        options.schedule = rows[i].schedule;
        options.interval_ns = rows[i].interval_ns;
        options.deadline_ns = rows[i].deadline_ns;
        weir_envelope *envelope = NULL;
        CHECK_STATUS(weir_envelope_new(&options, &envelope, NULL), rows[i].status);
        CHECK(envelope == NULL);
    }
    weir_clock_free(script.clock);
    counter_fini(&script.begun);
    counter_fini(&script.ends);
    counter_fini(&script.released);
    counter_fini(&script.let_go);
    counter_fini(&script.slept);
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <weir/cron.h>

#include "base/time.h"
#include "pool/script.h"

/* Envelopes with cron expressions in a pool. The clock of script_init() shows 00:16:40 on 1 January
 * 1970; times below are seconds since then. */

#define START WEIR_SECONDS(1000)

static weir_cron *cron_of(const char *text)
{
    struct weir_cron_options options = {0};
    weir_cron *cron = NULL;
    options.allocator = *test_allocator();
    options.zone = "UTC";
    CHECK_STATUS(weir_cron_new(text, &options, &cron, NULL), WEIR_OK);
    return cron;
}

static int count_run(weir_context *context, void *payload)
{
    (void)context;
    counter_add(payload, 1);
    return WEIR_OK;
}

/* Runs that are due about now by the system's date, which may jump by days meanwhile. */
#define DAYS WEIR_SECONDS(4 * 86400)
struct dated {
    struct counter runs;
    int64_t sent_ns;
};

static int check_date(weir_context *context, void *payload)
{
    struct dated *dated = payload;
    int64_t due_ns = weir_context_due(context);
    CHECK_INT(due_ns, >, dated->sent_ns - DAYS);
    CHECK_INT(due_ns, <, dated->sent_ns + DAYS);
    CHECK_INT(due_ns % WEIR_MS(10), ==, 0);
    counter_add(&dated->runs, 1);
    return WEIR_OK;
}

static void start_with(struct script *script, const char *text, uint32_t missed)
{
    struct weir_schedule schedule = {0};
    schedule.kind = WEIR_SCHEDULE_CRON;
    schedule.cron = cron_of(text);
    schedule.missed = missed;
    struct weir_envelope_options options = script_envelope(script, 0);
    options.before = NULL;
    options.after = NULL;
    options.success = NULL;
    options.schedule = &schedule;
    script_start(script, &options, NULL);
    weir_cron_unref(schedule.cron); /* the envelope has one of its own */
    script_pass_by(script);         /* it has been looked at, and waits */
}

static void step_to(struct script *script, int64_t seconds, int64_t more_ns)
{
    int64_t step_ns = START + WEIR_SECONDS(seconds) + more_ns - weir_clock_now(script->clock);
    CHECK_STATUS(weir_clock_advance(script->clock, step_ns), WEIR_OK);
}

/* Nothing runs before this time, at which the run of this number does. */
static void expect_run_at(struct script *script, int run, int64_t seconds)
{
    step_to(script, seconds, -1);
    CHECK_INT(counter_value(&script->ends), ==, run - 1);
    step_to(script, seconds, 0);
    script_wait(script, run);
    CHECK_INT(script->due_ns, ==, START + WEIR_SECONDS(seconds));
}

TEST(cron, "a cron expression: a run at each of its times, by the date of the clock")
{
    struct script script;
    script_init(&script);
    start_with(&script, "17,30 * * * *", WEIR_FIRING_SKIP);
    expect_run_at(&script, 1, 20);
    expect_run_at(&script, 2, 800);
    expect_run_at(&script, 3, 3620);
    script_end(&script, 3, 1);
    script_fini(&script);
}

TEST(missed, "what was missed for days is run once, where that was asked for")
{
    struct script script;
    script_init(&script);
    start_with(&script, "17 0 * * *", WEIR_FIRING_ONCE);
    expect_run_at(&script, 1, 20);
    step_to(&script, 86400 * 5, 0); /* five firings later, but for 20 seconds */
    script_wait(&script, 2);
    CHECK_INT(script.due_ns, ==, START + WEIR_SECONDS(86400 * 4 + 20));
    CHECK_INT(counts_of(script.pool).skipped, ==, 3);
    expect_run_at(&script, 3, 86400 * 5 + 20);
    script_end(&script, 3, 1);
    script_fini(&script);
}

TEST(real_clock,
     "on the real clock a cron expression is of the system's date, and so is what is due")
{
    struct weir_schedule schedule = {0};
    schedule.kind = WEIR_SCHEDULE_CRON;
    schedule.cron = cron_of("@every 10ms");
    struct dated dated = {.sent_ns = weiri_wall_now()};
    counter_init(&dated.runs);
    struct weir_envelope_options of_envelope = {0};
    of_envelope.payload = &dated;
    of_envelope.invoke = check_date;
    of_envelope.schedule = &schedule;
    of_envelope.deadline_ns = WEIR_SECONDS(3600); /* longer than from firing to firing */
    weir_envelope *envelope = NULL;
    CHECK_STATUS(weir_envelope_new(&of_envelope, &envelope, NULL), WEIR_OK);
    struct weir_pool_options of_pool = {0};
    of_pool.workers = 1;
    weir_pool *pool = NULL;
    CHECK_STATUS(weir_pool_new(&of_pool, &pool, NULL), WEIR_OK);
    CHECK_STATUS(weir_pool_start(pool), WEIR_OK);
    CHECK_STATUS(weir_pool_send(pool, envelope), WEIR_OK);
    counter_wait(&dated.runs, 3);
    weir_pool_free(pool);
    weir_envelope_unref(envelope);
    weir_cron_unref(schedule.cron);
    counter_fini(&dated.runs);
}

TEST_OOM(no_envelope, "an envelope that is refused keeps nothing of the expression")
{
    struct weir_cron_options of_cron = {0};
    struct weir_schedule schedule = {0};
    of_cron.allocator = *test_allocator();
    schedule.kind = WEIR_SCHEDULE_CRON;
    if (CHECK_OR_OOM(weir_cron_new("CRON_TZ=UTC @daily", &of_cron, &schedule.cron, NULL))) {
        return;
    }
    struct weir_envelope_options options = {0};
    options.allocator = *test_allocator();
    options.invoke = count_run;
    options.schedule = &schedule;
    options.group = weir_key_string("a group, for which memory may lack as well");
    weir_envelope *envelope = NULL;
    if (!CHECK_OR_OOM(weir_envelope_new(&options, &envelope, NULL))) {
        weir_envelope_unref(envelope);
    }
    struct weir_isolation isolation = {0};
    isolation.cpu_limit_ns = -1;
    options.isolation = &isolation;
    CHECK_STATUS(weir_envelope_new(&options, &envelope, NULL), WEIR_ERANGE);
    weir_cron_unref(schedule.cron);
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/script.h"

/* The outcome table of weir/envelope.h, row by row, for one-off envelopes. In each case the pool
 * holds nothing of the envelope when it has ended, unless a retry is pending. */

struct row {
    int status; /* of the task */
    const char *steps;
    struct weir_pool_counts counts; /* of these only the outcomes are looked at */
};

static void check_outcomes(weir_pool *pool, const struct weir_pool_counts *expected)
{
    struct weir_pool_counts counts = counts_of(pool);
    CHECK_INT(counts.succeeded, ==, expected->succeeded);
    CHECK_INT(counts.failed, ==, expected->failed);
    CHECK_INT(counts.panics, ==, expected->panics);
    CHECK_INT(counts.timed_out, ==, expected->timed_out);
    CHECK_INT(counts.canceled, ==, expected->canceled);
    CHECK_INT(counts.stopped, ==, expected->stopped);
    CHECK_INT(counts.late, ==, 0);
    CHECK_INT(counts.retries, ==, 0);
    CHECK_INT(counts.exhausted, ==, 0);
    CHECK_INT(counts.hook_errors, ==, 0);
}

static void check_row(const struct row *row)
{
    struct script script;
    script_init(&script);
    script.statuses[0] = row->status;
    script_start(&script, NULL, NULL);
    script_wait(&script, 1);
    CHECK_INT(counts_of(script.pool).waiting, ==, 0);
    script_end(&script, 1, 0);
    CHECK_STRING(script.steps, row->steps);
    CHECK_INT(script.status, ==, row->status);
    check_outcomes(script.pool, &row->counts);
    script_fini(&script);
}

TEST(ok, "WEIR_OK: after hook, success hook; it ends")
{
    check_row(&(struct row){WEIR_OK, "before invoke after success outcome", {.succeeded = 1}});
}

TEST(stop, "WEIR_ESTOP: the after hook still runs, no success or failure hook does; it ends")
{
    check_row(&(struct row){WEIR_ESTOP, "before invoke after outcome", {.stopped = 1}});
}

TEST(canceled, "WEIR_ECANCELED: no success, no failure; it ends")
{
    check_row(&(struct row){WEIR_ECANCELED, "before invoke outcome", {.canceled = 1}});
}

TEST(timed_out, "WEIR_ETIMEDOUT: no success, no failure; it ends")
{
    check_row(&(struct row){WEIR_ETIMEDOUT, "before invoke outcome", {.timed_out = 1}});
}

TEST(failed, "any other status: the failure hook is asked, and a drop ends it")
{
    check_row(&(struct row){WEIR_EUSER, "before invoke failure outcome", {.failed = 1}});
}

TEST(failed_of_weir, "a status of weir's own without a row is any other status")
{
    check_row(&(struct row){WEIR_EIO, "before invoke failure outcome", {.failed = 1}});
}

TEST(panicked, "WEIR_EPANIC goes the way of any other error (R6)")
{
    check_row(&(struct row){WEIR_EPANIC, "before invoke failure outcome", {.panics = 1}});
}

TEST(timed_out_fails, "a pool's option hands time-outs to the failure hook, which can retry")
{
    struct script script;
    script_init(&script);
    script.statuses[0] = WEIR_ETIMEDOUT;
    script.decision = 0;
    struct weir_pool_options options = script_pool(&script);
    options.flags = WEIR_POOL_TIMEOUTS_FAIL;
    script_start(&script, NULL, &options);
    script_wait(&script, 2);
    script_end(&script, 2, 0);
    CHECK_STRING(script.steps, "before invoke failure outcome before invoke after success outcome");
    CHECK_INT(script.failure.status, ==, WEIR_ETIMEDOUT);
    CHECK_INT(counts_of(script.pool).timed_out, ==, 1);
    CHECK_INT(counts_of(script.pool).retries, ==, 1);
    script_fini(&script);
}

TEST(canceled_never_fails, "the same option leaves cancellations alone")
{
    struct script script;
    script_init(&script);
    script.statuses[0] = WEIR_ECANCELED;
    script.decision = 0;
    struct weir_pool_options options = script_pool(&script);
    options.flags = WEIR_POOL_TIMEOUTS_FAIL;
    script_start(&script, NULL, &options);
    script_wait(&script, 1);
    script_end(&script, 1, 0);
    CHECK_STRING(script.steps, "before invoke outcome");
    script_fini(&script);
}

TEST(no_hooks, "without hooks every status ends it, and the outcome function is told")
{
    static const int statuses[] = {WEIR_OK,        WEIR_ESTOP, WEIR_ECANCELED,
                                   WEIR_ETIMEDOUT, WEIR_EUSER, WEIR_EPANIC};
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        struct script script;
        script_init(&script);
        script.statuses[0] = statuses[i];
        struct weir_envelope_options options = script_envelope(&script, 0);
        options.before = NULL;
        options.after = NULL;
        options.success = NULL;
        options.failure = NULL;
        script_start(&script, &options, NULL);
        script_wait(&script, 1);
        script_end(&script, 1, 0);
        CHECK_STRING(script.steps, "invoke outcome");
        CHECK_INT(script.status, ==, statuses[i]);
        script_fini(&script);
    }
}

/* A before hook that answers status: what follows is written down in steps. */
static void check_before(const struct row *row, uint64_t hook_errors)
{
    struct script script;
    script_init(&script);
    script.before = row->status;
    script_start(&script, NULL, NULL);
    script_wait(&script, 1);
    script_end(&script, 1, 0);
    CHECK_STRING(script.steps, row->steps);
    CHECK_INT(script.status, ==, row->status);
    CHECK_INT(counts_of(script.pool).hook_errors, ==, hook_errors);
    CHECK_INT(counts_of(script.pool).stopped, ==, row->counts.stopped);
    CHECK_INT(counts_of(script.pool).failed, ==, row->counts.failed);
    CHECK_INT(counts_of(script.pool).timed_out, ==, row->counts.timed_out);
    script_fini(&script);
}

TEST(before_fails, "a before hook's error is the run's: no task, no after hook, the failure hook")
{
    check_before(&(struct row){WEIR_EUSER, "before failure outcome", {.failed = 1}}, 1);
}

TEST(before_stops, "a before hook's WEIR_ESTOP is the run's: no task, but the after hook runs")
{
    check_before(&(struct row){WEIR_ESTOP, "before after outcome", {.stopped = 1}}, 0);
}

TEST(before_times_out, "a before hook's time-out is the run's")
{
    check_before(&(struct row){WEIR_ETIMEDOUT, "before outcome", {.timed_out = 1}}, 1);
}

static void check_after(int task, int after, const char *steps, int status, uint64_t hook_errors)
{
    struct script script;
    script_init(&script);
    script.statuses[0] = task;
    script.after = after;
    script_start(&script, NULL, NULL);
    script_wait(&script, 1);
    script_end(&script, 1, 0);
    CHECK_STRING(script.steps, steps);
    CHECK_INT(script.status, ==, status);
    CHECK_INT(script.status_after, ==, task);
    CHECK_INT(counts_of(script.pool).hook_errors, ==, hook_errors);
    script_fini(&script);
}

TEST(after_fails, "an after hook's error is ignored and counted")
{
    check_after(WEIR_OK, WEIR_EUSER, "before invoke after success outcome", WEIR_OK, 1);
}

TEST(after_fails_stopped, "the same where the task stopped the envelope")
{
    check_after(WEIR_ESTOP, WEIR_EUSER, "before invoke after outcome", WEIR_ESTOP, 1);
}

TEST(after_stops, "an after hook's WEIR_ESTOP is the run's status: no success hook")
{
    check_after(WEIR_OK, WEIR_ESTOP, "before invoke after outcome", WEIR_ESTOP, 0);
}

TEST(after_always, "with WEIR_ENVELOPE_AFTER_ALWAYS the after hook runs whatever came before it")
{
    static const struct {
        int before;
        int task;
        const char *steps;
    } cases[] = {
        {WEIR_OK, WEIR_OK, "before invoke after success outcome"},
        {WEIR_OK, WEIR_EUSER, "before invoke after failure outcome"},
        {WEIR_OK, WEIR_ETIMEDOUT, "before invoke after outcome"},
        {WEIR_OK, WEIR_ECANCELED, "before invoke after outcome"},
        {WEIR_EUSER, WEIR_OK, "before after failure outcome"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct script script;
        script_init(&script);
        script.before = cases[i].before;
        script.statuses[0] = cases[i].task;
        struct weir_envelope_options options = script_envelope(&script, 0);
        options.flags = WEIR_ENVELOPE_AFTER_ALWAYS;
        script_start(&script, &options, NULL);
        script_wait(&script, 1);
        script_end(&script, 1, 0);
        CHECK_STRING(script.steps, cases[i].steps);
        CHECK_INT(script.status_after, ==, script.status);
        script_fini(&script);
    }
}

TEST(late, "a task that returns WEIR_OK after its deadline has succeeded, and is counted late (R7)")
{
    struct script script;
    script_init(&script);
    script.invoke_ns = SCRIPT_DEADLINE_NS;
    script_start(&script, NULL, NULL);
    script_wait(&script, 1);
    script_end(&script, 1, 0);
    CHECK_STRING(script.steps, "before invoke after success outcome");
    CHECK_INT(counts_of(script.pool).succeeded, ==, 1);
    CHECK_INT(counts_of(script.pool).late, ==, 1);
    script_fini(&script);
}

TEST(not_late, "within its deadline, though its hooks took longer, it is not late")
{
    struct script script;
    script_init(&script);
    script.invoke_ns = SCRIPT_DEADLINE_NS - 1;
    script.after_ns = SCRIPT_DEADLINE_NS;
    script.hook_ns = SCRIPT_DEADLINE_NS;
    script_start(&script, NULL, NULL);
    script_wait(&script, 1);
    script_end(&script, 1, 0);
    CHECK_STRING(script.steps, "before invoke after success outcome");
    CHECK_INT(counts_of(script.pool).late, ==, 0);
    script_fini(&script);
}

TEST(late_without_deadline, "without a deadline nothing is late")
{
    struct script script;
    script_init(&script);
    script.invoke_ns = WEIR_SECONDS(1000000);
    struct weir_envelope_options options = script_envelope(&script, 0);
    options.deadline_ns = 0;
    script_start(&script, &options, NULL);
    script_wait(&script, 1);
    script_end(&script, 1, 0);
    CHECK_INT(counts_of(script.pool).late, ==, 0);
    script_fini(&script);
}

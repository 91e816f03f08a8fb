/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/script.h"

/* The outcome table of weir/envelope.h, row by row, for periodic envelopes: the first run comes to
 * the row's status, and where the table says "again" a second one follows one interval later, and
 * not a nanosecond earlier. */

static void check_again(int status, const char *steps)
{
    struct script script;
    script_init(&script);
    script.statuses[0] = status;
    script.decision = 0; /* which decides about a periodic one nothing */
    script_start_periodic(&script);
    script_wait(&script, 1);
    CHECK_INT(script.status, ==, status);
    CHECK_STATUS(weir_clock_advance(script.clock, SCRIPT_INTERVAL_NS - 1), WEIR_OK);
    struct weir_pool_counts counts = counts_of(script.pool);
    CHECK_INT(counts.waiting, ==, 1);
    CHECK_INT(counts.runs, ==, 1);
    CHECK_STATUS(weir_clock_advance(script.clock, 1), WEIR_OK);
    script_wait(&script, 2);
    CHECK_INT(script.status, ==, WEIR_OK);
    script_end(&script, 2, 1); /* the third run was pending */
    CHECK_INT(counts_of(script.pool).retries, ==, 0);
    CHECK_STRING(script.steps, steps);
    script_fini(&script);
}

TEST(ok, "WEIR_OK: success hook; again after the interval")
{
    check_again(WEIR_OK, "before invoke after success outcome before invoke after success outcome");
}

TEST(canceled, "WEIR_ECANCELED: no success, no failure; again after the interval")
{
    check_again(WEIR_ECANCELED, "before invoke outcome before invoke after success outcome");
}

TEST(timed_out, "WEIR_ETIMEDOUT: no success, no failure; again after the interval")
{
    check_again(WEIR_ETIMEDOUT, "before invoke outcome before invoke after success outcome");
}

TEST(failed, "any other status: the failure hook is told; again after the interval (R11)")
{
    check_again(WEIR_EUSER, "before invoke failure outcome before invoke after success outcome");
}

TEST(panicked, "WEIR_EPANIC: the failure hook is told; again after the interval (R6)")
{
    check_again(WEIR_EPANIC, "before invoke failure outcome before invoke after success outcome");
}

TEST(stop, "WEIR_ESTOP: the after hook runs, no other does, and it is never run again")
{
    struct script script;
    script_init(&script);
    script.statuses[0] = WEIR_ESTOP;
    script_start_periodic(&script);
    script_wait(&script, 1);
    CHECK_STATUS(weir_clock_advance(script.clock, SCRIPT_INTERVAL_NS * 3), WEIR_OK);
    script_end(&script, 1, 0);
    CHECK_STRING(script.steps, "before invoke after outcome");
    CHECK_INT(counts_of(script.pool).stopped, ==, 1);
    script_fini(&script);
}

TEST(after_stops, "an after hook's WEIR_ESTOP ends it too")
{
    struct script script;
    script_init(&script);
    script.after = WEIR_ESTOP;
    script_start_periodic(&script);
    script_wait(&script, 1);
    script_end(&script, 1, 0);
    CHECK_STRING(script.steps, "before invoke after outcome");
    script_fini(&script);
}

TEST(stop_with_pending, "a run of its own that says WEIR_ESTOP takes the schedule with it")
{
    struct script script;
    script_init(&script);
    script.statuses[1] = WEIR_ESTOP;
    script_start_periodic(&script);
    script_wait(&script, 1);
    CHECK_STATUS(weir_pool_send(script.pool, script.envelope), WEIR_OK);
    script_wait(&script, 2);
    CHECK_INT(counts_of(script.pool).waiting, ==, 0);
    CHECK_INT(counts_of(script.pool).dropped, ==, 1);
    script_end(&script, 2, 1);
    script_fini(&script);
}

TEST(sent_between, "a send of one that waits runs it once more, and leaves its schedule alone")
{
    struct script script;
    script_init(&script);
    script_start_periodic(&script);
    script_wait(&script, 1);
    CHECK_STATUS(weir_clock_advance(script.clock, WEIR_SECONDS(4)), WEIR_OK);
    CHECK_STATUS(weir_pool_send(script.pool, script.envelope), WEIR_OK);
    script_wait(&script, 2);
    CHECK_STATUS(weir_clock_advance(script.clock, WEIR_SECONDS(6)), WEIR_OK);
    script_wait(&script, 3);
    script_end(&script, 3, 1);
    script_fini(&script);
}

TEST(fixed_delay, "the interval begins when the run ends; the time of its hooks is not added")
{
    struct script script;
    script_init(&script);
    script.invoke_ns = WEIR_SECONDS(3);
    script.hook_ns = WEIR_SECONDS(2);
    script_start_periodic(&script);
    script_wait(&script, 1);
    CHECK_STATUS(weir_clock_advance(script.clock, WEIR_SECONDS(8) - 1), WEIR_OK);
    CHECK_INT(counts_of(script.pool).runs, ==, 1);
    CHECK_STATUS(weir_clock_advance(script.clock, 1), WEIR_OK);
    script_wait(&script, 2);
    script_end(&script, 2, 1);
    script_fini(&script);
}

TEST(time_outs_are_no_failures, "the pool's option about time-outs is for one-off envelopes")
{
    struct script script;
    script_init(&script);
    script.statuses[0] = WEIR_ETIMEDOUT;
    struct weir_envelope_options envelope = script_envelope(&script, SCRIPT_INTERVAL_NS);
    struct weir_pool_options options = script_pool(&script);
    options.flags = WEIR_POOL_TIMEOUTS_FAIL;
    script_start(&script, &envelope, &options);
    script_wait(&script, 1);
    script_end(&script, 1, 1);
    CHECK_STRING(script.steps, "before invoke outcome");
    script_fini(&script);
}

TEST(failures_in_a_row, "the failure hook is told how many runs in a row have failed")
{
    struct script script;
    script_init(&script);
    int statuses[SCRIPT_RUNS] = {WEIR_EUSER, WEIR_EUSER, WEIR_OK, WEIR_EUSER};
    memcpy(script.statuses, statuses, sizeof(statuses));
    static const uint32_t attempts[] = {1, 2, 2, 1};
    script_start_periodic(&script);
    for (int run = 1; run <= 4; run++) {
        script_wait(&script, run);
        CHECK_INT(script.failure.attempt, ==, attempts[run - 1]);
        CHECK_STATUS(weir_clock_advance(script.clock, SCRIPT_INTERVAL_NS), WEIR_OK);
    }
    script_wait(&script, 5);
    script_end(&script, 5, 1);
    script_fini(&script);
}

TEST(stopped_while_running, "a stop during the run: it is not scheduled again (R2)")
{
    struct script script;
    script_init(&script);
    script.sleeps = true;
    struct weir_envelope_options options = script_envelope(&script, SCRIPT_INTERVAL_NS);
    options.deadline_ns = 0;
    script_start(&script, &options, NULL);
    counter_wait(&script.begun, 1);
    CHECK_STATUS(weir_pool_end(script.pool, WEIR_END_STOP, 0, WEIR_FOREVER), WEIR_OK);
    struct weir_pool_counts counts = counts_of(script.pool);
    CHECK_INT(counts.in_flight, ==, 0);
    CHECK_INT(counts.canceled, ==, 1);
    CHECK_INT(counts.runs, ==, 1);
    CHECK_INT(counts.dropped, ==, 1);
    CHECK_STRING(script.steps, "before invoke outcome");
    weir_envelope_unref(script.envelope);
    CHECK_INT(counter_value(&script.released), ==, 1);
    script_fini(&script);
}

TEST(one_slot, "however often it recurs it takes one slot of the capacity (R2)")
{
    struct script script;
    script_init(&script);
    struct weir_envelope_options envelope = script_envelope(&script, SCRIPT_INTERVAL_NS);
    struct weir_pool_options options = script_pool(&script);
    options.capacity = 1;
    script_start(&script, &envelope, &options);
    for (int run = 1; run <= 20; run++) {
        script_wait(&script, run);
        script.steps[0] = '\0';
        CHECK_INT(counts_of(script.pool).in_flight, ==, 1);
        CHECK_STATUS(weir_clock_advance(script.clock, SCRIPT_INTERVAL_NS), WEIR_OK);
    }
    script_wait(&script, 21);
    script_end(&script, 21, 1);
    script_fini(&script);
}

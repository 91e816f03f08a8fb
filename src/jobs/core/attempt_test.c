/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/core/attempt.h"

#include <stdio.h>
#include <string.h>

#include "support/harness.h"

enum {
    DONE = WEIRI_JOB_DONE,
    RELEASE = WEIRI_JOB_RELEASE,
    RETURN = WEIRI_JOB_RETURN,
    BURY = WEIRI_JOB_BURY
};

static struct weiri_run words; /* what each run tells */

static struct weiri_next_action decide(int status, bool was_run, bool is_ending, uint32_t attempts,
                                       uint32_t attempts_max)
{
    struct weiri_run run = words;
    run.status = status;
    run.was_run = was_run;
    run.is_ending = is_ending;
    run.attempts = attempts;
    run.attempts_max = attempts_max;
    struct weiri_next_action action;
    weiri_decide_run(&run, &action);
    return action;
}

TEST(events, "success ends a job, a stop or the last attempt buries it, any other failure retries")
{
    const struct {
        int status;
        bool was_run;
        bool is_ending;
        uint32_t attempts;
        uint32_t attempts_max;
        int event;
    } rows[] = {
        {WEIR_OK, true, false, 1, 1, DONE},
        {WEIR_OK, true, true, 9, 1, DONE},
        {WEIR_ESTOP, true, false, 1, 25, BURY},
        {WEIR_ETIMEDOUT, true, false, 24, 25, RELEASE},
        {WEIR_ETIMEDOUT, true, false, 25, 25, BURY},
        {WEIR_EUSER + 1, true, false, 26, 25, BURY},
        {-1, true, false, 1, 2, RELEASE},
        {WEIR_ECANCELED, true, false, 1, 2, RELEASE},
        {WEIR_ECANCELED, true, false, 2, 2, BURY},
        {WEIR_ECANCELED, true, true, 2, 2, RETURN},
        {WEIR_ECANCELED, false, false, 2, 2, RETURN},
        {WEIR_OK, false, true, 2, 2, RETURN},
        {WEIR_EAGAIN, true, false, 2, 2, RETURN},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct weiri_next_action action = decide(rows[i].status, rows[i].was_run, rows[i].is_ending,
                                                 rows[i].attempts, rows[i].attempts_max);
        if ((int)action.settlement.event != rows[i].event) {
            test_fail(__FILE__, __LINE__, "row %zu: event %d", i, (int)action.settlement.event);
        }
        bool has_failed = rows[i].event == RELEASE || rows[i].event == BURY;
        CHECK((action.why != NULL) == has_failed);
        CHECK_INT(action.settlement.end.outcome, ==,
                  rows[i].event == RELEASE ? WEIR_RUN_RETRY
                  : has_failed             ? WEIR_RUN_BURIED
                                           : 0);
    }
}

TEST(delays, "a time that was told is the delay; who could not start waits a second")
{
    CHECK_INT(decide(WEIR_EAGAIN, true, false, 1, 2).settlement.delay_ns, ==, WEIRI_START_RETRY_NS);
    CHECK(decide(WEIR_EAGAIN, true, false, 1, 2).could_not_start);
    CHECK_INT(decide(WEIR_ETIMEDOUT, true, false, 1, 2).settlement.delay_ns, ==, 0);
    CHECK_INT(decide(WEIR_EAGAIN, false, false, 1, 2).settlement.delay_ns, ==, 0);
    words.retry_ns = 7;
    CHECK_INT(decide(WEIR_EAGAIN, true, false, 1, 2).settlement.delay_ns, ==, 7);
    CHECK(!decide(WEIR_EAGAIN, true, false, 1, 2).could_not_start);
    CHECK_INT(decide(WEIR_ETIMEDOUT, true, false, 1, 2).settlement.delay_ns, ==, 7);
    CHECK_INT(decide(WEIR_ETIMEDOUT, true, false, 2, 2).settlement.delay_ns, ==, 0);
    CHECK_INT(decide(WEIR_OK, true, false, 1, 2).settlement.delay_ns, ==, 0);
    CHECK_INT(decide(WEIR_ECANCELED, true, true, 1, 2).settlement.delay_ns, ==, 0);
}

TEST(reasons, "a reason begins with the number of its attempt, which its history cuts off")
{
    struct weiri_run run = {
        .status = WEIR_ETIMEDOUT, .was_run = true, .attempts = 3, .attempts_max = 9};
    struct weiri_next_action action;
    weiri_decide_run(&run, &action);
    char expected[WEIR_REASON_SIZE];
    (void)snprintf(expected, sizeof(expected), "attempt 3: %s (status %d)",
                   weir_status_text(WEIR_ETIMEDOUT), WEIR_ETIMEDOUT);
    CHECK_STRING(action.settlement.reason, expected);
    CHECK_STRING(action.why, weiri_attempt_cut(expected, 3));
    CHECK_STRING(weiri_attempt_cut(expected, 4), expected);
    CHECK_STRING(weiri_attempt_cut("by hand", 3), "by hand");

    run.attempts = UINT32_MAX;
    run.attempts_max = UINT32_MAX;
    memset(run.reason, 'x', sizeof(run.reason) - 1);
    weiri_decide_run(&run, &action);
    CHECK_INT(strlen(action.reason), ==, WEIR_REASON_SIZE - 1);
    CHECK_STRING(action.why, weiri_attempt_cut(action.reason, UINT32_MAX));
    CHECK(action.why != action.reason);

    run.status = WEIR_OK; /* what a handler says of a success is its result */
    weiri_decide_run(&run, &action);
    CHECK(action.settlement.reason == run.reason);
}

TEST(outcomes, "what was not settled is told as lost")
{
    CHECK_INT(weiri_run_outcome(WEIRI_JOB_DONE, WEIR_OK), ==, WEIR_RUN_DONE);
    CHECK_INT(weiri_run_outcome(WEIRI_JOB_BURY, WEIR_OK), ==, WEIR_RUN_BURIED);
    CHECK_INT(weiri_run_outcome(WEIRI_JOB_RETURN, WEIR_OK), ==, WEIR_RUN_RETURNED);
    CHECK_INT(weiri_run_outcome(WEIRI_JOB_RELEASE, WEIR_OK), ==, WEIR_RUN_RETRY);
    CHECK_INT(weiri_run_outcome(WEIRI_JOB_DONE, WEIR_ELEASELOST), ==, WEIR_RUN_LOST);
}

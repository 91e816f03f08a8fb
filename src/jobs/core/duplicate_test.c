/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/core/job.h"

#include "support/harness.h"

TEST(table, "each mode at each state of the job that has the key; to keep one that a verdict ends "
            "would lose the put")
{
    static const struct {
        enum weir_duplicate mode;
        const char *actions; /* none, delayed, ready, reserved; none but throttled */
    } rows[] = {
        {WEIR_DUPLICATE_REFUSE, "prrrp"},   {WEIR_DUPLICATE_REPLACE, "pwwrp"},
        {WEIR_DUPLICATE_KEEP, "pennp"},     {WEIR_DUPLICATE_DEBOUNCE, "pwwap"},
        {WEIR_DUPLICATE_THROTTLE, "pnnnn"}, {WEIR_DUPLICATE_AGAIN, "penap"},
    };
    static const char letters[] = {
        [WEIRI_DUPLICATE_PUT] = 'p',     [WEIRI_DUPLICATE_REFUSE] = 'r',
        [WEIRI_DUPLICATE_NOTHING] = 'n', [WEIRI_DUPLICATE_EARLIER] = 'e',
        [WEIRI_DUPLICATE_RENEW] = 'w',   [WEIRI_DUPLICATE_AFTER] = 'a',
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (int state = 0; state <= WEIR_JOB_BURIED; state++) {
            char wanted = rows[i].actions[state == WEIR_JOB_BURIED ? 0 : state];
            struct weiri_job_facts older = {.state = (enum weir_job_state)state};
            CHECK_INT(letters[weiri_duplicate_decide(rows[i].mode, &older, false)], ==, wanted);
            older.verdict = WEIR_VERDICT_RETRY;
            CHECK_INT(letters[weiri_duplicate_decide(rows[i].mode, &older, false)], ==, wanted);
        }
        struct weiri_job_facts ended = {.state = WEIRI_JOB_GONE};
        CHECK_INT(letters[weiri_duplicate_decide(rows[i].mode, &ended, true)], ==,
                  rows[i].actions[4]);
        for (int verdict = WEIR_VERDICT_BURY; verdict <= WEIR_VERDICT_REMOVE; verdict++) {
            struct weiri_job_facts asked = {.state = WEIR_JOB_RESERVED,
                                            .verdict = (enum weir_verdict)verdict};
            CHECK_INT(letters[weiri_duplicate_decide(rows[i].mode, &asked, false)], ==,
                      rows[i].mode == WEIR_DUPLICATE_KEEP ? 'a' : rows[i].actions[3]);
        }
    }
}

TEST(names, "each mode has a name; anything else has none")
{
    static const char *const names[] = {"refuse",   "replace",  "keep",
                                        "debounce", "throttle", "again"};
    for (int mode = WEIR_DUPLICATE_REFUSE; mode <= WEIR_DUPLICATE_AGAIN; mode++) {
        CHECK_STRING(weir_duplicate_name((enum weir_duplicate)mode), names[mode]);
    }
    CHECK_STRING(weir_duplicate_name((enum weir_duplicate) - 1), "?");
    CHECK_STRING(weir_duplicate_name((enum weir_duplicate)6), "?");
}

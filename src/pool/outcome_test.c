/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/outcome.h"

#include "support/harness.h"

TEST(of_status, "five statuses have an outcome of their own, all others are failures")
{
    CHECK_INT(weiri_outcome_of(WEIR_OK), ==, WEIRI_SUCCEEDED);
    CHECK_INT(weiri_outcome_of(WEIR_ESTOP), ==, WEIRI_STOPPED);
    CHECK_INT(weiri_outcome_of(WEIR_ECANCELED), ==, WEIRI_CANCELED);
    CHECK_INT(weiri_outcome_of(WEIR_ETIMEDOUT), ==, WEIRI_TIMED_OUT);
    CHECK_INT(weiri_outcome_of(WEIR_EPANIC), ==, WEIRI_PANICKED);
    CHECK_INT(weiri_outcome_of(WEIR_EINVAL), ==, WEIRI_FAILED);
    CHECK_INT(weiri_outcome_of(WEIR_EUSER), ==, WEIRI_FAILED);
    CHECK_INT(weiri_outcome_of(-1), ==, WEIRI_FAILED);
}

/* Every outcome with every kind of envelope and pool, against the table written out. */
static const struct {
    enum weiri_outcome outcome;
    bool fails_one_off;
    bool fails_where_timeouts_do; /* one-off, too */
    bool fails_periodic;
    enum weiri_action periodic;
} rows[] = {
    {WEIRI_SUCCEEDED, false, false, false, WEIRI_AGAIN},
    {WEIRI_FAILED, true, true, true, WEIRI_AGAIN},
    {WEIRI_PANICKED, true, true, true, WEIRI_AGAIN},
    {WEIRI_TIMED_OUT, false, true, false, WEIRI_AGAIN},
    {WEIRI_CANCELED, false, false, false, WEIRI_AGAIN},
    {WEIRI_STOPPED, false, false, false, WEIRI_END},
};

/* What a failure hook may return: the two answers that are no delay, their neighbours, delays. */
static const int64_t decisions[] = {WEIR_RETRY, WEIR_DROP, WEIR_DROP + 1, -1, 0, 1, 5, INT64_MAX};

TEST(periodic, "all but a stop goes on, whatever a hook decides; failures and panics are told")
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (int fails = 0; fails < 2; fails++) {
            struct weiri_terms terms = {
                .is_periodic = true, .timeouts_fail = fails == 1, .attempt = 9, .attempts = 1};
            CHECK_INT(weiri_outcome_is_failure(rows[i].outcome, &terms), ==,
                      rows[i].fails_periodic);
            for (size_t k = 0; k < sizeof(decisions) / sizeof(decisions[0]); k++) {
                CHECK_INT(weiri_outcome_action(rows[i].outcome, &terms, decisions[k]), ==,
                          rows[i].periodic);
            }
        }
    }
}

TEST(one_off, "what fails is dropped or tried again as decided, all else ends")
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (int fails = 0; fails < 2; fails++) {
            struct weiri_terms terms = {.timeouts_fail = fails == 1, .attempt = 1};
            bool has_failed = fails == 1 ? rows[i].fails_where_timeouts_do : rows[i].fails_one_off;
            CHECK_INT(weiri_outcome_is_failure(rows[i].outcome, &terms), ==, has_failed);
            for (size_t k = 0; k < sizeof(decisions) / sizeof(decisions[0]); k++) {
                enum weiri_action expected = decisions[k] == WEIR_DROP ? WEIRI_DROP : WEIRI_RETRY;
                CHECK_INT(weiri_outcome_action(rows[i].outcome, &terms, decisions[k]), ==,
                          has_failed ? expected : WEIRI_END);
            }
        }
    }
}

TEST(attempts, "the last attempt allowed is not followed by another")
{
    static const struct {
        uint32_t attempt;
        uint32_t max;
        enum weiri_action action;
    } cases[] = {
        {1, 0, WEIRI_RETRY},          {UINT32_MAX, 0, WEIRI_RETRY}, {1, 1, WEIRI_EXHAUSTED},
        {1, 2, WEIRI_RETRY},          {2, 2, WEIRI_EXHAUSTED},      {3, 2, WEIRI_EXHAUSTED},
        {4, UINT32_MAX, WEIRI_RETRY},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct weiri_terms terms = {.attempt = cases[i].attempt, .attempts = cases[i].max};
        CHECK_INT(weiri_outcome_action(WEIRI_FAILED, &terms, WEIR_RETRY), ==, cases[i].action);
        CHECK_INT(weiri_outcome_action(WEIRI_FAILED, &terms, WEIR_DROP), ==, WEIRI_DROP);
    }
}

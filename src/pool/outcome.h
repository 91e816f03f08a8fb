/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_OUTCOME_H
#define WEIRI_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/envelope.h>

/* The table of statuses and next actions in weir/envelope.h, as plain functions. */

enum weiri_outcome {
    WEIRI_SUCCEEDED,
    WEIRI_FAILED,
    WEIRI_PANICKED,
    WEIRI_TIMED_OUT,
    WEIRI_CANCELED,
    WEIRI_STOPPED
};

enum weiri_outcome weiri_outcome_of(int status);

/* The facts about envelope and pool that the table needs. */
struct weiri_terms {
    bool is_periodic;
    bool timeouts_fail;
    uint32_t attempt;  /* this one, from 1 */
    uint32_t attempts; /* retry.attempts of the envelope; 0: no limit */
};

/* Whether the failure hook is called. */
bool weiri_outcome_is_failure(enum weiri_outcome outcome, const struct weiri_terms *terms);

enum weiri_action {
    WEIRI_END,       /* nothing follows */
    WEIRI_AGAIN,     /* the next run of a periodic envelope */
    WEIRI_DROP,      /* the envelope failed, and nothing follows */
    WEIRI_EXHAUSTED, /* the same, although a retry was asked for */
    WEIRI_RETRY      /* after the decision's delay */
};

/* The next action. decision is what the failure hook returned; it is used for failures of one-off
 * envelopes only. */
enum weiri_action weiri_outcome_action(enum weiri_outcome outcome, const struct weiri_terms *terms,
                                       int64_t decision);

#endif

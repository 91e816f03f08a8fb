/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "pool/outcome.h"

enum weiri_outcome weiri_outcome_of(int status)
{
    switch (status) {
    case WEIR_OK:
        return WEIRI_SUCCEEDED;
    case WEIR_ESTOP:
        return WEIRI_STOPPED;
    case WEIR_ECANCELED:
        return WEIRI_CANCELED;
    case WEIR_ETIMEDOUT:
        return WEIRI_TIMED_OUT;
    case WEIR_EPANIC:
        return WEIRI_PANICKED;
    default:
        return WEIRI_FAILED;
    }
}

bool weiri_outcome_is_failure(enum weiri_outcome outcome, const struct weiri_terms *terms)
{
    if (outcome == WEIRI_TIMED_OUT) {
        return terms->timeouts_fail && !terms->is_periodic;
    }
    return outcome == WEIRI_FAILED || outcome == WEIRI_PANICKED;
}

enum weiri_action weiri_outcome_action(enum weiri_outcome outcome, const struct weiri_terms *terms,
                                       int64_t decision)
{
    if (terms->is_periodic && outcome != WEIRI_STOPPED) {
        return WEIRI_AGAIN;
    }
    if (!weiri_outcome_is_failure(outcome, terms)) {
        return WEIRI_END;
    }
    if (decision == WEIR_DROP) {
        return WEIRI_DROP;
    }
    bool is_last = terms->attempts != 0 && terms->attempt >= terms->attempts;
    return is_last ? WEIRI_EXHAUSTED : WEIRI_RETRY;
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/core/attempt.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Room for the prefix of any number. */
enum {
    PREFIX_SIZE = 32
};

static size_t write_prefix(char *text, int64_t number)
{
    return (size_t)snprintf(text, PREFIX_SIZE, "attempt %" PRId64 ": ", number);
}

const char *weiri_attempt_cut(const char *reason, int64_t number)
{
    char prefix[PREFIX_SIZE];
    size_t size = write_prefix(prefix, number);
    return strncmp(reason, prefix, size) == 0 ? reason + size : reason;
}

/* Writes the reason of a run that failed. Returns the part after the prefix. */
static const char *write_reason(const struct weiri_run *run, char reason[WEIR_REASON_SIZE])
{
    size_t prefix = write_prefix(reason, run->attempts);
    char *why = reason + prefix;
    size_t size = WEIR_REASON_SIZE - prefix;
    (void)snprintf(why, size, "%.*s", (int)size - 1, run->words->reason);
    if (why[0] == '\0') {
        (void)snprintf(why, size, "%s (status %d)", weir_status_text(run->status), run->status);
    }
    return why;
}

void weiri_decide_run(const struct weiri_run *run, struct weiri_next_action *ret_action)
{
    const struct weiri_run_words *words = run->words;
    struct weiri_settlement *settlement = &ret_action->settlement;
    bool is_put_off = run->was_run && run->status == WEIR_EAGAIN;
    *ret_action = (struct weiri_next_action){.could_not_start = is_put_off && words->retry_ns == 0};
    if (!run->was_run || is_put_off || (run->status == WEIR_ECANCELED && run->is_ending)) {
        settlement->event = WEIRI_JOB_RETURN; /* the handler did not fail: no attempt is counted */
        ret_action->delay_ns = ret_action->could_not_start ? WEIRI_START_RETRY_NS
                               : is_put_off                ? words->retry_ns
                                                           : 0;
        return;
    }
    if (run->status == WEIR_OK) {
        settlement->event = WEIRI_JOB_DONE;
        settlement->reason = words->reason[0] == '\0' ? NULL : words->reason;
        return;
    }
    bool is_last = run->status == WEIR_ESTOP || run->attempts >= run->attempts_max;
    settlement->event = is_last ? WEIRI_JOB_BURY : WEIRI_JOB_RELEASE;
    ret_action->delay_ns = is_last ? 0 : words->retry_ns;
    ret_action->why = write_reason(run, ret_action->reason);
    settlement->reason = ret_action->reason;
    settlement->end = (struct weiri_run_end){
        .outcome = is_last ? WEIR_RUN_BURIED : WEIR_RUN_RETRY,
        .status = run->status,
        .exit_status = words->exit_status,
        .signal = words->signal,
        .tail = words->tail,
    };
}

enum weir_run_outcome weiri_run_outcome(enum weiri_job_event event, enum weir_status settled)
{
    return settled != WEIR_OK          ? WEIR_RUN_LOST
           : event == WEIRI_JOB_DONE   ? WEIR_RUN_DONE
           : event == WEIRI_JOB_BURY   ? WEIR_RUN_BURIED
           : event == WEIRI_JOB_RETURN ? WEIR_RUN_RETURNED
                                       : WEIR_RUN_RETRY;
}

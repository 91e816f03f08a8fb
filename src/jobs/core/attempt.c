/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/core/attempt.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PREFIX "attempt %" PRId64 ": "

const char *weiri_attempt_cut(const char *reason, int64_t number)
{
    char prefix[32];
    size_t size = (size_t)snprintf(prefix, sizeof(prefix), PREFIX, number);
    return strncmp(reason, prefix, size) == 0 ? reason + size : reason;
}

/* Writes the reason of a run that failed. Returns the part after the prefix. */
static const char *write_reason(const struct weiri_run *run, char reason[WEIR_REASON_SIZE])
{
    int prefix = snprintf(reason, WEIR_REASON_SIZE, PREFIX, (int64_t)run->attempts);
    char *why = reason + prefix;
    size_t size = WEIR_REASON_SIZE - (size_t)prefix;
    (void)snprintf(why, size, "%.*s", (int)size - 1, run->reason);
    if (why[0] == '\0') {
        (void)snprintf(why, size, "%s (status %d)", weir_status_text(run->status), run->status);
    }
    return why;
}

void weiri_decide_run(const struct weiri_run *run, struct weiri_next_action *ret_action)
{
    struct weiri_settlement *settlement = &ret_action->settlement;
    bool is_put_off = run->was_run && run->status == WEIR_EAGAIN;
    *ret_action = (struct weiri_next_action){.could_not_start = is_put_off && run->retry_ns == 0};
    if (!run->was_run || is_put_off || (run->status == WEIR_ECANCELED && run->is_ending)) {
        settlement->event = WEIRI_JOB_RETURN; /* the handler did not fail: no attempt is counted */
        int64_t delay = ret_action->could_not_start ? WEIRI_START_RETRY_NS : run->retry_ns;
        settlement->delay_ns = is_put_off ? delay : 0;
        return;
    }
    if (run->status == WEIR_OK) {
        settlement->event = WEIRI_JOB_DONE;
        settlement->reason = run->reason[0] == '\0' ? NULL : run->reason;
        return;
    }
    bool is_last = run->status == WEIR_ESTOP || run->attempts >= run->attempts_max;
    settlement->event = is_last ? WEIRI_JOB_BURY : WEIRI_JOB_RELEASE;
    settlement->delay_ns = is_last ? 0 : run->retry_ns;
    ret_action->why = write_reason(run, ret_action->reason);
    settlement->reason = ret_action->reason;
    settlement->end = (struct weiri_run_end){
        .outcome = is_last ? WEIR_RUN_BURIED : WEIR_RUN_RETRY,
        .status = run->status,
        .exit_status = run->exit_status,
        .signal = run->signal,
        .tail = run->tail,
    };
}

enum weir_run_outcome weiri_run_outcome(enum weiri_job_event event, enum weir_status settled)
{
    return settled == WEIR_ECANCELED   ? WEIR_RUN_CANCELED
           : settled != WEIR_OK        ? WEIR_RUN_LOST
           : event == WEIRI_JOB_DONE   ? WEIR_RUN_DONE
           : event == WEIRI_JOB_BURY   ? WEIR_RUN_BURIED
           : event == WEIRI_JOB_RETURN ? WEIR_RUN_RETURNED
                                       : WEIR_RUN_RETRY;
}

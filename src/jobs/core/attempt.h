/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CORE_ATTEMPT_H
#define WEIRI_CORE_ATTEMPT_H

#include <weir/context.h>

#include "jobs/core/backend.h"

/* The delay before retrying a job whose handler could not start. Its worker pauses as long. */
#define WEIRI_START_RETRY_NS WEIR_SECONDS(1)

struct weiri_run {
    int status;     /* the handler's, where was_run */
    bool was_run;   /* else it was not begun */
    bool is_ending; /* the consumer is: a run that was cancelled did not fail */
    uint32_t attempts;
    uint32_t attempts_max;
    /* What the handler told; 0 and "": nothing. */
    int exit_status;
    int signal;
    int64_t retry_ns;
    char reason[WEIR_EXPLANATION_SIZE]; /* the explanation of the run */
    char tail[WEIR_TAIL_SIZE];
};

/* The next action for a job. It points to itself, and to the run. */
struct weiri_next_action {
    struct weiri_settlement settlement; /* delay_ns of a release 0: as the consumer retries */
    bool could_not_start;               /* the handler returned WEIR_EAGAIN, and told no time */
    const char *why;                    /* why the run failed, a part of reason; NULL: it did not */
    char reason[WEIR_REASON_SIZE];
};

/* Success ends a job. WEIR_ESTOP and the last attempt bury it. One that was not run, is put off, or
 * was cancelled by the end of its consumer is returned. All others are retried. */
void weiri_decide_run(const struct weiri_run *run, struct weiri_next_action *ret_action);

/* What is told of a run whose job was settled by an event, with a status. */
enum weir_run_outcome weiri_run_outcome(enum weiri_job_event event, enum weir_status settled);

/* The reason that a failed run leaves begins with its number, "attempt N: ", which the job needs
 * once it waits. The history of a job has the numbers beside: this is the part after it. */
const char *weiri_attempt_cut(const char *reason, int64_t number);

#endif

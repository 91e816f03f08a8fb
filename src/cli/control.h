/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_CONTROL_H
#define WEIRI_CLI_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/consumer.h>

/* The control channel of a program that runs for a job: a pipe, whose writing end is the descriptor
 * that $WEIR_CONTROL_FD names in the program. It takes lines:
 *
 *   progress N         how far the run is, 0 to 100
 *   touch              the deadline counts anew from now on
 *   deadline DURATION  the run may take so much longer from now on; none: any time
 *   retry DURATION     at its end the job comes back after that; uncounted if it ends with 0
 *   bury [REASON]      at its end the job is buried
 *   result TEXT        of a run that succeeds; kept where the tube keeps done jobs
 *
 * Of retry and bury the last one counts. Used by the thread that waits for the program. */

/* The descriptor in the program. */
#define CONTROL_FD 3
#define CONTROL_LINE_SIZE 1024

struct control {
    int reader;      /* ours, which does not block; -1: it has ended */
    bool is_skipped; /* the line that is being read is too long */
    size_t used;
    char line[CONTROL_LINE_SIZE];
};

/* A run, and what was told of it. */
struct control_run {
    weir_context *context;
    const struct weir_job *job;
    int64_t allowed_ns; /* of the deadline; 0: none */
    int64_t until_ns;   /* on the monotonic clock; 0: there is no deadline */
    int64_t retry_ns;   /* 0: not told */
    bool is_buried;
    bool has_complained; /* about a line; once for a run */
    char reason[WEIR_REASON_SIZE];
    char result[WEIR_REASON_SIZE];
};

/* Reads what there is, without blocking, and does what it says; run NULL: there is none, and the
 * lines are dropped. Reads no more than a pipe holds. */
void control_read(struct control *control, struct control_run *run);

/* The end of a program completes its last line, which need not have a newline. */
void control_finish(struct control *control, struct control_run *run);

/* Begins a run with a deadline after allowed_ns; 0: none. */
struct control_run control_begin(weir_context *context, const struct weir_job *job,
                                 int64_t allowed_ns);
/* The time of its deadline begins anew. */
void control_restart(struct control_run *run);
/* The time that is left until the run's deadline; not negative. WEIR_FOREVER: it has none. */
int64_t control_left(const struct control_run *run);
/* WEIR_OK while the run may go on; else WEIR_ETIMEDOUT or WEIR_ECANCELED. */
enum weir_status control_check(const struct control_run *run);
/* The time until it has to be checked again at the latest. */
int64_t control_check_ns(const struct control_run *run);

#endif

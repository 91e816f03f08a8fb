/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CORE_MOVE_H
#define WEIRI_CORE_MOVE_H

#include <weir/admin.h>

#include "jobs/core/backend.h"

/* A move. The source's backend finds the jobs, gives each to the target, and deletes it; one with
 * LIST does so by weiri_move_out(). */
struct weiri_move {
    const char *tube;
    struct weiri_side from;
    struct weiri_side to;
    weir_move_fn *fn; /* NULL: none */
    void *arg;
    int64_t late_ns; /* the target buries or deletes a job that is overdue by more; 0: none */
    struct weir_move_counts counts;
};

/* What became of a job that was given. */
enum weiri_given {
    WEIRI_GIVEN = 1,   /* the target has it */
    WEIRI_GIVEN_AGAIN, /* the target had it before */
    WEIRI_NOT_GIVEN,   /* the target cannot hold it: logged */
    WEIRI_MAYBE_GIVEN, /* nobody knows: logged */
    WEIRI_TARGET_FAILED
};

/* Puts a job into the target, with its identity as put_id where that keeps one. Such a target is
 * given an overdue job with the present as its run time; for another the source must see to that.
 * ret_id: its id there. The counts are the caller's. WEIRI_TARGET_FAILED has the last two. */
enum weiri_given weiri_move_give(struct weiri_move *move, const struct weir_job *job,
                                 struct weir_job_id *ret_id, enum weir_status *ret_status,
                                 struct weir_error *ret_error);
/* Logs why a job is left. */
void weiri_move_tell(const struct weiri_move *move, const char *id, const char *why);
/* Moves what a backend with LIST has: jobs are listed, put into the target one by one, and deleted
 * some at a time. name is a number of the source that tells it from others; nothing else moves jobs
 * out of it meanwhile. */
enum weir_status weiri_move_out(struct weiri_move *move, int64_t name,
                                struct weir_error *ret_error);
/* Tells of a step. False: the caller wants to end. */
bool weiri_move_step(struct weiri_move *move, enum weir_move_step step);

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CORE_FIRING_H
#define WEIRI_CORE_FIRING_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/job_schedule.h>

#include "cron/plan.h"

/* Which firings of a schedule put a job: plain functions of (plan, now), without clock, lock or,
 * but for the first, memory. Of a plan they use cron, interval_ns, tolerance_ns and catch_up_max.
 */

/* Fills in the plan of a schedule from an expression (NULL or "": a fixed rate) and a zone (the
 * same: the system's). To be given back by weiri_plan_fini(). Errors: those of weir_cron_new(). */
WEIR_NODISCARD enum weir_status weiri_schedule_plan(const struct weir_allocator *allocator,
                                                    const char *cron, const char *zone,
                                                    struct weiri_plan *plan,
                                                    struct weir_error *ret_error);

/* What becomes of the firings up to now. */
struct weiri_due {
    uint64_t count;   /* firings that put a job; they follow one another */
    int64_t first_ns; /* the first of them */
    uint64_t skipped; /* the others; of an expression at most 10,000 are counted */
    int64_t next_ns;  /* the first firing after now; WEIR_FOREVER: there is none */
};

/* Decides about the firings from first_ns, which is one, to now_ns. */
struct weiri_due weiri_due_decide(const struct weiri_plan *plan, enum weir_missed missed,
                                  int64_t first_ns, int64_t now_ns);

/* The same where its jobs do not overlap: at most the last of these firings puts a job, and none
 * beside an earlier one that has not ended. */
void weiri_due_alone(const struct weiri_plan *plan, bool is_running, struct weiri_due *due);

/* The same where the schedule resumes: those while it was paused put no job, and are skipped. A
 * fixed rate stays in step with first_ns, which may be ahead. */
struct weiri_due weiri_due_resume(const struct weiri_plan *plan, int64_t first_ns, int64_t now_ns);

/* The next firing of a schedule that is put. One that has the same times as before (NULL: it is
 * new) keeps next_ns. */
int64_t weiri_firing_of_put(const struct weiri_plan *plan,
                            const struct weir_job_schedule_options *options,
                            const struct weir_job_schedule_options *before, int64_t next_ns,
                            int64_t now_ns);

#endif

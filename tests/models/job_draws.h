/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_JOB_DRAWS_H
#define WEIR_TEST_JOB_DRAWS_H

/* What the models of a job's life and of a store draw at random, and what both say of a job whose
 * run was lost. */

#include "jobs/core/job.h"
#include "support/harness.h"

enum {
    UNIT_MS = 100 /* times are multiples of it, so that they meet */
};
#define UNIT WEIR_MS(UNIT_MS)

static const char lost_words[] =
    "its reservation ended: the worker died, or took longer than the TTR without a touch";

static int below(int limit)
{
    return (int)test_random_below((uint64_t)limit);
}

static int64_t units(int most)
{
    return below(most + 1) * UNIT;
}

/* What a holder tells of its run at a time of the clock of leases. */
static struct weiri_settlement any_settlement(const struct weiri_reservation *reservation,
                                              int64_t lease_ns)
{
    static const char *const reasons[] = {NULL, "", "it failed", "no such file"};
    enum weiri_job_event event =
        (enum weiri_job_event)(WEIRI_JOB_TOUCH + below(WEIRI_JOB_BURY - WEIRI_JOB_TOUCH + 1));
    bool is_timed = event == WEIRI_JOB_RELEASE || event == WEIRI_JOB_RETURN;
    bool has_failed = event == WEIRI_JOB_RELEASE || event == WEIRI_JOB_BURY;
    struct weiri_settlement settlement = {.reservation = reservation, .event = event};
    settlement.delay_ns = is_timed && below(3) != 0 ? units(30) : 0;
    settlement.since_ns = lease_ns - units(5);
    settlement.progress = event == WEIRI_JOB_TOUCH ? below(101) : 0;
    settlement.reason = has_failed || event == WEIRI_JOB_DONE ? reasons[below(4)] : NULL;
    settlement.end.outcome = event == WEIRI_JOB_RELEASE ? WEIR_RUN_RETRY
                             : event == WEIRI_JOB_BURY  ? WEIR_RUN_BURIED
                                                        : 0;
    return settlement;
}

#endif

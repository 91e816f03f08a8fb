/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_JOBS_SCHEDULE_H
#define WEIRI_JOBS_SCHEDULE_H

#include "cron/plan.h"
#include "jobs/broker.h"

/* Fills in the plan of a schedule from an expression (NULL or "": a fixed rate) and a zone (the
 * same: the system's). To be given back by weiri_plan_fini(). Errors: those of weir_cron_new(). */
WEIR_NODISCARD enum weir_status weiri_schedule_plan(const struct weir_allocator *allocator,
                                                    const char *cron, const char *zone,
                                                    struct weiri_plan *plan,
                                                    struct weir_error *ret_error);

#endif

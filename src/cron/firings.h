/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_FIRINGS_H
#define WEIRI_FIRINGS_H

#include <stdint.h>

#include "cron/plan.h"

/* The row of firings of a plan with a fixed rate or a cron expression, on the clock of the plan.
 * A firing at WEIR_FOREVER never comes. */

/* The first firing after one, or after any time of a cron plan. */
int64_t weiri_firing_after(const struct weiri_plan *plan, int64_t time_ns);

/* The firings from one on that are not after now_ns. */
struct weiri_firings {
    int64_t latest_ns;
    uint64_t count; /* of cron plans at most WEIR_CATCH_UP_LIMIT, where there are more */
};

/* first_ns is a firing that is not after now_ns; what begins with it is all there is. */
struct weiri_firings weiri_firings_passed(const struct weiri_plan *plan, int64_t first_ns,
                                          int64_t now_ns);

/* Of the firings from first_ns to latest_ns, which are at least so many, the first of the last
 * count. */
int64_t weiri_firing_of_last(const struct weiri_plan *plan, int64_t first_ns, int64_t latest_ns,
                             uint64_t count);

#endif

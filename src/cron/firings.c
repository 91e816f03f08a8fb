/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/time.h"
#include "cron/cron.h"
#include "cron/plan.h"

int64_t weiri_firing_after(const struct weiri_plan *plan, int64_t time_ns)
{
    return plan->cron != NULL ? weiri_cron_after(plan->cron, time_ns)
                              : weiri_time_add(time_ns, plan->interval_ns);
}

/* The last firing up to to_ns; first_ns, which is not after it, is taken for one. An expression
 * only tells what comes next. So this tries how far back it is, from a guess on, and then halves
 * the time in which it must lie: low_ns is a firing, and none lies after high_ns. With a good guess
 * that takes two calls of the calendar, without one forty. */
static int64_t cron_last(const struct weiri_plan *plan, int64_t first_ns, int64_t to_ns,
                         int64_t guess_ns)
{
    int64_t low_ns;
    int64_t high_ns = to_ns;
    do {
        int64_t from_ns = weiri_time_sub(to_ns, guess_ns);
        low_ns = from_ns < first_ns ? first_ns : weiri_firing_after(plan, from_ns);
        guess_ns = weiri_time_add(guess_ns, guess_ns);
    } while (low_ns > to_ns);
    while (weiri_firing_after(plan, low_ns) <= high_ns) {
        int64_t middle_ns = low_ns + (int64_t)(((uint64_t)high_ns - (uint64_t)low_ns) / 2);
        int64_t next_ns = weiri_firing_after(plan, middle_ns);
        if (next_ns <= high_ns) {
            low_ns = next_ns;
        } else {
            high_ns = middle_ns;
        }
    }
    return low_ns;
}

struct weiri_firings weiri_firings_passed(const struct weiri_plan *plan, int64_t first_ns,
                                          int64_t now_ns)
{
    struct weiri_firings passed;
    if (plan->cron == NULL) {
        /* The difference of two times fits into an unsigned number. */
        uint64_t between_ns = (uint64_t)now_ns - (uint64_t)first_ns;
        uint64_t whole = between_ns / (uint64_t)plan->interval_ns;
        passed.latest_ns = (int64_t)((uint64_t)first_ns + whole * (uint64_t)plan->interval_ns);
        passed.count = whole + 1;
        return passed;
    }
    passed.latest_ns = cron_last(plan, first_ns, now_ns, WEIR_SECONDS(1));
    passed.count = 1;
    for (int64_t at_ns = first_ns; at_ns < passed.latest_ns && passed.count < WEIR_CATCH_UP_LIMIT;
         passed.count++) {
        at_ns = weiri_firing_after(plan, at_ns);
    }
    return passed;
}

int64_t weiri_firing_of_last(const struct weiri_plan *plan, int64_t first_ns, int64_t latest_ns,
                             uint64_t count)
{
    if (plan->cron == NULL) {
        return (int64_t)((uint64_t)latest_ns - (count - 1) * (uint64_t)plan->interval_ns);
    }
    int64_t at_ns = latest_ns;
    int64_t gap_ns = WEIR_SECONDS(1);
    for (uint64_t i = 1; i < count; i++) {
        int64_t before_ns = cron_last(plan, first_ns, at_ns - 1, gap_ns);
        gap_ns = at_ns - before_ns;
        at_ns = before_ns;
    }
    return at_ns;
}

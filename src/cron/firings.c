/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cron/firings.h"

#include "base/time.h"
#include "cron/cron.h"

static int64_t cron_after(const struct weiri_plan *plan, int64_t time_ns)
{
    int64_t next_ns = weiri_cron_after(plan->cron, weiri_time_sub(time_ns, plan->offset_ns));
    return weiri_time_add(next_ns, plan->offset_ns);
}

int64_t weiri_firing_after(const struct weiri_plan *plan, int64_t time_ns)
{
    return plan->cron != NULL ? cron_after(plan, time_ns)
                              : weiri_time_add(time_ns, plan->interval_ns);
}

/* The last firing from first_ns on that is not after to_ns. An expression only tells what comes
 * next, so this is a search: back from to_ns in steps that double until there is a firing in
 * between, then by halves. In each half either there is a firing, which is the new lower end, or
 * there is none, and the upper end comes down. */
static int64_t cron_last(const struct weiri_plan *plan, int64_t first_ns, int64_t to_ns)
{
    int64_t low_ns = first_ns;
    for (int64_t step_ns = WEIR_SECONDS(1); weiri_time_sub(to_ns, step_ns) > first_ns;
         step_ns = weiri_time_add(step_ns, step_ns)) {
        int64_t next_ns = cron_after(plan, to_ns - step_ns);
        if (next_ns <= to_ns) {
            low_ns = next_ns;
            break;
        }
    }
    int64_t high_ns = to_ns;
    while (cron_after(plan, low_ns) <= high_ns) {
        int64_t middle_ns = low_ns + (int64_t)(((uint64_t)high_ns - (uint64_t)low_ns) / 2);
        int64_t upper_ns = cron_after(plan, middle_ns);
        if (upper_ns <= high_ns) {
            low_ns = upper_ns;
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
        /* A difference of times fits into 64 bits without a sign. */
        uint64_t between_ns = (uint64_t)now_ns - (uint64_t)first_ns;
        uint64_t whole = between_ns / (uint64_t)plan->interval_ns;
        passed.latest_ns = (int64_t)((uint64_t)first_ns + whole * (uint64_t)plan->interval_ns);
        passed.count = whole + 1;
        return passed;
    }
    passed.latest_ns = cron_last(plan, first_ns, now_ns);
    passed.count = 1;
    for (int64_t at_ns = first_ns; at_ns < passed.latest_ns && passed.count < WEIR_CATCH_UP_LIMIT;
         passed.count++) {
        at_ns = cron_after(plan, at_ns);
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
    for (uint64_t i = 1; i < count; i++) {
        at_ns = cron_last(plan, first_ns, at_ns - 1);
    }
    return at_ns;
}

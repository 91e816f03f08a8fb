/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/core/firing.h"

#include <string.h>

#include "base/time.h"

enum weir_status weiri_schedule_plan(const struct weir_allocator *allocator, const char *cron,
                                     const char *zone, struct weiri_plan *plan,
                                     struct weir_error *ret_error)
{
    struct weir_cron_options options = {0};
    plan->cron = NULL;
    if (cron == NULL || cron[0] == '\0') {
        return WEIR_OK;
    }
    options.allocator = *allocator;
    options.zone = zone == NULL || zone[0] == '\0' ? NULL : zone;
    options.flags = WEIR_CRON_SECONDS;
    return weir_cron_new(cron, &options, &plan->cron, ret_error);
}

struct weiri_due weiri_due_decide(const struct weiri_plan *plan, enum weir_missed missed,
                                  int64_t first_ns, int64_t now_ns)
{
    struct weiri_due due = {.next_ns = first_ns};
    if (first_ns > now_ns) {
        return due;
    }
    struct weiri_firings passed = weiri_firings_passed(plan, first_ns, now_ns);
    uint64_t most = missed == WEIR_MISSED_ALL ? plan->catch_up_max : 1;
    bool is_late = weiri_time_sub(now_ns, passed.latest_ns) > plan->tolerance_ns;
    due.count = passed.count < most ? passed.count : most;
    due.count = missed == WEIR_MISSED_SKIP && is_late ? 0 : due.count;
    due.skipped = passed.count - due.count;
    due.first_ns =
        due.count == 0 ? 0 : weiri_firing_of_last(plan, first_ns, passed.latest_ns, due.count);
    due.next_ns = weiri_firing_after(plan, passed.latest_ns);
    return due;
}

void weiri_due_alone(const struct weiri_plan *plan, bool is_running, struct weiri_due *due)
{
    uint64_t most = is_running ? 0 : 1;
    if (due->count <= most) {
        return;
    }
    while (!is_running && weiri_firing_after(plan, due->first_ns) < due->next_ns) {
        due->first_ns = weiri_firing_after(plan, due->first_ns);
    }
    due->skipped += due->count - most;
    due->count = most;
}

/* The first firing after now_ns of a schedule that has one at at_ns. */
static int64_t find_from_now(const struct weiri_plan *plan, int64_t at_ns, int64_t now_ns)
{
    if (plan->cron != NULL) {
        return weiri_firing_after(plan, now_ns);
    }
    if (at_ns > now_ns) {
        int64_t ahead_ns = weiri_time_sub(at_ns, now_ns) - 1;
        return at_ns - ahead_ns / plan->interval_ns * plan->interval_ns;
    }
    return weiri_firing_after(plan, weiri_firings_passed(plan, at_ns, now_ns).latest_ns);
}

struct weiri_due weiri_due_resume(const struct weiri_plan *plan, int64_t first_ns, int64_t now_ns)
{
    struct weiri_due due = {.next_ns = find_from_now(plan, first_ns, now_ns)};
    due.skipped = first_ns > now_ns ? 0 : weiri_firings_passed(plan, first_ns, now_ns).count;
    return due;
}

int64_t weiri_firing_of_put(const struct weiri_plan *plan,
                            const struct weir_job_schedule_options *options,
                            const struct weir_job_schedule_options *before, int64_t next_ns,
                            int64_t now_ns)
{
    int64_t first = options->first_at_ns; /* 0: none was asked for */
    if (before != NULL && strcmp(before->cron, options->cron) == 0 &&
        strcmp(before->zone, options->zone) == 0 && before->interval_ns == options->interval_ns &&
        before->first_at_ns == first) {
        return next_ns;
    }
    if (plan->cron != NULL) {
        return weiri_firing_after(plan, first > now_ns ? first - 1 : now_ns);
    }
    if (first == 0) {
        return weiri_time_add(now_ns, plan->interval_ns);
    }
    return first >= now_ns ? first : find_from_now(plan, first, now_ns);
}

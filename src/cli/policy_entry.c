/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/policy_entry.h"

#include <string.h>
#include <sysexits.h>

#include <weir/duration.h>

#include "cli/report.h"

int policy_entry_set(int option, const char *name, const char *text, void *arg)
{
    struct policy_entry *entry = arg;
    switch ((enum policy_option)option) {
    case POLICY_ARCHIVE:
        if (strcmp(text, "forever") == 0) {
            entry->archive_ns = WEIR_FOREVER;
            return EX_OK;
        }
        return read_duration(name, text, 0, &entry->archive_ns);
    case POLICY_ARCHIVE_COUNT:
        return read_number(name, text, 0, INT64_C(999999999999999999), &entry->archive_count);
    case POLICY_LATE:
        for (entry->late = WEIR_LATE_RUN; entry->late <= WEIR_LATE_DROP; entry->late++) {
            if (strcmp(text, weir_late_name((enum weir_late)entry->late)) == 0) {
                return EX_OK;
            }
        }
        return report(EX_USAGE, "%s: %s: expected run, bury or drop", name, quote(text).text);
    case POLICY_LATE_AFTER:
        return read_duration(name, text, 1, &entry->late_ns);
    case POLICY_PER_GROUP:
        return read_number(name, text, 0, UINT32_MAX, &entry->group_limit);
    }
    return EX_OK;
}

int policy_entry_check(const struct policy_entry *entry, const char *place, const char *dashes)
{
    if (entry->archive_ns == 0 && entry->archive_count > 0) {
        return report(EX_USAGE, "%s%sarchive-count: none are kept; expected %sarchive with a time",
                      place, dashes, dashes);
    }
    if (entry->late == WEIR_LATE_RUN && entry->late_ns >= 0) {
        return report(EX_USAGE, "%s%slate-after: late jobs run; expected %slate bury or drop",
                      place, dashes, dashes);
    }
    return EX_OK;
}

bool policy_entry_is_change(const struct policy_entry *entry)
{
    return memcmp(entry, &(struct policy_entry)POLICY_ENTRY_NONE, sizeof(*entry)) != 0;
}

/* Takes what was given into the policy that is there. A number of jobs to keep switches the archive
 * on, and a limit for late jobs their burial. */
static void merge(const struct policy_entry *entry, struct weir_tube_policy *policy)
{
    if (entry->archive_ns >= 0) {
        policy->archive_ns = entry->archive_ns;
    } else if (policy->archive_ns == 0 && entry->archive_count > 0) {
        policy->archive_ns = WEIR_FOREVER;
    }
    if (entry->archive_count >= 0 || policy->archive_ns == 0) {
        policy->archive_count = entry->archive_count > 0 ? (uint64_t)entry->archive_count : 0;
    }
    if (entry->late >= 0) {
        policy->late = (uint32_t)entry->late;
    } else if (policy->late == WEIR_LATE_RUN && entry->late_ns >= 0) {
        policy->late = WEIR_LATE_BURY;
    }
    if (entry->late_ns >= 0 || policy->late == WEIR_LATE_RUN) {
        policy->late_ns = entry->late_ns > 0 ? entry->late_ns : 0;
    }
    if (entry->group_limit >= 0) {
        policy->group_limit = (uint32_t)entry->group_limit;
    }
}

int policy_entry_apply(weir_broker *broker, const char *tube, const struct policy_entry *entry,
                       struct weir_tube_policy *ret_policy,
                       struct weir_tube_policy_counts *ret_counts)
{
    struct weir_error error = {0};
    enum weir_status status = weir_broker_policy(broker, tube, ret_policy, ret_counts, &error);
    bool is_known = status == WEIR_OK;
    if (policy_entry_is_change(entry) && (is_known || status == WEIR_ENOTFOUND)) {
        merge(entry, ret_policy);
        status = weir_broker_set_policy(broker, tube, ret_policy, &error);
    }
    if (status == WEIR_ENOTFOUND) {
        return report(EX_NOINPUT, "%s: no such tube; expected one that a job was put into",
                      quote(tube).text);
    }
    return status == WEIR_OK ? EX_OK : report_status(status, quote(tube).text, &error);
}

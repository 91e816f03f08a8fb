/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_POLICY_ENTRY_H
#define WEIRI_CLI_POLICY_ENTRY_H

#include <weir/policy.h>

#include "cli/arguments.h"

/* A tube's policy that is given in words: to `weir policy`, and in a set-up of `weir run`. */

enum policy_option {
    POLICY_ARCHIVE = OPTION_SHARED,
    POLICY_ARCHIVE_COUNT,
    POLICY_LATE,
    POLICY_LATE_AFTER,
    POLICY_PER_GROUP
};

/* Rows of a table of options. */
#define POLICY_ENTRY_OPTIONS                                                                       \
    OPTION_VALUE("archive", '\0', POLICY_ARCHIVE,                                                  \
                 "Keep jobs that are done so long; `forever`; 0: delete them (the default)",       \
                 "DURATION"),                                                                      \
        OPTION_VALUE("archive-count", '\0', POLICY_ARCHIVE_COUNT,                                  \
                     "Keep at most so many, the newest; 0: any number (the default)", "N"),        \
        OPTION_VALUE("late", '\0', POLICY_LATE,                                                    \
                     "What becomes of jobs that are found late: run (the default), bury or drop",  \
                     "WHAT"),                                                                      \
        OPTION_VALUE("late-after", '\0', POLICY_LATE_AFTER,                                        \
                     "Later than this after the run time is late (default: 30m)", "DURATION"),     \
        OPTION_VALUE("per-group", '\0', POLICY_PER_GROUP,                                          \
                     "Run at most so many of a group (`put --group`) at once, over all workers; "  \
                     "0: any number (the default)",                                                \
                     "N")

/* What the options say; -1 of one that was not given. */
struct policy_entry {
    int64_t archive_ns;
    int64_t archive_count;
    int64_t late;
    int64_t late_ns;
    int64_t group_limit;
};
#define POLICY_ENTRY_NONE                                                                          \
    {                                                                                              \
        -1, -1, -1, -1, -1                                                                         \
    }

/* An option_fn of these rows; arg is a struct policy_entry. */
int policy_entry_set(int option, const char *name, const char *text, void *arg);

/* Refuses options that contradict each other. place begins messages; dashes precede the names of
 * options there. Returns 0 or an exit status, after saying why. */
int policy_entry_check(const struct policy_entry *entry, const char *place, const char *dashes);

/* Whether any option was given. */
bool policy_entry_is_change(const struct policy_entry *entry);

/* Reads the policy of a tube and, where an option was given, changes it; what was not given stays.
 * Returns 0 or an exit status, after saying why. */
int policy_entry_apply(weir_broker *broker, const char *tube, const struct policy_entry *entry,
                       struct weir_tube_policy *ret_policy,
                       struct weir_tube_policy_counts *ret_counts);

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_POLICY_ENTRY_H
#define WEIRI_CLI_POLICY_ENTRY_H

#include <weir/policy.h>

#include "cli/arguments.h"

/* A tube's policy that is given in words: to `weir policy`, and in a set-up of `weir run`. */

enum policy_option {
    POLICY_KEEP = OPTION_SHARED,
    POLICY_KEEP_COUNT,
    POLICY_ARCHIVE,
    POLICY_LATE,
    POLICY_LATE_AFTER,
    POLICY_PER_GROUP
};

/* Rows of a table of options. */
#define POLICY_ENTRY_OPTIONS                                                                       \
    OPTION_VALUE("keep", '\0', POLICY_KEEP,                                                        \
                 "Keep ended jobs so long (default: 7d); `forever`; 0: not at all", "DURATION"),   \
        OPTION_VALUE("keep-count", '\0', POLICY_KEEP_COUNT,                                        \
                     "Keep so many, the last ones; 0 (the default): 1000, less of many tubes",     \
                     "N"),                                                                         \
        OPTION_VALUE("archive", '\0', POLICY_ARCHIVE,                                              \
                     "Whether done jobs keep their bodies: yes or no (the default)", "YES"),       \
        OPTION_VALUE("late", '\0', POLICY_LATE,                                                    \
                     "What becomes of jobs that are found late: run (the default), bury or drop",  \
                     "WHAT"),                                                                      \
        OPTION_VALUE("late-after", '\0', POLICY_LATE_AFTER,                                        \
                     "Later than this after the run time is late (default: 30m)", "DURATION"),     \
        OPTION_VALUE("per-group", '\0', POLICY_PER_GROUP,                                          \
                     "Run at most so many of a group (`put --group`) at once, over all workers; "  \
                     "0: any number (the default)",                                                \
                     "N")

/* An option_fn of these rows; arg is a struct weir_tube_policy, whose members are those given. */
int policy_entry_set(int option, const char *name, const char *text, void *arg);

/* Refuses options that contradict each other. place begins messages; dashes precede the names of
 * options there. Returns 0 or an exit status, after saying why. */
int policy_entry_check(const struct weir_tube_policy *change, const char *place,
                       const char *dashes);

/* Changes the policy of a tube, where anything was given. Returns 0 or an exit status, after saying
 * why. */
int policy_entry_apply(weir_broker *broker, const char *tube,
                       const struct weir_tube_policy *change);

#endif

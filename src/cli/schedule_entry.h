/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_SCHEDULE_ENTRY_H
#define WEIRI_CLI_SCHEDULE_ENTRY_H

#include <weir/job_schedule.h>

#include "cli/arguments.h"

/* A schedule that is given in words: to `weir schedule add`, and in a set-up of `weir run`. */

enum schedule_option {
    SCHEDULE_CATCH_UP = OPTION_SHARED,
    SCHEDULE_CRON,
    SCHEDULE_EVERY,
    SCHEDULE_FIRST,
    SCHEDULE_MISSED,
    SCHEDULE_NO_OVERLAP,
    SCHEDULE_PRIORITY,
    SCHEDULE_TOLERANCE,
    SCHEDULE_TTR,
    SCHEDULE_ZONE
};

/* Rows of a table of options. */
#define SCHEDULE_ENTRY_OPTIONS                                                                     \
    OPTION_VALUE("cron", 'c', SCHEDULE_CRON,                                                       \
                 "add: put a job at the times of this expression, e.g. '*/15 9-17 * * mon-fri'",   \
                 "EXPRESSION"),                                                                    \
        OPTION_VALUE("every", 'e', SCHEDULE_EVERY, "add: put a job so often, e.g. 10m",            \
                     "DURATION"),                                                                  \
        OPTION_VALUE("zone", 'z', SCHEDULE_ZONE,                                                   \
                     "add: the zone of an expression that names none (default: this system's)",    \
                     "ZONE"),                                                                      \
        OPTION_VALUE("first", '\0', SCHEDULE_FIRST, "add: not before this time", "TIME"),          \
        OPTION_VALUE("missed", '\0', SCHEDULE_MISSED,                                              \
                     "add: times that pass without a worker: a job for all of them (once, the "    \
                     "default), for the last one if it is recent (skip), or for each (all)",       \
                     "POLICY"),                                                                    \
        OPTION_VALUE("tolerance", '\0', SCHEDULE_TOLERANCE,                                        \
                     "add: with skip, how late the last one may be (default: 1m)", "DURATION"),    \
        OPTION_VALUE("catch-up", '\0', SCHEDULE_CATCH_UP,                                          \
                     "add: with all, at most so many of the last ones (default: 100)", "N"),       \
        OPTION_FLAG("no-overlap", '\0', SCHEDULE_NO_OVERLAP,                                       \
                    "add: put no job while the last one has not ended"),                           \
        OPTION_VALUE("priority", 'p', SCHEDULE_PRIORITY, "add: of the jobs; smaller runs first",   \
                     "N"),                                                                         \
        OPTION_VALUE(                                                                              \
            "ttr", '\0', SCHEDULE_TTR,                                                             \
            "add: of the jobs: a worker that gives no sign of life for so long has lost one "      \
            "(default: 60s)",                                                                      \
            "DURATION")

/* An option_fn of these rows; arg is a struct weir_job_schedule_options. Texts are borrowed. */
int schedule_entry_set(int option, const char *name, const char *text, void *arg);

/* Checks what the options say together. place begins messages; dashes precede the
 * names of options there. Returns 0 or an exit status, after saying why. */
int schedule_entry_check(const struct weir_job_schedule_options *options, const char *place,
                         const char *dashes);

/* Makes the schedule, or changes it. Returns 0 or an exit status, after saying why. */
int schedule_entry_put(weir_broker *broker, const struct weir_job_schedule_options *options,
                       const char *place);

#endif

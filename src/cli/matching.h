/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_MATCHING_H
#define WEIRI_CLI_MATCHING_H

#include <stdbool.h>

#include "cli/ids.h"

/* Commands that do one thing with all jobs of a tube that match a filter. */

/* `val` of their options. */
enum matching_option {
    MATCHING_ATTEMPTS = OPTION_SHARED,
    MATCHING_DRY_RUN,
    MATCHING_OLDER,
    MATCHING_STATE,
    MATCHING_TEXT,
    MATCHING_TUBE,
    MATCHING_YES
};

/* Their rows of a table of options. */
#define MATCHING_FILTERS                                                                           \
    OPTION_VALUE("state", 's', MATCHING_STATE, "In this state, of those that it is for", "STATE"), \
        OPTION_VALUE("text", 't', MATCHING_TEXT, "With this text in body or reason", "TEXT"),      \
        OPTION_VALUE("attempts", '\0', MATCHING_ATTEMPTS, "With at least so many attempts", "N"),  \
        OPTION_VALUE("older", '\0', MATCHING_OLDER, "Put so long ago", "DURATION"),                \
        OPTION_FLAG("dry-run", '\0', MATCHING_DRY_RUN, "Only tell how many jobs match")
#define MATCHING_OPTIONS                                                                           \
    OPTION_VALUE("tube", '\0', MATCHING_TUBE,                                                      \
                 "Instead of ids: all jobs of this tube that match what follows", "TUBE"),         \
        MATCHING_FILTERS, OPTION_FLAG("yes", 'y', MATCHING_YES, "Do not ask")

struct matching {
    struct weir_job_filter filter; /* Starts as zeros. */
    int first;                     /* The first such option; 0: none was given. */
    int64_t limit;                 /* At most so many jobs; 0: all. */
    bool asks_of_time; /* It runs jobs before their time: that of how many, and how far ahead? */
    int64_t until_ns;  /* Those for a later time are left, and told of; 0: none are. */
    bool dry_run;
    bool yes;
};

/* Handles one option of them; as option_fn. */
int matching_set(struct matching *matching, int option, const char *name, const char *text);

/* Does it with the operands, which are ids, or with all jobs that match, and prints what became of
 * them. Opens the broker. Returns 0 or an exit status. */
int matching_run(const struct matching *matching, const struct arguments *arguments,
                 const struct ids_verb *verb, bool json);

/* Does it with all jobs that match; the filter names the tube. */
int matching_apply(const struct matching *matching, const struct arguments *arguments,
                   const struct ids_verb *verb, bool json);
/* Whether a filter lets all jobs of its tube through. */
bool matching_is_of_all(const struct weir_job_filter *filter);
/* Refuses a state that the verb is not for. */
int matching_check_state(const struct matching *matching, const struct ids_verb *verb);

#endif

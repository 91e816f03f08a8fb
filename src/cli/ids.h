/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_IDS_H
#define WEIRI_CLI_IDS_H

#include <stdbool.h>

#include <weir/admin.h>

#include "cli/arguments.h"

/* Commands that do one thing with jobs by their ids. */

/* Sets of states: a bit each. */
#define IDS_BURIED (1U << WEIR_JOB_BURIED)
#define IDS_WAITING (1U << WEIR_JOB_DELAYED | 1U << WEIR_JOB_READY)
#define IDS_RESERVED (1U << WEIR_JOB_RESERVED)
#define IDS_AT_REST (IDS_WAITING | IDS_BURIED)

struct ids_verb {
    struct weir_change change;
    const char *plain;    /* "remove" */
    const char *done;     /* "removed" */
    unsigned states;      /* that it is for */
    const char *expected; /* the same in words: "a buried job" */
    const char *busy;     /* what to do about one that a worker has */
    const char *left;     /* by a filter: what is said of those that were left */
    bool asks;            /* before more than one job is changed by a filter */
    bool takes_back;      /* by ids: those of workers that do not live, with change.is_forced all */
};

/* Whether an operand is an id: nothing but digits, or with one of `:`, `%` and `,`, which no name
 * of a tube has. A tube whose name is a number is named by --tube. */
bool ids_is_one(const char *operand);

/* Refuses operands that are none. Returns 0 or an exit status. */
int ids_check(const struct arguments *arguments);

/* Says why a call with a job's id failed. Returns the exit status. */
int ids_refuse(const char *id, enum weir_status status, const struct weir_error *error);

/* Does it with the operands, which are ids, and prints what became of each. Opens the broker.
 * Returns 0 or an exit status: that of the first job that was left alone. */
int ids_change(const struct arguments *arguments, const struct ids_verb *verb, bool json);

#endif

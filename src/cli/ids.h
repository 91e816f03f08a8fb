/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_IDS_H
#define WEIRI_CLI_IDS_H

#include <stdbool.h>

#include <weir/admin.h>

#include "cli/arguments.h"

/* Commands that do one thing with jobs by their ids. */

enum ids_what {
    IDS_REMOVE = 1,
    IDS_KICK,
    IDS_BURY,
    IDS_MOVE
};

/* Sets of states: a bit each. */
#define IDS_BURIED (1U << WEIR_JOB_BURIED)
#define IDS_WAITING (1U << WEIR_JOB_DELAYED | 1U << WEIR_JOB_READY)
#define IDS_AT_REST (IDS_WAITING | IDS_BURIED)
#define IDS_ARCHIVED (1U << WEIR_JOB_ARCHIVED)

struct ids_verb {
    enum ids_what what;
    const char *plain;    /* "revoke" */
    const char *done;     /* "revoked" */
    unsigned states;      /* that it is for */
    const char *expected; /* the same in words: "a buried job" */
    const char *reason;   /* bury */
    const char *tube;     /* move: to this one */
};

/* Does it with some jobs, as weir_broker_remove_ids() and its like. */
enum weir_status ids_apply(const struct ids_verb *verb, weir_broker *broker, const char *const *ids,
                           size_t count, enum weir_status *statuses, struct weir_error *error);

/* Does it with the operands, which are ids, and prints what became of each. Opens the broker.
 * Returns 0 or an exit status: that of the first job that was left alone. */
int ids_change(const struct arguments *arguments, const struct ids_verb *verb, bool json);

#endif

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
    IDS_BURY
};

struct ids_verb {
    enum ids_what what;
    const char *done;     /* "revoked" */
    const char *expected; /* the states that it is for: "a buried job" */
    const char *reason;   /* bury */
};

/* Does it with the operands, which are ids, and prints what became of each. Opens the broker.
 * Returns 0 or an exit status: that of the first job that was left alone. */
int ids_change(const struct arguments *arguments, const struct ids_verb *verb, bool json);

#endif

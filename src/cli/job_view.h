/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_JOB_VIEW_H
#define WEIRI_CLI_JOB_VIEW_H

#include <stdbool.h>

#include <weir/broker.h>

#include "cli/table.h"

/* Jobs shown by `ls`: lines of a table, or with --json an object each. */
struct job_view {
    bool body;
    bool json;
    bool failed; /* Printing did. */
    struct libscols_table *table;
};

/* Makes the table; false: out of memory. job_view_fini() must follow in both cases. */
bool job_view_init(struct job_view *view);
void job_view_fini(struct job_view *view);

/* Shows a job. Returns 0, or 1 if that failed. */
int job_view_show(struct job_view *view, const struct weir_job *job);

/* Prints the table. Returns 0 or an exit status, after saying why. */
int job_view_print(struct job_view *view);

/* Reads the name of a state. */
int read_state(const char *name, const char *text, enum weir_job_state *ret_state);

#endif

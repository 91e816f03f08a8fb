/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_ATTEMPTS_H
#define WEIRI_SQLITE_ATTEMPTS_H

#include "jobs/sqlite/store.h"

/* The attempts of jobs that failed. A row is written in the transaction that settles the run, or
 * that takes the job back after its lease ended, and is removed with the job. */

/* Adds the attempt that has just ended: the job's row has its start, its owner and its reason. On a
 * full disk it adds nothing, since settlements must need no space. Returns SQLite's codes. */
int weiri_attempt_add(struct weiri_store *store, int64_t number, const struct weiri_run_end *end,
                      int64_t now_ns);

#endif

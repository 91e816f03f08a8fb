/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_SCHEDULES_H
#define WEIRI_SQLITE_SCHEDULES_H

#include <stdbool.h>

#include "jobs/sqlite/row.h"

/* Puts the jobs of a tube's schedules that are due, inside the transaction of a consumer, so that
 * each firing puts one job. On a full disk it puts none. ret_has_more: others are due; the
 * transaction has changed enough. Returns SQLite's codes. */
int weiri_schedules_fire(struct weiri_store *store, struct weiri_tally *tally, int64_t tube,
                         int64_t now_ns, bool *ret_has_more);

/* When a schedule of the tube puts a job next; WEIR_FOREVER: never. Returns SQLite's codes. */
int weiri_schedules_next(struct weiri_store *store, int64_t tube, int64_t *ret_next_ns);

#endif

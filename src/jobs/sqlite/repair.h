/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_REPAIR_H
#define WEIRI_SQLITE_REPAIR_H

#include "jobs/sqlite/connection.h"

/* SQL: a job's row is in none of the states, has a verdict that is none, or waits with one, which
 * only a reserved job has: it would run, though somebody ended it. Or it has an outcome, which
 * exactly those have that have ended: a job would be lost, or run again. */
#define WEIRI_HAS_OUTCOME "ifnull(outcome BETWEEN 1 AND 8, 0)"
#define WEIRI_STATE_UNKNOWN                                                                        \
    "(ifnull(state, 0) NOT BETWEEN 1 AND 6 AND NOT ifnull(state = 9 AND lost > 1, 0)) "            \
    "OR ifnull(verdict, 1) NOT BETWEEN 1 AND 3 "                                                   \
    "OR (ifnull(state, 0) IN (1, 2, 9) AND verdict IS NOT NULL) "                                  \
    "OR ifnull(state IN (5, 6), 0) <> " WEIRI_HAS_OUTCOME

/* SQL: such a row in words. */
#define WEIRI_STATE_TEXT                                                                           \
    "printf('state %d, verdict %d and outcome %d do not fit', state, verdict, outcome)"

/* Makes the indexes of jobs anew from their table, buries the jobs that are in no known state,
 * mends numbers that are none, and raises the floor of the ids, in one transaction. Called by the
 * leader, outside of transactions, after a statement found the indexes damaged. Fails where the
 * table is damaged too; the caller rolls back then. Returns a code of SQLite. */
int weiri_repair_indexes(struct weiri_connection *connection);
/* The same inside a transaction. ret_damaged: how many were buried or mended. is_damaged
 * false: the old indexes can be read, so that their pages are used again. */
void weiri_repair_in_transaction(struct weiri_connection *connection, bool is_damaged,
                                 uint64_t *ret_damaged);

#endif

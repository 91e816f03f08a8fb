/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_REPAIR_H
#define WEIRI_SQLITE_REPAIR_H

#include "jobs/sqlite/connection.h"

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

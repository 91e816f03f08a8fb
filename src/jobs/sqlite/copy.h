/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_COPY_H
#define WEIRI_SQLITE_COPY_H

#include "jobs/sqlite/read.h"
#include "jobs/sqlite/row.h"

/* Reads a row of WEIRI_SQL_PICK or WEIRI_SQL_PEEK: the row's facts, and of the job all but its id,
 * its tube, its body and the facts. Its texts are the statement's. */
int weiri_job_read(sqlite3_stmt *statement, struct weiri_job_row *ret_row,
                   struct weir_job *ret_job);
/* Shows a row's facts in the job. */
void weiri_job_show(struct weir_job *job, const struct weiri_job_facts *facts);
/* Copies a job with its body. One whose body is missing or damaged has a status and says so. */
int weiri_job_copy(struct weiri_store *store, struct weiri_connection *connection, int64_t number,
                   struct weir_job *job, struct weiri_reservation **ret_copy);

/* Copies a job as it is, inside a transaction. *ret_copy is NULL where there is none, or it is not
 * in the state (0: any). It is not reserved; one whose body is damaged has a backend. Returns
 * SQLite's codes. */
int weiri_copy_job(struct weiri_reading *reading, int64_t number, enum weir_job_state state,
                   struct weiri_reservation **ret_copy);

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_READ_H
#define WEIRI_SQLITE_READ_H

#include "jobs/sqlite/worker.h"

/* Reading happens on connections of its own, beside the writer and without the store's lock. A
 * transaction sees the store as of one moment, and keeps the log from being restarted. So none is
 * open while a callback runs, which may take any time and may call anything. */

/* Closes the connection of a reader for good and frees it. */
void weiri_reader_close(struct weiri_store *store, struct weiri_connection *reader);

/* A call that reads, in one transaction or several. */
struct weiri_reading {
    struct weiri_store *store;
    struct weiri_connection *reader;
    int64_t now_ns; /* when the transaction began */
    bool is_good;   /* the connection may be kept */
};

/* Has the idle connection, or a new one. It is kept for the next call, unless one is kept already,
 * or it failed. */
WEIR_NODISCARD enum weir_status weiri_reading_open(struct weiri_store *store,
                                                   struct weiri_reading *ret_reading,
                                                   struct weir_error *ret_error);
void weiri_reading_close(struct weiri_reading *reading);

/* What is read in a transaction. A failure sticks to the reader. */
typedef void weiri_read_fn(struct weiri_reading *reading, void *arg);
/* Reads in a transaction of its own. */
WEIR_NODISCARD enum weir_status weiri_reading_run(struct weiri_reading *reading, weiri_read_fn *run,
                                                  void *arg, struct weir_error *ret_error);
/* A reading of one transaction. */
WEIR_NODISCARD enum weir_status weiri_read(struct weiri_store *store, weiri_read_fn *run, void *arg,
                                           struct weir_error *ret_error);

/* --- schedules (schedule_look.c) --- */

struct weiri_schedule_row {
    int64_t number;
    int64_t tube; /* its number */
    int64_t job;  /* of the last firing; 0: none yet */
    int64_t first_at_ns;
    struct weir_job_schedule schedule; /* without its body; its texts are these: */
    struct weir_job_id last;
    char name[WEIR_TUBE_SIZE_MAX + 1];
    char tube_name[WEIR_TUBE_SIZE_MAX + 1];
    char cron[WEIR_SCHEDULE_CRON_SIZE_MAX + 1];
    char zone[WEIR_SCHEDULE_ZONE_SIZE_MAX + 1];
    char problem[sizeof(struct weir_error)];
};

/* Reads the columns WEIRI_SQL_SCHEDULE of a statement's row. */
void weiri_schedule_read(struct weiri_connection *connection, sqlite3_stmt *statement,
                         struct weiri_schedule_row *ret_row);

/* --- jobs as they are (copy.c) --- */

/* Reads a row of WEIRI_SQL_PICK or WEIRI_SQL_PEEK: the row's facts, and of the job all but its id,
 * its tube, its body and the facts. Its texts are the statement's. */
void weiri_job_read(struct weiri_connection *connection, sqlite3_stmt *statement,
                    struct weiri_job_row *ret_row, struct weir_job *ret_job);
/* Copies a job with the body of that row. One whose body is missing or damaged has a status and
 * says so. NULL: it has failed. */
struct weiri_reservation *weiri_job_copy(struct weiri_store *store,
                                         struct weiri_connection *connection,
                                         sqlite3_stmt *statement, int64_t number,
                                         struct weir_job *job);

/* Copies a job as it is, inside a transaction. NULL: there is none, or it is not in the filter's
 * state, or it has failed. It is not reserved; one whose body is damaged has a backend. */
struct weiri_reservation *weiri_copy_job(struct weiri_reading *reading, int64_t number,
                                         const struct weir_job_filter *filter);

#endif

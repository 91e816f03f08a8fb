/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_ROW_H
#define WEIRI_SQLITE_ROW_H

#include "jobs/core/state.h"
#include "jobs/sqlite/store.h"

/* Changing jobs inside a transaction: a row's facts are read, jobs/core/state.h decides what an
 * event makes of them, and they are written back, while the tube's counts follow. All functions
 * return SQLite's codes. */

/* The reason of a job that was buried for its body, or is shown with a damaged one. */
extern const char weiri_damage_reason[];

/* The key of a job. */
struct weiri_key {
    bool is_there;
    int64_t until_ns;
    uint64_t again; /* the token of the run that another is to follow; 0: none */
    int64_t again_at_ns;
};

struct weiri_row {
    int64_t number;
    int64_t tube;
    struct weiri_job_facts facts;
    int32_t priority;
    int32_t progress; /* -1: none was told */
    int64_t created_ns;
    int64_t started_ns;
    int64_t owner;
    struct weiri_key key;
};

/* What a transaction changes about one tube, added up until it is written. Starts all zero. */
struct weiri_tally {
    int64_t tube;      /* 0: none yet */
    int64_t counts[6]; /* by state; [0] is not used */
    int64_t put;
    int64_t done;
    int64_t retried;
    int64_t expired;
    bool has_ready;     /* a job became ready */
    int64_t delayed_ns; /* earliest run time of those that became delayed; 0: none */
    int64_t lease_ns;   /* earliest end of those that became reserved; 0: none */
};

/* Reads the columns WEIRI_SQL_JOB of a statement's row, but for its texts. SQLITE_CORRUPT: they are
 * invalid. */
int weiri_row_read(sqlite3_stmt *statement, struct weiri_row *ret_row);

/* SQLITE_ROW: found; SQLITE_DONE: no such job. */
int weiri_row_load(struct weiri_store *store, int64_t number, struct weiri_row *ret_row);

/* Applies an event to a row and writes it. reason NULL: as it was. ret_status is what
 * weiri_job_apply() said; nothing is written unless it is WEIR_OK. */
int weiri_row_step(struct weiri_store *store, struct weiri_tally *tally, struct weiri_row *row,
                   const struct weiri_job_step *step, int64_t now_ns, const char *reason,
                   enum weir_status *ret_status);

/* Moves a row to another tube. from and to are different tallies. ret_status: WEIR_OK, or why it
 * stays: WEIR_EBUSY (reserved; its key or put_id is there), WEIR_ESTATE (archived). */
int weiri_row_refile(struct weiri_store *store, struct weiri_tally *from, struct weiri_tally *to,
                     struct weiri_row *row, int64_t tube, int64_t now_ns,
                     enum weir_status *ret_status);

/* Applies an event to at most limit rows of a statement, which selects them by tube and time.
 * ret_count may be less than there are, and is 0 when there are no
 * more. After the event the statement must no longer select the rows. */
int weiri_rows_step(struct weiri_store *store, struct weiri_tally *tally, enum weiri_sql which,
                    int64_t tube, int64_t until_ns, size_t limit, const struct weiri_job_step *step,
                    int64_t now_ns, const char *reason, size_t *ret_count);

/* Counts a job that was not there before. */
int weiri_tally_add(struct weiri_store *store, struct weiri_tally *tally, int64_t tube,
                    const struct weiri_job_facts *facts);

/* Writes the counts, notifies channels of tubes with news for waiters, and empties the tally. */
int weiri_tally_flush(struct weiri_store *store, struct weiri_tally *tally);

#endif

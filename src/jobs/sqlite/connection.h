/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_CONNECTION_H
#define WEIRI_SQLITE_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "jobs/core/backend.h"
#include "jobs/sqlite/statements.h"

/* A connection to a store's file with its prepared statements. Used by one thread at a time. */
struct weiri_connection {
    sqlite3 *db;
    bool has_made_log;                              /* there was no WAL before */
    bool is_for_one_call;                           /* it is not kept: see connection.c */
    sqlite3_stmt *statements[WEIRI_SQL_STATEMENTS]; /* NULL until first run */
};

enum weiri_connection_kind {
    WEIRI_CONNECTION_WRITER, /* opened under the store's lock */
    WEIRI_CONNECTION_READER  /* refuses to change anything */
};

/* Opens a store's file, which must exist, and checks it. The caller must close the connection
 * whether or not this succeeds: only the caller knows whether a new WAL may be removed. */
WEIR_NODISCARD enum weir_status weiri_connection_open(struct weiri_connection *connection,
                                                      const char *path,
                                                      enum weiri_connection_kind kind,
                                                      const struct weiri_broker_config *config,
                                                      struct weir_error *ret_error);

/* Closes. may_fold: the last connection of all processes checkpoints the WAL and removes it. Only
 * under the store's lock, and where no other open shares it (lock_holder.h): SQLite alone takes
 * itself for the last one where the process of another has lost its locks. */
void weiri_connection_close(struct weiri_connection *connection, bool may_fold);

/* Ends its statements. */
void weiri_connection_finalize(struct weiri_connection *connection);

/* The time that SQLite waits for locks of readers and of other programs. */
int weiri_connection_set_busy(sqlite3 *db, int64_t busy_ns);

/* Sets ret_statement to a statement without bindings, prepared at its first use. All functions from
 * here on return SQLite's codes. */
int weiri_sql_prepare(struct weiri_connection *connection, enum weiri_sql which,
                      sqlite3_stmt **ret_statement);
/* Prepares, binds integers to the first parameters, and takes the first step: SQLITE_ROW,
 * SQLITE_DONE, or a failure, after which there is nothing to end. */
int weiri_sql_start(struct weiri_connection *connection, enum weiri_sql which,
                    const int64_t *values, int count, sqlite3_stmt **ret_statement);
/* Ends a statement whose last step gave code: SQLITE_OK after a row or the end, else code. */
int weiri_sql_end(sqlite3_stmt *statement, int code);
/* Runs a statement whose rows do not matter. */
int weiri_sql_run(struct weiri_connection *connection, enum weiri_sql which, const int64_t *values,
                  int count);
/* Reads the only column of the first row; SQLITE_DONE where there is none. */
int weiri_sql_number(struct weiri_connection *connection, enum weiri_sql which,
                     const int64_t *values, int count, int64_t *ret_number);

#endif

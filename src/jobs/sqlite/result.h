/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_RESULT_H
#define WEIRI_SQLITE_RESULT_H

#include <stdbool.h>

#include <sqlite3.h>

#include <weir/broker.h>

/* Inside this folder results are SQLite's codes. They become statuses in the public operations. */

/* db may be NULL; it has the system's error behind a code. */
enum weir_status weiri_sqlite_status(sqlite3 *db, int code);

/* Writes a failure of SQLite into ret_error, and returns its status. */
enum weir_status weiri_sqlite_fail(struct weir_error *ret_error, sqlite3 *db, int code,
                                   const char *path);

/* Whether code is of a failed write or flush, after which the device cannot be trusted with the
 * next write either. */
bool weiri_sqlite_is_lasting(int code);

/* The last error number of a file (SQLITE_FCNTL_JOURNAL_POINTER: the log;
 * SQLITE_FCNTL_FILE_POINTER: the database); 0: none. */
int weiri_sqlite_errno(sqlite3 *db, int which_file);

/* SQLITE_FULL where code is a failed write to a file because of a quota or a limit; else code.
 * SQLite itself distinguishes only a full disk from a broken one, and sqlite3_system_errno() may be
 * that of an earlier failure. */
int weiri_sqlite_refine(sqlite3 *db, int which_file, int code);

#endif

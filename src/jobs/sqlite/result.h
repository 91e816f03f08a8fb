/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_RESULT_H
#define WEIRI_SQLITE_RESULT_H

#include <sqlite3.h>

#include <weir/broker.h>

/* Inside this room results are SQLite's codes; they become statuses where they leave it. */

/* db may be NULL; it knows the system's error behind a code. */
enum weir_status weiri_sqlite_status(sqlite3 *db, int code);

/* Tells a failure of SQLite in words, and returns its status. */
enum weir_status weiri_sqlite_fail(struct weir_error *ret_error, sqlite3 *db, int code,
                                   const char *path);

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_TUBE_H
#define WEIRI_SQLITE_TUBE_H

#include "jobs/sqlite/store.h"

/* The numbers of tubes. All functions return SQLite's codes. */

/* SQLITE_OK: found; SQLITE_DONE: it never had a job or a schedule. */
int weiri_tube_find(struct weiri_connection *connection, const char *name, int64_t *ret_tube);

/* Finds a tube, or adds it, inside a transaction. */
int weiri_tube_add(struct weiri_store *store, const char *name, int64_t *ret_tube);

/* Finds the latest run time of the tube's jobs that were put to run at once. */
int weiri_tube_last(struct weiri_store *store, int64_t tube, int64_t *ret_last_ns);

#endif

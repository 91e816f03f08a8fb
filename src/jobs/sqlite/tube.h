/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_TUBE_H
#define WEIRI_SQLITE_TUBE_H

#include "jobs/sqlite/store.h"

/* The numbers of tubes. Both functions return SQLite's codes. */

/* SQLITE_OK: found; SQLITE_DONE: it never had a job or a schedule. */
int weiri_tube_find(struct weiri_connection *connection, const char *name, int64_t *ret_tube);

/* Finds a tube, or adds it, inside a transaction. */
int weiri_tube_add(struct weiri_store *store, const char *name, int64_t *ret_tube);

#endif

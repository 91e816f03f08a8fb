/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_SCHEMA_H
#define WEIRI_SQLITE_SCHEMA_H

#include <stddef.h>

#include <sqlite3.h>

#include <weir/broker.h>

/* What a store's file looks like, and whether a file is one. */

#define WEIRI_SCHEMA_APPLICATION 0x77656972 /* "weir" */
#define WEIRI_SCHEMA_VERSION 1

/* The bytes of a new, empty store. To be freed by sqlite3_free(). */
WEIR_NODISCARD enum weir_status weiri_schema_image(unsigned char **ret_bytes, size_t *ret_size);

/* Looks at the first bytes of an open database without SQLite reading it: neither a lock is taken
 * nor a file made. Errors: WEIR_ESCHEMA (empty, no database, another program's, another version),
 * WEIR_ECORRUPT (shorter than its header), WEIR_EIO. */
WEIR_NODISCARD enum weir_status weiri_schema_check_header(sqlite3 *db, const char *path,
                                                          struct weir_error *ret_error);

/* Has the file of a database without WAL lost its end? To be asked under the store's lock: others
 * may be changing the file else. */
WEIR_NODISCARD enum weir_status weiri_schema_check_size(sqlite3 *db, const char *path,
                                                        struct weir_error *ret_error);

/* Are the tables those of this version, and no trigger, view or table besides? */
WEIR_NODISCARD enum weir_status weiri_schema_check(sqlite3 *db, const char *path,
                                                   struct weir_error *ret_error);

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_SCHEMA_H
#define WEIRI_SQLITE_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jobs/sqlite/connection.h"

/* The schema of a store's file, and checks whether a file is a store. */

#define WEIRI_SCHEMA_APPLICATION 0x77656972 /* "weir" */
#define WEIRI_SCHEMA_VERSION                                                                       \
    24 /* the only one; it rises with each change of the tables or lock file */
#define WEIRI_PAGE_SIZE 4096
#define WEIRI_FRAME_SIZE (24 + WEIRI_PAGE_SIZE) /* of a page in the log, and its header */
#define WEIRI_HEADER_SIZE 100                   /* of a database's first bytes */
#define WEIRI_STAMP_BITS 23

/* Makes a new, empty store, which is of no boot, of a new database (place.h). */
void weiri_schema_make(struct weiri_connection *own, void *unused);

/* The user version of a database: the schema's version in the low 8 bits, the store's stamp in the
 * others (stamp.h). */
int weiri_schema_user_version(int stamp);
int weiri_schema_stamp_of(int user_version);
int weiri_schema_new_user_version(void); /* of a random stamp */
/* The user version in a database's first bytes. */
int weiri_schema_header_user_version(const unsigned char header[WEIRI_HEADER_SIZE]);

/* Makes the indexes, which must not exist. */
void weiri_schema_make_indexes(struct weiri_connection *connection);

/* Checks the first bytes of an open database, which have a user version without the log, before
 * anything else is done with it. SQLite does not read them, so no lock is taken and no file is
 * made. is_locked: nobody changes the file now, so that one without a log shows whether it has lost
 * its end. Errors: WEIR_ESCHEMA (empty, no database, another program's, another version),
 * WEIR_ECORRUPT (too short), WEIR_EIO. */
WEIR_NODISCARD enum weir_status weiri_schema_check_header(sqlite3 *db, const char *path,
                                                          bool is_locked, int *ret_user_version,
                                                          struct weir_error *ret_error);

/* Does the same with a file. Not is_locked: it is to be written, and one that is read-only is
 * WEIR_EACCESS. */
WEIR_NODISCARD enum weir_status weiri_schema_peek(const char *path, bool is_locked,
                                                  int *ret_user_version,
                                                  struct weir_error *ret_error);

/* Checks that the version and the tables are those of this build. flags (of enum weir_broker_flags)
 * tells whether there may be other tables; never indexes and triggers on the store's. */
WEIR_NODISCARD enum weir_status weiri_schema_check(struct weiri_connection *connection,
                                                   const char *path, uint32_t flags,
                                                   struct weir_error *ret_error);

#endif

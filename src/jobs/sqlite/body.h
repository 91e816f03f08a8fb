/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_BODY_H
#define WEIRI_SQLITE_BODY_H

#include <weir/broker.h>

#include "jobs/sqlite/connection.h"

/* The body of a job, and its headers, as a store keeps them: under a checksum. */

struct weiri_stored_body {
    const void *bytes; /* NULL: empty */
    size_t size;
    const char *headers; /* "": none */
    bool is_sound;       /* the checksum fits */
    sqlite3_stmt *statement;
};

/* headers NULL: none. */
uint64_t weiri_stored_body_checksum(const struct weir_body *body, const char *headers);

/* Reads a body. It is SQLite's until weiri_sql_end(body.statement, code), which follows.
 * SQLITE_ROW: found; SQLITE_DONE: there is none, which is not sound. */
int weiri_stored_body_read(struct weiri_connection *connection, int64_t number,
                           struct weiri_stored_body *ret_body);

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_BODY_H
#define WEIRI_SQLITE_BODY_H

#include <weir/broker.h>

#include "jobs/sqlite/connection.h"

/* The body of a job, and what is told beside it, as a store keeps them: under one checksum, in the
 * job's row. What is larger is apart, in a row of its own that a run does not write again. */
#define WEIRI_BODY_INSIDE 3000 /* bytes; with the rest of the row they fit on a page */

/* A 64-bit checksum that detects damage, but no attacker. It is stored, so it is the same on every
 * machine and in every version, unlike the tables' hash (base/hash.h).
 *
 * FNV-1a on words of 8 bytes. Each step is a bijection of the state for a given word and of the
 * word for a given state, so damage within one word always shows; other damage is missed once in
 * 2^64. The last word is filled with zeros, and the size is mixed in so that zeros at the end
 * count. data may be NULL where size is 0. */
uint64_t weiri_checksum(const void *data, size_t size);

/* What is beside a body: the texts in the order of their list, each with its NUL. Empty ones at the
 * end are left out, so that fields to come change no body that has none of them. */
#define WEIRI_TOLD_SIZE (0 WEIRI_TOLD_FIELDS(WEIRI_TOLD_SIZE_OF))
#define WEIRI_TOLD_SIZE_OF(name, kind, limit, feature) +(limit) + 1

/* A body that is to be stored. */
struct weiri_new_body {
    int64_t checksum;
    struct weiri_value body;
    struct weiri_value told;
};

/* A body that is stored. */
struct weiri_stored_body {
    const void *bytes;
    size_t size;
    WEIRI_TOLD_FIELDS(WEIRI_TEXT_MEMBER) /* "": none */
    bool is_there;
    bool is_sound; /* the checksum fits; or it is not there, as its job has ended */
};

/* The value of what a put has beside its body. */
struct weiri_value weiri_told(const struct weiri_put *put, char bytes[WEIRI_TOLD_SIZE]);

/* told may be NULL's, or empty: nothing is beside it. */
uint64_t weiri_body_checksum(struct weiri_value body, struct weiri_value told);

/* Reads the columns WEIRI_SQL_BODY of a statement's row, from the number of the first on. It is the
 * statement's. */
void weiri_stored_body_read(struct weiri_connection *connection, sqlite3_stmt *statement, int first,
                            struct weiri_stored_body *ret_body);

#endif

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

/* A value that a statement's parameter gets. */
struct weiri_value {
    enum {
        WEIRI_VALUE_NONE, /* behind the last one */
        WEIRI_VALUE_NULL,
        WEIRI_VALUE_INT,
        WEIRI_VALUE_TEXT,
        WEIRI_VALUE_BLOB
    } kind;
    int64_t number;
    const void *bytes; /* borrowed until the statement is ended */
    size_t size;
};

struct weiri_value weiri_null(void);
struct weiri_value weiri_int(int64_t number);
/* NULL: of a text, SQL's NULL. */
struct weiri_value weiri_text(const char *text);
/* Not more than the first bytes of the text. */
struct weiri_value weiri_text_within(const char *text, size_t most);
struct weiri_value weiri_blob(const void *bytes, size_t size);
struct weiri_value weiri_value(struct weiri_value value);

/* The values of all parameters of a statement, 1 to 15, in order: integers, texts, and what the
 * functions above return. The compiler chooses by type, and refuses other ones. */
#define WEIRI_VALUES(...)                                                                          \
    ((const struct weiri_value[]){WEIRI_VALUES_CHOOSE(__VA_ARGS__, 15, 14, 13, 12, 11, 10, 9, 8,   \
                                                      7, 6, 5, 4, 3, 2, 1, 0)(__VA_ARGS__),        \
                                  {.kind = WEIRI_VALUE_NONE}})
#define WEIRI_VALUES_CHOOSE(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, count, ...)               \
    WEIRI_VALUES_##count
#define WEIRI_VALUES_1(value)                                                                      \
    _Generic((value), char *                                                                       \
             : weiri_text, const char *                                                            \
             : weiri_text, struct weiri_value                                                      \
             : weiri_value, default                                                                \
             : weiri_int)(value)
#define WEIRI_VALUES_2(value, ...) WEIRI_VALUES_1(value), WEIRI_VALUES_1(__VA_ARGS__)
#define WEIRI_VALUES_3(value, ...) WEIRI_VALUES_1(value), WEIRI_VALUES_2(__VA_ARGS__)
#define WEIRI_VALUES_4(value, ...) WEIRI_VALUES_1(value), WEIRI_VALUES_3(__VA_ARGS__)
#define WEIRI_VALUES_5(value, ...) WEIRI_VALUES_1(value), WEIRI_VALUES_4(__VA_ARGS__)
#define WEIRI_VALUES_6(value, ...) WEIRI_VALUES_1(value), WEIRI_VALUES_5(__VA_ARGS__)
#define WEIRI_VALUES_7(value, ...) WEIRI_VALUES_1(value), WEIRI_VALUES_6(__VA_ARGS__)
#define WEIRI_VALUES_8(value, ...) WEIRI_VALUES_1(value), WEIRI_VALUES_7(__VA_ARGS__)
#define WEIRI_VALUES_9(value, ...) WEIRI_VALUES_1(value), WEIRI_VALUES_8(__VA_ARGS__)
#define WEIRI_VALUES_10(value, ...) WEIRI_VALUES_1(value), WEIRI_VALUES_9(__VA_ARGS__)
#define WEIRI_VALUES_11(value, ...) WEIRI_VALUES_1(value), WEIRI_VALUES_10(__VA_ARGS__)
#define WEIRI_VALUES_12(value, ...) WEIRI_VALUES_1(value), WEIRI_VALUES_11(__VA_ARGS__)
#define WEIRI_VALUES_13(value, ...) WEIRI_VALUES_1(value), WEIRI_VALUES_12(__VA_ARGS__)
#define WEIRI_VALUES_14(value, ...) WEIRI_VALUES_1(value), WEIRI_VALUES_13(__VA_ARGS__)
#define WEIRI_VALUES_15(value, ...) WEIRI_VALUES_1(value), WEIRI_VALUES_14(__VA_ARGS__)

/* Behind other values the words and the put_id of `put`. */
#define WEIRI_WORDS_OF_PUT WEIRI_WORD_FIELDS(WEIRI_WORD_OF_PUT) WEIRI_PUT_FIELDS(WEIRI_WORD_OF_PUT)
#define WEIRI_WORD_OF_PUT(name, kind, limit, feature) , put->name

/* All functions from here on return SQLite's codes. values: WEIRI_VALUES(), or NULL for none. */

/* Prepares what ends a transaction or a part of one, so that it ends also where there is no memory.
 * An opened connection has these. */
int weiri_sql_prepare_ends(struct weiri_connection *connection);

/* Prepares a statement at its first use, binds the values and takes the first step: SQLITE_ROW,
 * SQLITE_DONE, or a failure. weiri_sql_end() follows; after a failure it may be left out. */
int weiri_sql_start(struct weiri_connection *connection, enum weiri_sql which,
                    const struct weiri_value *values, sqlite3_stmt **ret_statement);
/* Ends a statement whose last step gave code, and returns the values to their owners: SQLITE_OK
 * after a row or the end, else code. */
int weiri_sql_end(sqlite3_stmt *statement, int code);
/* Runs a statement whose rows do not matter. */
int weiri_sql_run(struct weiri_connection *connection, enum weiri_sql which,
                  const struct weiri_value *values);
/* Reads the first column of the first row; SQLITE_DONE where there is none. */
int weiri_sql_number(struct weiri_connection *connection, enum weiri_sql which,
                     const struct weiri_value *values, int64_t *ret_number);

#endif

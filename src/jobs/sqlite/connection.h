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
    int code;                                       /* of what failed first; SQLITE_OK: nothing */
    bool is_for_one_call;                           /* it is not kept: see connection.c */
    sqlite3_stmt *statements[WEIRI_SQL_STATEMENTS]; /* NULL until first run */
};

/* Opens a store's file, which must exist, and checks it. A reader refuses to change anything; a
 * writer is opened under the store's lock. The caller must close the connection whether or not this
 * succeeds: only the caller knows whether a new WAL may be removed. */
WEIR_NODISCARD enum weir_status weiri_connection_open(struct weiri_connection *connection,
                                                      const char *path, bool is_reader,
                                                      const struct weiri_broker_config *config,
                                                      struct weir_error *ret_error);

/* Closes. may_fold: the last connection of all processes checkpoints the WAL and removes it. Only
 * under the store's lock, and where no other open shares it (weiri_lock_share()): SQLite alone
 * takes itself for the last one where the process of another has lost its locks. */
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

/* Behind other values the words and the put_id of a row, or of a put during its run. */
#define WEIRI_WORDS_OF_ROW WEIRI_ROW_FIELDS(WEIRI_WORD_OF_ROW)
#define WEIRI_WORD_OF_ROW(name, kind, limit, feature) , row->name
#define WEIRI_WORDS_OF_KEY WEIRI_ROW_FIELDS(WEIRI_WORD_OF_KEY)
#define WEIRI_WORD_OF_KEY(name, kind, limit, feature) , row->key.name

/* Statements. What fails first sticks to the connection, as its code: from then on statements do
 * nothing and find no row, so that the statements of a transaction are written as a sequence, and
 * its end asks once whether they came through. What begins or undoes a transaction, or undoes a
 * part of one, forgets the failure. What decides by a row asks whether there is one.
 *
 * values: WEIRI_VALUES(), or NULL for none. They are the caller's until the statement is ended. */

/* Prepares what ends a transaction or a part of one, so that it ends also where there is no memory.
 * An opened connection has these. */
void weiri_sql_prepare_ends(struct weiri_connection *connection);

/* Lets a failure stick that is no statement's own, such as a row that cannot be right. SQLITE_OK,
 * SQLITE_ROW and SQLITE_DONE are none. Returns what sticks. */
int weiri_sql_fail(struct weiri_connection *connection, int code);
/* Forgets the failure, and returns it. */
int weiri_sql_forget(struct weiri_connection *connection);
/* The same, as a status, of which ret_error says more. */
WEIR_NODISCARD enum weir_status weiri_sql_end(struct weiri_connection *connection, const char *path,
                                              struct weir_error *ret_error);

/* Starts a statement, which is prepared at its first use. Whether it has a row. */
bool weiri_sql_first(struct weiri_connection *connection, enum weiri_sql which,
                     const struct weiri_value *values, sqlite3_stmt **ret_statement);
/* Whether there is another row. After the last one, or a failure, the statement is ended. */
bool weiri_sql_next(struct weiri_connection *connection, sqlite3_stmt *statement);
/* Ends a statement before its last row. */
void weiri_sql_leave(sqlite3_stmt *statement);

/* A column of a row, which is the statement's. Text: NULL where there is none. */
const char *weiri_sql_text(struct weiri_connection *connection, sqlite3_stmt *statement,
                           int column);
struct weiri_value weiri_sql_blob(struct weiri_connection *connection, sqlite3_stmt *statement,
                                  int column);
/* A text that is there and fits into size bytes; a number from least to most. Else the row is
 * damaged, which sticks, and the text is "", the number the least one. */
void weiri_sql_copy(struct weiri_connection *connection, sqlite3_stmt *statement, int column,
                    char *text, size_t size);
int64_t weiri_sql_number(struct weiri_connection *connection, sqlite3_stmt *statement, int column,
                         int64_t least, int64_t most);

/* Runs a statement whose rows do not matter. Returns what sticks. */
int weiri_sql_run(struct weiri_connection *connection, enum weiri_sql which,
                  const struct weiri_value *values);
/* Runs statements that are no prepared ones. */
void weiri_sql_exec(struct weiri_connection *connection, const char *sql);
/* Reads the first number of the first row: whether there is one. Else *ret_number is 0. */
bool weiri_sql_find(struct weiri_connection *connection, enum weiri_sql which,
                    const struct weiri_value *values, int64_t *ret_number);

/* Failures (result.c). Inside this folder results are SQLite's codes. They become statuses in the
 * public operations. */

/* Writes a failure of SQLite into ret_error, and returns its status. db may be NULL; it has the
 * system's error behind a code. */
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

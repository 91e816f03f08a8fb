/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The statements of a connection. */
#include <stdio.h>
#include <string.h>

#include "base/panic.h"
#include "jobs/sqlite/connection.h"

const char *const weiri_sql_texts[WEIRI_SQL_STATEMENTS] = {
#define TEXT(name, text) [WEIRI_SQL_##name] = (text),
    WEIRI_SQL_MAP(TEXT)
#undef TEXT
};

struct weiri_value weiri_null(void)
{
    return (struct weiri_value){.kind = WEIRI_VALUE_NULL};
}

struct weiri_value weiri_int(int64_t number)
{
    return (struct weiri_value){.kind = WEIRI_VALUE_INT, .number = number};
}

struct weiri_value weiri_text(const char *text)
{
    return weiri_text_within(text, PTRDIFF_MAX);
}

struct weiri_value weiri_text_within(const char *text, size_t most)
{
    return text == NULL ? weiri_null()
                        : (struct weiri_value){
                              .kind = WEIRI_VALUE_TEXT, .bytes = text, .size = strnlen(text, most)};
}

struct weiri_value weiri_blob(const void *bytes, size_t size)
{
    return (struct weiri_value){
        .kind = WEIRI_VALUE_BLOB, .bytes = size == 0 ? "" : bytes, .size = size};
}

struct weiri_value weiri_value(struct weiri_value value)
{
    return value;
}

static int bind(sqlite3_stmt *statement, int i, const struct weiri_value *value)
{
    switch (value->kind) {
    case WEIRI_VALUE_INT:
        return sqlite3_bind_int64(statement, i, value->number);
    case WEIRI_VALUE_TEXT:
        return sqlite3_bind_text64(statement, i, value->bytes, value->size, SQLITE_STATIC,
                                   SQLITE_UTF8);
    case WEIRI_VALUE_BLOB:
        return sqlite3_bind_blob64(statement, i, value->bytes, value->size, SQLITE_STATIC);
    case WEIRI_VALUE_NULL:
    case WEIRI_VALUE_NONE:
        break;
    }
    return sqlite3_bind_null(statement, i);
}

static int prepare(struct weiri_connection *connection, enum weiri_sql which)
{
    sqlite3_stmt **statement = &connection->statements[which];
    return *statement != NULL ? SQLITE_OK
                              : sqlite3_prepare_v3(connection->db, weiri_sql_texts[which], -1,
                                                   SQLITE_PREPARE_PERSISTENT, statement, NULL);
}

void weiri_sql_prepare_ends(struct weiri_connection *connection)
{
    static const enum weiri_sql ends[] = {WEIRI_SQL_COMMIT, WEIRI_SQL_ROLLBACK, WEIRI_SQL_SAVEPOINT,
                                          WEIRI_SQL_ROLLBACK_TO, WEIRI_SQL_RELEASE};
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        weiri_sql_fail(connection, prepare(connection, ends[i]));
    }
}

int weiri_sql_fail(struct weiri_connection *connection, int code)
{
    bool is_failure = code != SQLITE_ROW && code != SQLITE_DONE;
    if (is_failure && connection->code == SQLITE_OK) {
        connection->code = code;
    }
    return connection->code;
}

int weiri_sql_forget(struct weiri_connection *connection)
{
    int code = connection->code;
    connection->code = SQLITE_OK;
    return code;
}

enum weir_status weiri_sql_end(struct weiri_connection *connection, const char *path,
                               struct weir_error *ret_error)
{
    int code = weiri_sql_forget(connection);
    return code == SQLITE_OK ? WEIR_OK : weiri_sqlite_fail(ret_error, connection->db, code, path);
}

/* Whether what failed before is over with this statement. */
static bool is_fresh(enum weiri_sql which)
{
    return which == WEIRI_SQL_BEGIN || which == WEIRI_SQL_BEGIN_READ ||
           which == WEIRI_SQL_ROLLBACK || which == WEIRI_SQL_ROLLBACK_TO;
}

/* Whether a step that gave code has come to a row; else its statement is ended. */
static bool go_on(struct weiri_connection *connection, sqlite3_stmt *statement, int code)
{
    if (code == SQLITE_ROW) {
        return true;
    }
    if (code != SQLITE_DONE) {
        /* A connection of the program's may return codes without their cause. */
        int cause = sqlite3_extended_errcode(connection->db);
        (void)weiri_sql_fail(connection, cause == SQLITE_OK ? code : cause);
    }
    weiri_sql_leave(statement);
    return false;
}

bool weiri_sql_first(struct weiri_connection *connection, enum weiri_sql which,
                     const struct weiri_value *values, sqlite3_stmt **ret_statement)
{
    sqlite3_stmt **statement = &connection->statements[which];
    int count = 0;
    connection->code = is_fresh(which) ? SQLITE_OK : connection->code;
    *ret_statement = NULL;
    if (connection->code != SQLITE_OK) {
        return false;
    }
    int code = prepare(connection, which);
    for (; code == SQLITE_OK && values != NULL && values[count].kind != WEIRI_VALUE_NONE; count++) {
        code = bind(*statement, count + 1, &values[count]);
    }
    WEIRI_ASSERT(code != SQLITE_OK || count == sqlite3_bind_parameter_count(*statement));
    *ret_statement = *statement;
    return go_on(connection, *statement, code == SQLITE_OK ? sqlite3_step(*statement) : code);
}

bool weiri_sql_next(struct weiri_connection *connection, sqlite3_stmt *statement)
{
    return go_on(connection, statement,
                 connection->code == SQLITE_OK ? sqlite3_step(statement) : SQLITE_DONE);
}

void weiri_sql_leave(sqlite3_stmt *statement)
{
    if (statement != NULL) {
        (void)sqlite3_reset(statement);
        (void)sqlite3_clear_bindings(statement);
    }
}

int weiri_sql_run(struct weiri_connection *connection, enum weiri_sql which,
                  const struct weiri_value *values)
{
    sqlite3_stmt *statement;
    if (weiri_sql_first(connection, which, values, &statement)) {
        weiri_sql_leave(statement);
    }
    return connection->code;
}

void weiri_sql_exec(struct weiri_connection *connection, const char *sql)
{
    if (connection->code == SQLITE_OK) {
        weiri_sql_fail(connection, sqlite3_exec(connection->db, sql, NULL, NULL, NULL));
    }
}

const char *weiri_sql_text(struct weiri_connection *connection, sqlite3_stmt *statement, int column)
{
    bool is_there = sqlite3_column_type(statement, column) != SQLITE_NULL;
    const char *text = is_there ? (const char *)sqlite3_column_text(statement, column) : NULL;
    weiri_sql_fail(connection, is_there && text == NULL ? SQLITE_NOMEM : SQLITE_OK);
    return is_there && text == NULL ? "" : text;
}

void weiri_sql_copy(struct weiri_connection *connection, sqlite3_stmt *statement, int column,
                    char *text, size_t size)
{
    const char *found = weiri_sql_text(connection, statement, column);
    bool fits = found != NULL && strlen(found) < size;
    weiri_sql_fail(connection, fits ? SQLITE_OK : SQLITE_CORRUPT);
    (void)snprintf(text, size, "%s", fits ? found : "");
}

int64_t weiri_sql_number(struct weiri_connection *connection, sqlite3_stmt *statement, int column,
                         int64_t least, int64_t most)
{
    int64_t number = sqlite3_column_int64(statement, column);
    bool is_sound = number >= least && number <= most;
    weiri_sql_fail(connection, is_sound ? SQLITE_OK : SQLITE_CORRUPT);
    return is_sound ? number : least;
}

struct weiri_value weiri_sql_blob(struct weiri_connection *connection, sqlite3_stmt *statement,
                                  int column)
{
    const void *bytes = sqlite3_column_blob(statement, column);
    bool is_lacking = sqlite3_errcode(connection->db) == SQLITE_NOMEM;
    weiri_sql_fail(connection, is_lacking ? SQLITE_NOMEM : SQLITE_OK);
    return weiri_blob(bytes, (size_t)sqlite3_column_bytes(statement, column));
}

bool weiri_sql_find(struct weiri_connection *connection, enum weiri_sql which,
                    const struct weiri_value *values, int64_t *ret_number)
{
    sqlite3_stmt *statement;
    *ret_number = 0;
    if (!weiri_sql_first(connection, which, values, &statement)) {
        return false;
    }
    *ret_number = sqlite3_column_int64(statement, 0);
    weiri_sql_leave(statement);
    return true;
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/connection.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/panic.h"
#include "jobs/sqlite/file.h"
#include "jobs/sqlite/place.h"
#include "jobs/sqlite/result.h"
#include "jobs/sqlite/schema.h"
#include "jobs/sqlite/space.h"

const char *const weiri_sql_texts[WEIRI_SQL_STATEMENTS] = {
#define TEXT(name, text) [WEIRI_SQL_##name] = (text),
    WEIRI_SQL_MAP(TEXT)
#undef TEXT
};

/* A database file is foreign data: no code in it may run. NO_CKPT_ON_CLOSE, because every
 * checkpoint must be under the store's lock. */
static const struct {
    int option;
    int value;
} settings[] = {
    {SQLITE_DBCONFIG_DEFENSIVE, 1},        {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
    {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},   {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
    {SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1},
};

/* secure_delete: some builds of SQLite write all pages of a large body again to delete it. */
static const char pragmas[] = "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; "
                              "PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; "
                              "PRAGMA cache_size = -8192; PRAGMA secure_delete = FAST";

int weiri_connection_set_busy(sqlite3 *db, int64_t busy_ns)
{
    int64_t busy_ms = busy_ns / WEIR_MS(1);
    return sqlite3_busy_timeout(db, busy_ms >= INT_MAX ? INT_MAX : (int)busy_ms + 1);
}

static void configure(struct weiri_connection *connection, int64_t busy_ns)
{
    sqlite3 *db = connection->db;
    weiri_sql_fail(connection, sqlite3_extended_result_codes(db, 1));
    weiri_sql_fail(connection, weiri_connection_set_busy(db, busy_ns));
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        weiri_sql_fail(connection,
                       sqlite3_db_config(db, settings[i].option, settings[i].value, NULL));
    }
    (void)sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
}

/* The file was made with WAL. The mode is set again in case another program changed it; the lock is
 * held, so it may be set. */
static void set_wal(struct weiri_connection *connection)
{
    sqlite3_stmt *statement;
    if (weiri_sql_first(connection, WEIRI_SQL_SET_WAL, NULL, &statement)) {
        const char *mode = (const char *)sqlite3_column_text(statement, 0);
        bool is_set = mode != NULL && strcmp(mode, "wal") == 0;
        weiri_sql_fail(connection, is_set ? SQLITE_OK : SQLITE_CANTOPEN);
        weiri_sql_leave(statement);
    }
}

static enum weir_status set_up(struct weiri_connection *connection, const char *path,
                               enum weiri_connection_kind kind,
                               const struct weiri_broker_config *config,
                               struct weir_error *ret_error)
{
    sqlite3 *db = connection->db;
    weiri_sql_exec(connection, pragmas);
    weiri_sql_fail(connection, sqlite3_wal_autocheckpoint(db, 0));
    if (kind == WEIRI_CONNECTION_READER) {
        weiri_sql_exec(connection, "PRAGMA query_only = ON");
    } else {
        weiri_space_set_chunk(db, WEIRI_CHUNK_SIZE);
        set_wal(connection);
    }
    weiri_sql_prepare_ends(connection);
    int code = weiri_sql_forget(connection);
    if (code != SQLITE_OK) {
        return weiri_sqlite_fail(ret_error, db, code, path);
    }
    return weiri_schema_check(connection, path, config->flags, ret_error);
}

/* Whether there is a file beside the database; also where that cannot be found out. */
static bool has(const char *path, const char *suffix)
{
    char name[PATH_MAX];
    enum weiri_file_kind kind = WEIRI_FILE_OTHER;
    int length = snprintf(name, sizeof(name), "%s%s", path, suffix);
    if (length < 0 || (size_t)length >= sizeof(name) || weiri_file_inspect(name, &kind) != 0) {
        return true;
    }
    return kind != WEIRI_FILE_ABSENT;
}

/* Whether a file is opened as one that nobody changes. SQLite's WAL mode needs
 * two files beside the database; where the folder cannot take them, and no log is there, the file
 * is read by itself. */
static bool is_immutable(const char *path, enum weiri_connection_kind kind)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int length = slash == NULL ? -1
                               : snprintf(folder, sizeof(folder), "%.*s",
                                          slash == path ? 1 : (int)(slash - path), path);
    return kind == WEIRI_CONNECTION_READER && length > 0 && (size_t)length < sizeof(folder) &&
           faccessat(AT_FDCWD, folder, W_OK, AT_EACCESS) != 0 && !has(path, "-wal");
}

/* A path as URI, with what is special in one escaped, and a query. */
static void write_uri(const char *path, const char *query, char *uri, size_t size)
{
    size_t length = (size_t)snprintf(uri, size, "file:");
    for (const char *at = path; *at != '\0' && length + 40 < size; at++) {
        bool is_special = *at == '%' || *at == '?' || *at == '#';
        length += (size_t)snprintf(uri + length, size - length, is_special ? "%%%02X" : "%c",
                                   (unsigned)(unsigned char)*at);
    }
    (void)snprintf(uri + length, size - length, "?%s", query);
}

/* query NULL: the file is opened as usual. */
static int open_database(const char *path, const char *query, sqlite3 **ret_db)
{
    char uri[3 * WEIRI_PLACE_SIZE + 50];
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_NOFOLLOW;
    if (query == NULL) {
        return sqlite3_open_v2(path, ret_db, flags | SQLITE_OPEN_READWRITE, NULL);
    }
    write_uri(path, query, uri, sizeof(uri));
    return sqlite3_open_v2(uri, ret_db, flags | SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
}

static enum weir_status open_with(struct weiri_connection *connection, const char *path,
                                  const char *query, enum weiri_connection_kind kind,
                                  const struct weiri_broker_config *config,
                                  struct weir_error *ret_error)
{
    /* SQLite opens the file without reading more than the page size; nothing else is read or
     * written before the header is known to be ours. */
    int ignored;
    weiri_sql_fail(connection, open_database(path, query, &connection->db));
    sqlite3 *db = connection->db;
    if (connection->code == SQLITE_OK) {
        configure(connection, config->busy_ns);
    }
    int code = weiri_sql_forget(connection);
    if (code != SQLITE_OK) {
        return weiri_sqlite_fail(ret_error, db, code, path);
    }
    bool is_whole = kind == WEIRI_CONNECTION_WRITER && !has(path, "-wal");
    enum weir_status status = weiri_schema_check_header(db, path, is_whole, &ignored, ret_error);
    if (status == WEIR_OK) {
        connection->has_made_log = query == NULL && !has(path, "-wal");
        connection->is_for_one_call = query != NULL;
        status = set_up(connection, path, kind, config, ret_error);
        if (status == WEIR_ENOTFOUND && has(path, "-wal") && !has(path, "-shm")) {
            status = weiri_fail(ret_error, WEIR_EACCESS,
                                "%s-shm, the index of its log, cannot be made, and without it the "
                                "log cannot be read: copy the store and its log elsewhere",
                                path);
        }
    }
    return status;
}

enum weir_status weiri_connection_open(struct weiri_connection *connection, const char *path,
                                       enum weiri_connection_kind kind,
                                       const struct weiri_broker_config *config,
                                       struct weir_error *ret_error)
{
    memset(connection, 0, sizeof(*connection));
    if (sqlite3_threadsafe() == 0) {
        return weiri_fail(ret_error, WEIR_ENOTSUP, "this SQLite was built for one thread only");
    }
    bool is_alone = is_immutable(path, kind);
    enum weir_status status =
        open_with(connection, path, is_alone ? "immutable=1" : NULL, kind, config, ret_error);
    if (status == WEIR_ENOSPACE && kind == WEIRI_CONNECTION_READER && has(path, "-shm")) {
        /* The first open has made the log and its index, empty. SQLite makes another index in
         * memory from the log, where it may not write that one and nobody else uses it. */
        weiri_connection_close(connection, false);
        status = open_with(connection, path, "readonly_shm=1", kind, config, ret_error);
    }
    return status;
}

void weiri_connection_finalize(struct weiri_connection *connection)
{
    for (int i = 0; i < WEIRI_SQL_STATEMENTS; i++) {
        (void)sqlite3_finalize(connection->statements[i]);
        connection->statements[i] = NULL;
    }
}

void weiri_connection_close(struct weiri_connection *connection, bool may_fold)
{
    weiri_connection_finalize(connection);
    if (may_fold) {
        (void)sqlite3_db_config(connection->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
        weiri_space_set_chunk(connection->db, 0);
    }
    (void)sqlite3_close(connection->db);
    connection->db = NULL;
}

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

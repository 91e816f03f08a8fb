/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/connection.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "jobs/sqlite/file.h"
#include "jobs/sqlite/place.h"
#include "jobs/sqlite/schema.h"
#include "jobs/sqlite/space.h"

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

static void configure(struct weiri_connection *connection, bool is_reader, int64_t busy_ns)
{
    sqlite3 *db = connection->db;
    weiri_sql_fail(connection, sqlite3_extended_result_codes(db, 1));
    weiri_sql_fail(connection, weiri_connection_set_busy(db, busy_ns));
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        weiri_sql_fail(connection,
                       sqlite3_db_config(db, settings[i].option, settings[i].value, NULL));
    }
    (void)sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    weiri_sql_exec(connection, pragmas);
    weiri_sql_fail(connection, sqlite3_wal_autocheckpoint(db, 0));
    if (is_reader) {
        weiri_sql_exec(connection, "PRAGMA query_only = ON");
    } else {
        weiri_space_set_chunk(db, WEIRI_CHUNK_SIZE);
        set_wal(connection);
    }
    weiri_sql_prepare_ends(connection);
}

/* Whether a file is opened as one that nobody changes. SQLite's WAL mode needs
 * two files beside the database; where the folder cannot take them, and no log is there, the file
 * is read by itself. */
static bool is_immutable(const char *path, bool is_reader)
{
    char folder[PATH_MAX];
    return is_reader && weiri_file_folder(path, folder) == 0 &&
           faccessat(AT_FDCWD, folder, W_OK, AT_EACCESS) != 0 && weiri_place_size(path, "-wal") < 0;
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
                                  const char *query, bool is_reader,
                                  const struct weiri_broker_config *config,
                                  struct weir_error *ret_error)
{
    weiri_sql_fail(connection, open_database(path, query, &connection->db));
    connection->is_for_one_call = query != NULL;
    if (connection->code == SQLITE_OK) {
        int ignored; /* before anything is made beside a file that is another's */
        enum weir_status found =
            weiri_schema_check_header(connection->db, path, false, &ignored, ret_error);
        if (found != WEIR_OK) {
            return found;
        }
        configure(connection, is_reader, config->busy_ns);
    }
    enum weir_status status = weiri_sql_end(connection, path, ret_error);
    if (status == WEIR_OK) {
        status = weiri_schema_check(connection, path, config->flags, ret_error);
    }
    return status != WEIR_ENOTFOUND || weiri_place_size(path, "-wal") < 0 ||
                   weiri_place_size(path, "-shm") >= 0
               ? status
               : weiri_fail(ret_error, WEIR_EACCESS,
                            "%s-shm, the index of its log, cannot be made, and without it the "
                            "log cannot be read: copy the store and its log elsewhere",
                            path);
}

enum weir_status weiri_connection_open(struct weiri_connection *connection, const char *path,
                                       bool is_reader, const struct weiri_broker_config *config,
                                       struct weir_error *ret_error)
{
    memset(connection, 0, sizeof(*connection));
    if (sqlite3_threadsafe() == 0) {
        return weiri_fail(ret_error, WEIR_ENOTSUP, "this SQLite was built for one thread only");
    }
    bool is_alone = is_immutable(path, is_reader);
    enum weir_status status =
        open_with(connection, path, is_alone ? "immutable=1" : NULL, is_reader, config, ret_error);
    if (status == WEIR_ENOSPACE && is_reader && weiri_place_size(path, "-shm") >= 0) {
        /* The first open has made the log and its index, empty. SQLite makes another index in
         * memory from the log, where it may not write that one and nobody else uses it. */
        weiri_connection_close(connection, false);
        status = open_with(connection, path, "readonly_shm=1", is_reader, config, ret_error);
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
    if (may_fold && connection->db != NULL) {
        (void)sqlite3_db_config(connection->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
        weiri_space_set_chunk(connection->db, 0);
    }
    (void)sqlite3_close(connection->db);
    connection->db = NULL;
}

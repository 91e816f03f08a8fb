/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/tube.h"

int weiri_tube_find(struct weiri_connection *connection, const char *name, int64_t *ret_tube)
{
    sqlite3_stmt *statement;
    int code = weiri_sql_prepare(connection, WEIRI_SQL_FIND_TUBE, &statement);
    if (code == SQLITE_OK) {
        code = sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
    }
    if (code == SQLITE_OK) {
        code = sqlite3_step(statement);
        if (code == SQLITE_ROW) {
            *ret_tube = sqlite3_column_int64(statement, 0);
        }
        (void)sqlite3_reset(statement);
        (void)sqlite3_clear_bindings(statement);
    }
    return code;
}

int weiri_tube_add(struct weiri_store *store, const char *name, int64_t *ret_tube)
{
    int code = weiri_tube_find(&store->writer, name, ret_tube);
    if (code == SQLITE_ROW) {
        return SQLITE_OK;
    }
    if (code != SQLITE_DONE) {
        return code;
    }
    sqlite3_stmt *statement;
    code = weiri_sql_prepare(&store->writer, WEIRI_SQL_ADD_TUBE, &statement);
    if (code == SQLITE_OK) {
        code = sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
    }
    if (code == SQLITE_OK) {
        code = weiri_sql_end(statement, sqlite3_step(statement));
        (void)sqlite3_clear_bindings(statement);
        *ret_tube = sqlite3_last_insert_rowid(store->writer.db);
    }
    return code;
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/tube.h"

int weiri_tube_find(struct weiri_connection *connection, const char *name, int64_t *ret_tube)
{
    return weiri_sql_number(connection, WEIRI_SQL_FIND_TUBE, WEIRI_VALUES(name), ret_tube);
}

int weiri_tube_add(struct weiri_store *store, const char *name, int64_t *ret_tube)
{
    int code = weiri_tube_find(&store->writer, name, ret_tube);
    if (code == SQLITE_DONE) {
        code = weiri_sql_run(&store->writer, WEIRI_SQL_ADD_TUBE, WEIRI_VALUES(name));
        *ret_tube = sqlite3_last_insert_rowid(store->writer.db);
    }
    return code;
}

int weiri_tube_last(struct weiri_store *store, int64_t tube, int64_t *ret_last_ns)
{
    int code =
        weiri_sql_number(&store->writer, WEIRI_SQL_LAST_RUN, WEIRI_VALUES(tube), ret_last_ns);
    return code == SQLITE_DONE ? SQLITE_CORRUPT : code;
}

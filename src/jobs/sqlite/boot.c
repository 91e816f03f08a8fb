/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/boot.h"

#include "jobs/sqlite/result.h"

/* Runs a statement whose parameter is the name of this boot. SQLITE_ROW: it has a row; SQLITE_DONE:
 * none. */
static int run(sqlite3 *db, const char *sql, const struct weiri_broker_config *config)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (code == SQLITE_OK) {
        code = sqlite3_bind_text(statement, 1, config->boot, -1, SQLITE_STATIC);
    }
    if (code == SQLITE_OK) {
        code = sqlite3_step(statement);
    }
    (void)sqlite3_finalize(statement);
    return code;
}

static int change(sqlite3 *db, const struct weiri_broker_config *config)
{
    int code = sqlite3_exec(db,
                            "BEGIN IMMEDIATE; UPDATE jobs INDEXED BY jobs_reserved SET lease = 0 "
                            "WHERE state = 3",
                            NULL, NULL, NULL);
    if (code == SQLITE_OK) {
        code = run(db, "INSERT OR REPLACE INTO marks(id, name) VALUES(1, ?1)", config);
    }
    return code == SQLITE_DONE ? sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) : code;
}

enum weir_status weiri_boot_begin(sqlite3 *db, const char *path,
                                  const struct weiri_broker_config *config,
                                  struct weir_error *ret_error)
{
    int code = run(db, "SELECT 1 FROM marks WHERE id = 1 AND name = ?1", config);
    if (code == SQLITE_DONE) {
        code = change(db, config);
    }
    if (code == SQLITE_OK || code == SQLITE_ROW) {
        return WEIR_OK;
    }
    code = weiri_sqlite_refine(db, SQLITE_FCNTL_JOURNAL_POINTER, code);
    enum weir_status status = weiri_sqlite_fail(ret_error, db, code, path);
    if (sqlite3_get_autocommit(db) == 0) {
        (void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    }
    return status;
}

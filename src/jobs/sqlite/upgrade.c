/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/upgrade.h"

#include <stdio.h>

#include "jobs/error.h"
#include "jobs/sqlite/result.h"
#include "jobs/sqlite/schema.h"

/* Their parameters are the wall time, the lease clock and the boot. From version 1: a lease was a
 * wall time. What was left of it is what is left now, at most the TTR. */
static const char *const from_version_1[] = {
    "CREATE TABLE boots(id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT",
    "CREATE TABLE pauses(tube INTEGER PRIMARY KEY, until INTEGER NOT NULL) STRICT",
    "ALTER TABLE tubes ADD COLUMN last INTEGER NOT NULL DEFAULT 0",
    ("UPDATE jobs INDEXED BY jobs_reserved SET lease = ?2 + min(max(lease - ?1, 0), ttr) "
     "WHERE state = 3"),
    "INSERT INTO boots(id, name) VALUES(1, ?3)",
};

static const char *const to_this_boot[] = {
    "UPDATE jobs INDEXED BY jobs_reserved SET lease = 0 WHERE state = 3",
    "INSERT OR REPLACE INTO boots(id, name) VALUES(1, ?3)",
};

static int run_one(sqlite3 *db, const char *sql, const struct weiri_broker_config *config)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (code == SQLITE_OK && sqlite3_bind_parameter_count(statement) > 0) {
        (void)sqlite3_bind_int64(statement, 1, config->now(config->now_arg));
        (void)sqlite3_bind_int64(statement, 2, config->lease_now(config->now_arg));
        /* Fails for a statement that has two. */
        (void)sqlite3_bind_text(statement, 3, config->boot, -1, SQLITE_STATIC);
    }
    if (code == SQLITE_OK) {
        code = sqlite3_step(statement);
    }
    (void)sqlite3_finalize(statement);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

static int run_all(sqlite3 *db, const char *const *steps, size_t count,
                   const struct weiri_broker_config *config)
{
    int code = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    for (size_t i = 0; i < count && code == SQLITE_OK; i++) {
        code = run_one(db, steps[i], config);
    }
    return code;
}

/* Commits if code is SQLITE_OK, else ends the transaction, if there is one. */
static enum weir_status end(sqlite3 *db, const char *path, int code, struct weir_error *ret_error)
{
    if (code == SQLITE_OK) {
        code = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    }
    if (code == SQLITE_OK) {
        return WEIR_OK;
    }
    code = weiri_sqlite_refine(db, SQLITE_FCNTL_JOURNAL_POINTER, code);
    enum weir_status status = weiri_sqlite_fail(ret_error, db, code, path);
    if (sqlite3_get_autocommit(db) == 0) {
        (void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    }
    return status;
}

enum weir_status weiri_upgrade_schema(sqlite3 *db, const char *path,
                                      const struct weiri_broker_config *config,
                                      struct weir_error *ret_error)
{
    /* Leaving WAL needs the file for itself. A process of the earlier version that has it open
     * would go on with leases in wall time. None can open it meanwhile: the lock is held. */
    int code = sqlite3_exec(db, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
    if ((code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED) {
        return weiri_fail(ret_error, WEIR_ETIMEDOUT,
                          "%s is of an earlier version and in use: end all processes that use it, "
                          "so that it can be converted",
                          path);
    }
    if (code == SQLITE_OK) {
        code = sqlite3_exec(db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
    }
    if (code == SQLITE_OK) {
        code =
            run_all(db, from_version_1, sizeof(from_version_1) / sizeof(*from_version_1), config);
    }
    if (code == SQLITE_OK) {
        char pragma[64];
        (void)snprintf(pragma, sizeof(pragma), "PRAGMA user_version = %d",
                       weiri_schema_user_version(WEIRI_SCHEMA_VERSION, weiri_schema_new_stamp()));
        code = sqlite3_exec(db, pragma, NULL, NULL, NULL);
    }
    return end(db, path, code, ret_error);
}

/* SQLITE_ROW: the leases are of this boot; SQLITE_DONE: of another. */
static int find_boot(sqlite3 *db, const struct weiri_broker_config *config)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(db, "SELECT 1 FROM boots WHERE id = 1 AND name = ?1", -1,
                                  &statement, NULL);
    if (code == SQLITE_OK) {
        (void)sqlite3_bind_text(statement, 1, config->boot, -1, SQLITE_STATIC);
        code = sqlite3_step(statement);
    }
    (void)sqlite3_finalize(statement);
    return code;
}

enum weir_status weiri_upgrade_boot(sqlite3 *db, const char *path,
                                    const struct weiri_broker_config *config,
                                    struct weir_error *ret_error)
{
    int code = find_boot(db, config);
    if (code == SQLITE_ROW) {
        return WEIR_OK;
    }
    if (code == SQLITE_DONE) {
        code = run_all(db, to_this_boot, sizeof(to_this_boot) / sizeof(*to_this_boot), config);
    }
    return end(db, path, code, ret_error);
}

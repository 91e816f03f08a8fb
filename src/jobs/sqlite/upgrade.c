/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/upgrade.h"

#include <stdio.h>

#include "jobs/error.h"
#include "jobs/sqlite/result.h"
#include "jobs/sqlite/schema.h"

/* A statement whose parameters are the wall time, the lease clock and the boot. */
struct step {
    int from; /* for stores of this version and of earlier ones */
    const char *sql;
};

/* In version 1 a lease was a wall time. What was left of it is what is left now, at most the TTR.
 */
static const struct step conversions[] = {
    {1, "CREATE TABLE boots(id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT"},
    {1, "CREATE TABLE pauses(tube INTEGER PRIMARY KEY, until INTEGER NOT NULL) STRICT"},
    {1, "ALTER TABLE tubes ADD COLUMN last INTEGER NOT NULL DEFAULT 0"},
    {1, "UPDATE jobs INDEXED BY jobs_reserved SET lease = ?2 + min(max(lease - ?1, 0), ttr) "
        "WHERE state = 3"},
    {1, "INSERT INTO boots(id, name) VALUES(1, ?3)"},
    {2, "ALTER TABLE jobs ADD COLUMN started INTEGER NOT NULL DEFAULT 0"},
    {2, "CREATE TABLE attempts(job INTEGER NOT NULL, slot INTEGER NOT NULL, "
        "number INTEGER NOT NULL, outcome INTEGER NOT NULL, started INTEGER NOT NULL, "
        "ended INTEGER NOT NULL, owner INTEGER NOT NULL, status INTEGER NOT NULL, "
        "exit INTEGER NOT NULL, signal INTEGER NOT NULL, reason TEXT NOT NULL, "
        "tail TEXT NOT NULL, PRIMARY KEY(job, slot)) WITHOUT ROWID, STRICT"},
    {3, "CREATE TABLE keys(tube INTEGER NOT NULL, key TEXT NOT NULL, job INTEGER NOT NULL, "
        "until INTEGER NOT NULL, again INTEGER NOT NULL, again_at INTEGER NOT NULL, "
        "PRIMARY KEY(tube, key)) WITHOUT ROWID, STRICT"},
    {3, "CREATE INDEX keys_job ON keys(job)"},
    {3, "CREATE INDEX keys_ended ON keys(until) WHERE job < 0"},
    {4, "CREATE TABLE schedules(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, "
        "tube INTEGER NOT NULL, cron TEXT NOT NULL, zone TEXT NOT NULL, interval INTEGER NOT NULL, "
        "first INTEGER NOT NULL, priority INTEGER NOT NULL, ttr INTEGER NOT NULL, "
        "missed INTEGER NOT NULL, tolerance INTEGER NOT NULL, catch_up INTEGER NOT NULL, "
        "flags INTEGER NOT NULL, next INTEGER NOT NULL, paused INTEGER NOT NULL DEFAULT 0, "
        "last INTEGER NOT NULL DEFAULT 0, job INTEGER NOT NULL DEFAULT 0, "
        "fired INTEGER NOT NULL DEFAULT 0, skipped INTEGER NOT NULL DEFAULT 0, "
        "problem TEXT NOT NULL DEFAULT '', checksum INTEGER NOT NULL, "
        "body BLOB NOT NULL) STRICT"},
    {4, "CREATE INDEX schedules_next ON schedules(tube, next) WHERE paused = 0"},
    {5, "CREATE TABLE policies(tube INTEGER PRIMARY KEY, archive INTEGER NOT NULL, "
        "archive_count INTEGER NOT NULL, late_after INTEGER NOT NULL, late INTEGER NOT NULL, "
        "overdue_rate INTEGER NOT NULL, overdue_at INTEGER NOT NULL DEFAULT 0, "
        "archived INTEGER NOT NULL DEFAULT 0, buried INTEGER NOT NULL DEFAULT 0, "
        "dropped INTEGER NOT NULL DEFAULT 0) STRICT"},
    {5, "CREATE INDEX jobs_archived ON jobs(tube, lease) WHERE state = 5"},
    {6, "ALTER TABLE jobs ADD COLUMN progress INTEGER"},
    {6, "ALTER TABLE jobs ADD COLUMN grp TEXT"},
    {6, "ALTER TABLE bodies ADD COLUMN headers TEXT"},
    {6, "CREATE INDEX jobs_group ON jobs(tube, grp) WHERE state = 3 AND grp IS NOT NULL"},
};

static const struct step to_this_boot[] = {
    {WEIRI_SCHEMA_VERSION, "UPDATE jobs INDEXED BY jobs_reserved SET lease = 0 WHERE state = 3"},
    {WEIRI_SCHEMA_VERSION, "INSERT OR REPLACE INTO boots(id, name) VALUES(1, ?3)"},
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

/* Begins a transaction and runs the steps for a store of a version. */
static int run_all(sqlite3 *db, const struct step *steps, size_t count, int version,
                   const struct weiri_broker_config *config)
{
    int code = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    for (size_t i = 0; i < count && code == SQLITE_OK; i++) {
        code = steps[i].from < version ? SQLITE_OK : run_one(db, steps[i].sql, config);
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

/* Sets the new version, and the next stamp: with another one the log of this transaction would not
 * fit the file. In version 1 there were none. */
static int set_version(sqlite3 *db)
{
    int user_version = 0;
    int code = weiri_schema_read_user_version(db, &user_version);
    if (code == SQLITE_OK) {
        int stamp = weiri_schema_version_of(user_version) == WEIRI_SCHEMA_FIRST
                        ? weiri_schema_new_stamp()
                        : weiri_schema_next_stamp(user_version);
        char pragma[64];
        (void)snprintf(pragma, sizeof(pragma), "PRAGMA user_version = %d",
                       weiri_schema_user_version(WEIRI_SCHEMA_VERSION, stamp));
        code = sqlite3_exec(db, pragma, NULL, NULL, NULL);
    }
    return code;
}

enum weir_status weiri_upgrade_schema(sqlite3 *db, const char *path, int version,
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
            run_all(db, conversions, sizeof(conversions) / sizeof(*conversions), version, config);
    }
    if (code == SQLITE_OK) {
        code = set_version(db);
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
        code = run_all(db, to_this_boot, sizeof(to_this_boot) / sizeof(*to_this_boot),
                       WEIRI_SCHEMA_VERSION, config);
    }
    return end(db, path, code, ret_error);
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/boot.h"

#include "jobs/sqlite/result.h"

/* Each has the name of this boot and the time of leases as parameters. */
static const char is_begun[] = "SELECT 1 FROM marks WHERE id = 1 AND ?1 IN (name, 'unknown') "
                               "AND NOT EXISTS (SELECT 1 FROM jobs INDEXED BY jobs_reserved "
                               "WHERE state = 3 AND lease > ?2 + ttr)";
static const char *const changes[] = {
    "BEGIN IMMEDIATE",
    "UPDATE jobs INDEXED BY jobs_reserved SET lease = 0 WHERE state = 3 "
    "AND (lease > ?2 + ttr OR EXISTS (SELECT 1 FROM marks WHERE id = 1 AND name <> ?1 AND "
    "'unknown' NOT IN (name, ?1)))",
    "INSERT OR REPLACE INTO marks(id, name) SELECT 1, ?1 WHERE ?1 <> 'unknown'",
    "COMMIT",
};

/* SQLITE_ROW: the statement has a row; SQLITE_DONE: none. */
static int run(sqlite3 *db, const char *sql, const struct weiri_broker_config *config)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (code == SQLITE_OK) { /* a parameter that is not in it is left out */
        (void)sqlite3_bind_text(statement, 1, config->boot, -1, SQLITE_STATIC);
        (void)sqlite3_bind_int64(statement, 2, config->lease_now(config->now_arg));
        code = sqlite3_step(statement);
    }
    (void)sqlite3_finalize(statement);
    return code;
}

enum weir_status weiri_boot_begin(sqlite3 *db, const char *path,
                                  const struct weiri_broker_config *config,
                                  struct weir_error *ret_error)
{
    int code = run(db, is_begun, config);
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]) && code == SQLITE_DONE; i++) {
        code = run(db, changes[i], config);
    }
    enum weir_status status = WEIR_OK;
    /* Damage is left to the first commit, which can repair it, and to the next open. */
    if (code != SQLITE_ROW && code != SQLITE_DONE && (code & 0xff) != SQLITE_CORRUPT) {
        code = weiri_sqlite_refine(db, SQLITE_FCNTL_JOURNAL_POINTER, code);
        status = weiri_sqlite_fail(ret_error, db, code, path);
    }
    if (sqlite3_get_autocommit(db) == 0) {
        (void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    }
    return status;
}

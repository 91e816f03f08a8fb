/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/repair.h"

#include <stddef.h>

#include "jobs/sqlite/schema.h"

/* DROP INDEX would walk the damaged pages. So the indexes are taken out of the schema, and their
 * pages are left unused. */
static const char forget[] = "PRAGMA writable_schema = ON; "
                             "DELETE FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL "
                             "AND tbl_name IN ('jobs', 'bodies', 'keys', 'schedules'); "
                             "PRAGMA writable_schema = RESET";

/* No index has a job whose state is none, so nobody would find it again. A buried job has no key;
 * one that is throttled stays, without its job. */
static const char bury[] =
    "UPDATE keys SET job = -job "
    "WHERE job IN (SELECT id FROM jobs NOT INDEXED WHERE " WEIRI_STATE_UNKNOWN "); "
    "UPDATE jobs NOT INDEXED SET state = 4, lease = 0, verdict = NULL, "
    "reason = 'its row was damaged: ' || iif(ifnull(state, 0) BETWEEN 1 AND 5, "
    "printf('it has verdict %d in state %d', verdict, state), "
    "printf('there is no state %d', ifnull(state, 0))) "
    "WHERE " WEIRI_STATE_UNKNOWN;

static const char recount[] =
    "UPDATE tubes SET (delayed, ready, reserved, buried) = "
    "(SELECT total(state = 1), total(state = 2), total(state = 3), total(state = 4) "
    "FROM (SELECT state FROM jobs WHERE tube = tubes.id)); "
    "UPDATE policies SET archived = "
    "(SELECT count(*) FROM jobs WHERE tube = policies.tube AND state = 5)";

static int run(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

static int make_anew(sqlite3 *db)
{
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
    int code = run(db, forget);
    if (code == SQLITE_OK) {
        code = weiri_schema_make_indexes(db);
    }
    if (code != SQLITE_OK) {
        (void)run(db, "PRAGMA writable_schema = RESET");
    }
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    return code;
}

int weiri_repair_in_transaction(sqlite3 *db, bool is_damaged, uint64_t *ret_buried)
{
    int code = is_damaged ? make_anew(db) : run(db, "REINDEX");
    if (code == SQLITE_OK) {
        code = run(db, bury);
        *ret_buried = (uint64_t)sqlite3_changes(db);
    }
    return code == SQLITE_OK ? run(db, recount) : code;
}

int weiri_repair_indexes(sqlite3 *db)
{
    uint64_t ignored;
    int code = run(db, "BEGIN IMMEDIATE");
    if (code == SQLITE_OK) {
        code = weiri_repair_in_transaction(db, true, &ignored);
    }
    return code == SQLITE_OK ? run(db, "COMMIT") : code;
}

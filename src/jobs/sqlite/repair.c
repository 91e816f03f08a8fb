/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Damaged indexes are made anew, and rows mended. */
#include "jobs/sqlite/schema.h"
#include "jobs/sqlite/write.h"

/* DROP INDEX would walk the damaged pages. So the indexes are taken out of the schema, and their
 * pages are left unused. */
static const char forget[] = "PRAGMA writable_schema = ON; "
                             "DELETE FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL "
                             "AND tbl_name IN ('jobs', 'bodies', 'throttles', 'schedules'); "
                             "PRAGMA writable_schema = RESET";

/* No index has a job whose state is none, so nobody would find it again. One with an outcome has
 * ended, and does not run again; others are buried. Neither has a key. */
static const char bury[] = "UPDATE jobs NOT INDEXED SET state = iif(" WEIRI_HAS_OUTCOME ", "
                           "5, 4), "
                           "outcome = iif(" WEIRI_HAS_OUTCOME ", outcome, NULL), "
                           "lease = iif(" WEIRI_HAS_OUTCOME ", lease, 0), verdict = NULL, "
                           "key = NULL, reason = 'its row was damaged: ' || " WEIRI_STATE_TEXT " "
                           "WHERE " WEIRI_STATE_UNKNOWN;

/* A key of two jobs, one of which was damaged, would make their index fail. Which one was, nothing
 * tells: the first one has it. */
static const char share[] =
    "UPDATE jobs NOT INDEXED SET key = NULL, reason = 'its row was damaged: another job has its "
    "key' WHERE key IS NOT NULL AND id NOT IN (SELECT min(id) FROM jobs NOT INDEXED WHERE key IS "
    "NOT NULL "
    "GROUP BY tube, key)";

/* What weiri_row_read() refuses besides becomes 0, which is "not known", or the default. A run goes
 * on, and can be settled: a sign that flipped in a token is put back. */
static const char mend[] =
    "UPDATE jobs NOT INDEXED SET attempts = attempts * (attempts >> 32 = 0), "
    "attempts_max = attempts_max * (attempts_max >> 32 = 0), lost = iif(lost >> 32 = 0, lost, 2 * "
    "(state = 9)), "
    "state = iif(state = 2 AND lost > 1 AND lost >> 32 = 0, 9, state), "
    "token = iif(token < 0, token & (1 << 62) - 1, token), ttr = iif(ttr > 0, ttr, 60000000000), "
    "progress = iif(progress BETWEEN 0 AND 100, progress, NULL) WHERE token < 0 OR ttr <= 0 OR "
    "(attempts | attempts_max | lost) >> 32 <> 0 OR progress NOT BETWEEN 0 AND 100 "
    "OR (state = 2 AND lost > 1)";

/* No id is given twice, also where the rows of jobs were lost that others name still. One above the
 * highest of all (row.c), which would leave none for others, becomes the next one, also of the body
 * and the attempts that were written since. */
#define RENUMBER(table, id)                                                                        \
    "UPDATE " table " SET " id " = (SELECT floor FROM meta) + 1 WHERE " id                         \
    " = (SELECT max(id) FROM jobs) AND " id " >= 1 << 62; "
static const char number[] =
    "UPDATE meta SET floor = max(floor, (SELECT coalesce(max(id), 0) FROM (SELECT id FROM jobs "
    "UNION ALL SELECT id FROM bodies UNION ALL SELECT job FROM throttles UNION ALL SELECT job FROM "
    "attempts UNION ALL SELECT job FROM schedules) WHERE id < 1 << 62)); " RENUMBER("bodies", "id")
        RENUMBER("attempts", "job") RENUMBER("jobs NOT INDEXED", "id");

uint64_t weiri_repair_rows(struct weiri_connection *connection)
{
    weiri_sql_exec(connection, number);
    weiri_sql_exec(connection, bury);
    uint64_t changes = (uint64_t)sqlite3_changes(connection->db);
    weiri_sql_exec(connection, mend);
    return changes + (uint64_t)sqlite3_changes(connection->db);
}

enum weir_status weiri_repair_indexes(struct weiri_store *store, struct weir_error *ret_error)
{
    struct weiri_connection *connection = &store->writer;
    weiri_write_begin(store);
    (void)sqlite3_db_config(connection->db, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
    weiri_sql_exec(connection, forget);
    weiri_sql_exec(connection, share);
    store->mended = (uint64_t)sqlite3_changes(connection->db);
    weiri_schema_make_indexes(connection);
    (void)sqlite3_exec(connection->db, "PRAGMA writable_schema = RESET", NULL, NULL, NULL);
    (void)sqlite3_db_config(connection->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    store->mended += weiri_repair_rows(connection);
    store->changes_before = -1; /* SQLite counts no changes of indexes */
    return weiri_write_end(store, true, ret_error);
}

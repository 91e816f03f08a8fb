/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/keys.h"

#include "base/time.h"

/* Finds the job that has or had the key; 0: none. */
static int find_job(struct weiri_store *store, int64_t tube, const char *key, int64_t *ret_job,
                    int64_t *ret_until_ns)
{
    sqlite3_stmt *statement;
    int code =
        weiri_sql_start(&store->writer, WEIRI_SQL_FIND_KEY, WEIRI_VALUES(tube, key), &statement);
    *ret_job = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    *ret_until_ns = code == SQLITE_ROW ? sqlite3_column_int64(statement, 1) : 0;
    return weiri_sql_end(statement, code);
}

int weiri_key_decide(struct weiri_store *store, int64_t tube, const struct weiri_put *put,
                     int64_t now_ns, struct weiri_key_decision *ret_decision)
{
    int64_t job;
    int64_t until;
    struct weiri_row row = {.facts = {.state = WEIRI_JOB_GONE}};
    int code = find_job(store, tube, put->key, &job, &until);
    if (code == SQLITE_OK && job > 0) {
        code = weiri_row_load(store, job, &row);
        /* A key without its job. */
        code = code == SQLITE_ROW ? SQLITE_OK : code == SQLITE_DONE ? SQLITE_CORRUPT : code;
    }
    if (code != SQLITE_OK) {
        return code;
    }
    const struct weiri_job_step due = {.event = WEIRI_JOB_DUE};
    struct weiri_job_facts facts = row.facts;
    enum weir_status ignored = weiri_job_apply(&facts, &due, now_ns);
    (void)ignored;
    row.number = job < 0 ? -job : job;
    *ret_decision = (struct weiri_key_decision){
        .action = weiri_duplicate_decide(put->on_duplicate, facts.state, until > now_ns),
        .row = row,
    };
    return SQLITE_OK;
}

int weiri_key_take(struct weiri_store *store, int64_t tube, const struct weiri_put *put,
                   int64_t number, int64_t now_ns)
{
    /* Each key whose time has passed is deleted once. A put adds one and deletes more, but not so
     * many that others could not write for long. */
    int code = weiri_sql_run(&store->writer, WEIRI_SQL_DELETE_KEYS, WEIRI_VALUES(now_ns));
    int64_t until = put->key_ns == 0 ? 0 : weiri_time_add(now_ns, put->key_ns);
    return code == SQLITE_OK ? weiri_sql_run(&store->writer, WEIRI_SQL_TAKE_KEY,
                                             WEIRI_VALUES(tube, put->key, number, until))
                             : code;
}

int weiri_key_release(struct weiri_store *store, int64_t number, const struct weiri_key *key,
                      int64_t now_ns)
{
    bool is_throttled = key->until_ns > now_ns;
    return weiri_sql_run(&store->writer, is_throttled ? WEIRI_SQL_KEEP_KEY : WEIRI_SQL_DELETE_KEY,
                         WEIRI_VALUES(number));
}

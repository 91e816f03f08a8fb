/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/read.h"

#include <string.h>

#include "jobs/sqlite/body.h"

/* Reads a text; NULL where there is none. */
static int read_text(sqlite3_stmt *statement, int column, const char **ret_text)
{
    bool is_there = sqlite3_column_type(statement, column) != SQLITE_NULL;
    *ret_text = is_there ? (const char *)sqlite3_column_text(statement, column) : NULL;
    return is_there && *ret_text == NULL ? SQLITE_NOMEM : SQLITE_OK;
}

int weiri_job_read(sqlite3_stmt *statement, struct weiri_job_row *ret_row, struct weir_job *ret_job)
{
    struct weir_job job = {.progress = -1};
    struct weiri_job_row row = {.number = 0};
#define TEXT(name, kind, limit, feature) &job.name,
    const char **words[] = {WEIRI_WORD_FIELDS(TEXT) & job.identity};
    int code = weiri_row_read(statement, &row);
    code = code == SQLITE_OK ? read_text(statement, 13, &job.reason) : code;
    code = code == SQLITE_OK ? read_text(statement, 14, &job.key) : code;
    for (int i = 0; i < (int)(sizeof(words) / sizeof(words[0])) && code == SQLITE_OK; i++) {
        code = read_text(statement, WEIRI_SQL_JOB_NUMBERS + i, words[i]);
    }
    job.priority = row.priority;
    job.created_ns = row.created_ns;
    *ret_row = row;
    *ret_job = job;
    return code;
}

int weiri_job_copy(struct weiri_store *store, struct weiri_connection *connection, int64_t number,
                   struct weir_job *job, struct weiri_reservation **ret_copy)
{
    struct weiri_stored_body stored;
    int code = weiri_stored_body_read(connection, number, &stored);
    if (code == SQLITE_ROW || code == SQLITE_DONE) {
        void *body;
        struct weir_job_id id;
        weiri_number_format(number, &id);
        job->id = id.text;
#define TELL(name, kind, limit, feature) job->name = stored.name;
        WEIRI_TOLD_FIELDS(TELL)
        job->reason = stored.is_sound ? job->reason : weiri_damage_reason;
        struct weiri_reservation *copy =
            weiri_reservation_new(&store->config->allocator, job, stored.size, &body);
        if (copy == NULL) {
            return weiri_sql_end(stored.statement, SQLITE_NOMEM);
        }
        if (stored.bytes != NULL) {
            memcpy(body, stored.bytes, stored.size);
        }
        copy->number = number;
        copy->status = stored.is_sound ? WEIR_OK : WEIR_ECORRUPT;
        *ret_copy = copy;
    }
    return weiri_sql_end(stored.statement, code);
}

int weiri_copy_job(struct weiri_reading *reading, int64_t number, enum weir_job_state state,
                   struct weiri_reservation **ret_copy)
{
    sqlite3_stmt *statement;
    *ret_copy = NULL;
    int code = weiri_sql_start(reading->reader, WEIRI_SQL_PEEK, WEIRI_VALUES(number), &statement);
    if (code != SQLITE_ROW) {
        return code == SQLITE_DONE ? weiri_sql_end(statement, code) : code;
    }
    struct weiri_job_row row;
    struct weir_job job;
    code = weiri_job_read(statement, &row, &job);
    if (code != SQLITE_OK) {
        return weiri_sql_end(statement, code);
    }
    const struct weiri_now now = {reading->now_ns, weiri_store_lease_now(reading->store)};
    weiri_row_show(&job, &row, now);
    code = read_text(statement, sqlite3_column_count(statement) - 1, &job.tube);
    if (code == SQLITE_OK && job.attempts > 0) {
        int64_t outcome = 0;
        code = weiri_sql_number(reading->reader, WEIRI_SQL_LAST_OUTCOME, WEIRI_VALUES(number),
                                &outcome);
        job.last_outcome = (enum weir_run_outcome)outcome;
    }
    if (code == SQLITE_OK && (state == WEIRI_JOB_GONE || state == job.state)) {
        code = weiri_job_copy(reading->store, reading->reader, number, &job, ret_copy);
    }
    return weiri_sql_end(statement, code);
}

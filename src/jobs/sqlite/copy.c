/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/read.h"

#include <string.h>

#include "jobs/sqlite/body.h"

void weiri_job_read(struct weiri_connection *connection, sqlite3_stmt *statement,
                    struct weiri_job_row *ret_row, struct weir_job *ret_job)
{
    weiri_row_read(connection, statement, ret_row);
    *ret_job = (struct weir_job){
        .progress = -1, .priority = ret_row->priority, .created_ns = ret_row->created_ns};
    ret_job->reason = weiri_sql_text(connection, statement, WEIRI_COLUMN_reason);
    ret_job->key = weiri_sql_text(connection, statement, WEIRI_COLUMN_key);
    ret_job->identity = weiri_sql_text(connection, statement, WEIRI_COLUMN_identity);
#define READ(name, kind, limit, feature)                                                           \
    ret_job->name = weiri_sql_text(connection, statement, WEIRI_COLUMN_##name);
    WEIRI_WORD_FIELDS(READ)
}

struct weiri_reservation *weiri_job_copy(struct weiri_store *store,
                                         struct weiri_connection *connection,
                                         sqlite3_stmt *statement, int64_t number,
                                         struct weir_job *job)
{
    struct weiri_stored_body stored;
    struct weiri_reservation *copy = NULL;
    void *body;
    struct weir_job_id id;
    weiri_stored_body_read(connection, statement, WEIRI_COLUMN_body, &stored);
    weiri_number_format(number, &id);
    job->id = id.text;
#define TELL(name, kind, limit, feature) job->name = stored.name;
    WEIRI_TOLD_FIELDS(TELL)
    job->reason = stored.is_sound ? job->reason : weiri_damage_reason;
    if (connection->code == SQLITE_OK) {
        copy = weiri_reservation_new(&store->config->allocator, job, stored.size, &body);
        weiri_sql_fail(connection, copy == NULL ? SQLITE_NOMEM : SQLITE_OK);
    }
    if (copy != NULL) {
        copy->number = number;
        copy->status = stored.is_sound ? WEIR_OK : WEIR_ECORRUPT;
        memcpy(body, stored.bytes, stored.size);
    }
    job->id = NULL; /* the copy has its own */
    return copy;
}

struct weiri_reservation *weiri_copy_job(struct weiri_reading *reading, int64_t number,
                                         const struct weir_job_filter *filter)
{
    struct weiri_connection *reader = reading->reader;
    struct weiri_reservation *copy = NULL;
    sqlite3_stmt *statement;
    struct weiri_job_row row;
    struct weir_job job;
    bool has_body = filter->no_bodies == 0;
    if (!weiri_sql_first(reader, has_body ? WEIRI_SQL_PEEK : WEIRI_SQL_PEEK_SIZE,
                         WEIRI_VALUES(number), &statement)) {
        return NULL;
    }
    weiri_job_read(reader, statement, &row, &job);
    const struct weiri_now now = {reading->now_ns, weiri_store_lease_now(reading->store)};
    weiri_row_show(&job, &row, now);
    job.tube = weiri_sql_text(reader, statement, WEIRI_COLUMN_tube_name);
    job.last_outcome =
        (enum weir_run_outcome)sqlite3_column_int64(statement, WEIRI_COLUMN_last_outcome);
    if (job.state == WEIR_JOB_RESERVED) {
        job.owner_life = weiri_worker_life(reading->store, reader, &row);
    }
    if (filter->state == 0 || filter->state == job.state ||
        (filter->state == WEIRI_JOB_WAITING && job.state <= WEIR_JOB_READY)) {
        copy = weiri_job_copy(reading->store, reader, statement, number, &job);
    }
    if (copy != NULL && !has_body) {
        copy->job.body = NULL;
        copy->job.body_size = (size_t)sqlite3_column_int64(statement, WEIRI_COLUMN_size);
    }
    weiri_sql_leave(statement);
    return copy;
}

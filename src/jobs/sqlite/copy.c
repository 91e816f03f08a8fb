/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/copy.h"

#include <string.h>

#include "base/time.h"
#include "jobs/sqlite/body.h"

int weiri_job_read(sqlite3_stmt *statement, struct weiri_row *ret_row, struct weir_job *ret_job)
{
    struct weir_job job = {.priority = sqlite3_column_int(statement, 8),
                           .created_ns = sqlite3_column_int64(statement, 9),
                           .progress = -1};
#define TEXT(name, kind, limit, feature) &job.name,
    const char **texts[] = {&job.reason, &job.key, &job.identity, WEIRI_WORD_FIELDS(TEXT)};
    int code = weiri_row_read(statement, ret_row);
    for (int i = 0; i < (int)(sizeof(texts) / sizeof(texts[0])); i++) {
        bool is_there = sqlite3_column_type(statement, 10 + i) != SQLITE_NULL;
        *texts[i] = is_there ? (const char *)sqlite3_column_text(statement, 10 + i) : NULL;
        code = is_there && *texts[i] == NULL ? SQLITE_NOMEM : code;
    }
    *ret_job = job;
    return code;
}

void weiri_job_show(struct weir_job *job, const struct weiri_job_facts *facts)
{
    job->fence = facts->token;
    job->run_at_ns = facts->run_at_ns;
    job->ttr_ns = facts->ttr_ns;
    job->attempts = facts->attempts;
    job->state = facts->state;
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

/* The wall time at which a lease ends. One of an earlier boot has ended, though no writer has
 * noticed yet (boot.h). */
static int64_t find_end(const struct weiri_reading *reading, const struct weiri_job_facts *facts)
{
    int64_t left_ns = weiri_time_sub(facts->lease_ns, weiri_store_lease_now(reading->store));
    return left_ns > facts->ttr_ns ? reading->now_ns : weiri_time_add(reading->now_ns, left_ns);
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
    struct weiri_row row;
    struct weir_job job;
    code = weiri_job_read(statement, &row, &job);
    if (code != SQLITE_OK) {
        return weiri_sql_end(statement, code);
    }
    /* As in the counts, a job that is due is ready. */
    const struct weiri_job_step due = {.event = WEIRI_JOB_DUE};
    enum weir_status ignored = weiri_job_apply(&row.facts, &due, reading->now_ns);
    (void)ignored;
    weiri_job_show(&job, &row.facts);
    int last = sqlite3_column_count(statement) - 1;
    bool is_told = sqlite3_column_type(statement, last) == SQLITE_INTEGER;
    int64_t progress = is_told ? sqlite3_column_int64(statement, last) : -1;
    job.tube = (const char *)sqlite3_column_text(statement, last - 3);
    if (job.state == WEIR_JOB_RESERVED) {
        job.reserved_until_ns = find_end(reading, &row.facts);
        job.owner = sqlite3_column_int64(statement, last - 2);
        job.started_ns = sqlite3_column_int64(statement, last - 1);
        job.progress = (int32_t)progress;
    }
    code = job.tube == NULL                  ? SQLITE_NOMEM
           : progress < -1 || progress > 100 ? SQLITE_CORRUPT
                                             : SQLITE_OK;
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

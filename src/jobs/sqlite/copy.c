/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/copy.h"

#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "jobs/sqlite/body.h"
#include "jobs/sqlite/row.h"

/* Copies a job with its body. */
static int copy_body(struct weiri_reading *reading, int64_t number, struct weir_job *job,
                     struct weiri_reservation **ret_copy)
{
    struct weiri_stored_body stored;
    int code = weiri_stored_body_read(reading->reader, number, &stored);
    if (code == SQLITE_ROW || code == SQLITE_DONE) {
        void *body;
        job->headers = stored.headers;
        job->reason = stored.is_sound ? job->reason : weiri_damage_reason;
        struct weiri_reservation *copy =
            weiri_reservation_new(&reading->store->config->allocator, job, stored.size, &body);
        if (copy == NULL) {
            return weiri_sql_end(stored.statement, SQLITE_NOMEM);
        }
        if (stored.bytes != NULL) {
            memcpy(body, stored.bytes, stored.size);
        }
        copy->number = number;
        copy->backend = stored.is_sound ? NULL : copy;
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

/* Copies the key of a job; "": none. */
static int find_key(struct weiri_reading *reading, int64_t number, char key[WEIR_KEY_SIZE_MAX + 1])
{
    key[0] = '\0';
    sqlite3_stmt *statement;
    int code = weiri_sql_start(reading->reader, WEIRI_SQL_KEY_OF_JOB, &number, 1, &statement);
    const char *text = code == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 3) : NULL;
    if (code == SQLITE_ROW && text == NULL) {
        return weiri_sql_end(statement, SQLITE_NOMEM);
    }
    if (text != NULL) {
        (void)snprintf(key, WEIR_KEY_SIZE_MAX + 1, "%s", text);
    }
    return code == SQLITE_ROW || code == SQLITE_DONE ? weiri_sql_end(statement, code) : code;
}

/* Reads the group of a job, and what its last reservation tells of its run. */
static int find_run(struct weiri_reading *reading, int64_t number, struct weir_job *job,
                    char group[WEIR_GROUP_SIZE_MAX + 1])
{
    sqlite3_stmt *statement;
    int code = weiri_sql_start(reading->reader, WEIRI_SQL_RUN, &number, 1, &statement);
    if (code == SQLITE_ROW) {
        bool is_told = sqlite3_column_type(statement, 1) == SQLITE_INTEGER;
        bool has_group = sqlite3_column_type(statement, 2) != SQLITE_NULL;
        const char *text = (const char *)sqlite3_column_text(statement, 2);
        int64_t progress = is_told ? sqlite3_column_int64(statement, 1) : -1;
        if (job->state == WEIR_JOB_RESERVED) {
            job->started_ns = sqlite3_column_int64(statement, 0);
            job->progress = (int32_t)progress;
        }
        (void)snprintf(group, WEIR_GROUP_SIZE_MAX + 1, "%s", text == NULL ? "" : text);
        job->group = has_group ? group : NULL;
        code = has_group && text == NULL         ? SQLITE_NOMEM
               : progress < -1 || progress > 100 ? SQLITE_CORRUPT
                                                 : code;
    }
    return weiri_sql_end(statement, code);
}

int weiri_copy_job(struct weiri_reading *reading, int64_t number, enum weir_job_state state,
                   struct weiri_reservation **ret_copy)
{
    sqlite3_stmt *statement;
    *ret_copy = NULL;
    int code = weiri_sql_start(reading->reader, WEIRI_SQL_PEEK, &number, 1, &statement);
    if (code != SQLITE_ROW) {
        return code == SQLITE_DONE ? weiri_sql_end(statement, code) : code;
    }
    struct weiri_row row;
    const char *reason = (const char *)sqlite3_column_text(statement, 10);
    const char *tube = (const char *)sqlite3_column_text(statement, 11);
    code = weiri_row_read(statement, &row);
    if (code == SQLITE_OK && (reason == NULL || tube == NULL)) {
        code = SQLITE_NOMEM;
    }
    if (code == SQLITE_OK) {
        /* As in the counts, a job that is due is ready. */
        const struct weiri_job_step due = {.event = WEIRI_JOB_DUE};
        enum weir_status ignored = weiri_job_apply(&row.facts, &due, reading->now_ns);
        (void)ignored;
        struct weir_job_id id;
        weiri_number_format(number, &id);
        struct weir_job job = {.id = id.text,
                               .tube = tube,
                               .created_ns = sqlite3_column_int64(statement, 9),
                               .run_at_ns = row.facts.run_at_ns,
                               .ttr_ns = row.facts.ttr_ns,
                               .priority = sqlite3_column_int(statement, 8),
                               .attempts = row.facts.attempts,
                               .state = row.facts.state,
                               .fence = row.facts.token,
                               .progress = -1,
                               .reason = reason};
        if (job.state == WEIR_JOB_RESERVED) {
            job.reserved_until_ns = find_end(reading, &row.facts);
            job.owner = sqlite3_column_int64(statement, 12);
        }
        char group[WEIR_GROUP_SIZE_MAX + 1];
        if (code == SQLITE_OK) {
            code = find_run(reading, number, &job, group);
        }
        if (code == SQLITE_OK && row.facts.attempts > 0) {
            int64_t outcome = 0;
            code = weiri_sql_number(reading->reader, WEIRI_SQL_LAST_OUTCOME, &number, 1, &outcome);
            job.last_outcome = (enum weir_run_outcome)outcome;
        }
        if (code != SQLITE_OK) {
            return weiri_sql_end(statement, code);
        }
        if (state == WEIRI_JOB_GONE || state == job.state) {
            char key[WEIR_KEY_SIZE_MAX + 1];
            code = find_key(reading, number, key);
            job.key = key[0] == '\0' ? NULL : key;
            code = code == SQLITE_OK ? copy_body(reading, number, &job, ret_copy) : code;
        }
    }
    return weiri_sql_end(statement, code);
}

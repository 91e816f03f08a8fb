/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/read.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/panic.h"
#include "base/time.h"
#include "jobs/error.h"
#include "jobs/sqlite/checksum.h"
#include "jobs/sqlite/result.h"
#include "jobs/sqlite/row.h"
#include "jobs/sqlite/schema.h"

enum weir_status weiri_reader_take(struct weiri_store *store, struct weiri_connection **ret_reader,
                                   struct weir_error *ret_error)
{
    weiri_mutex_lock(&store->mutex);
    struct weiri_connection *reader = store->idle_reader;
    store->idle_reader = NULL;
    weiri_mutex_unlock(&store->mutex);
    if (reader == NULL) {
        const struct weir_allocator *allocator = &store->config->allocator;
        reader = weiri_alloc(allocator, sizeof(*reader));
        if (reader == NULL) {
            (void)weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
            return WEIR_ENOMEM;
        }
        enum weir_status status = weiri_connection_open(
            reader, store->path, WEIRI_CONNECTION_READER, store->config, ret_error);
        weiri_mutex_lock(&store->mutex);
        store->has_made_log = store->has_made_log || reader->has_made_log;
        weiri_mutex_unlock(&store->mutex);
        if (status != WEIR_OK) {
            weiri_reader_close(store, reader);
            return status;
        }
    }
    *ret_reader = reader;
    return WEIR_OK;
}

/* Whether there is a log, and it is empty. */
static bool has_empty_log(const struct weiri_store *store)
{
    char path[PATH_MAX];
    struct stat facts;
    (void)snprintf(path, sizeof(path), "%s-wal", store->path);
    return lstat(path, &facts) == 0 && facts.st_size == 0;
}

/* A read-only store has no writer that would remove the log. To read a store that is not in use,
 * SQLite makes an empty log, and removes it at the end if it may checkpoint. That is safe while the
 * log is empty, and under the lock it stays empty. If another process has the lock, that process
 * will remove the log. If there is no lock file, no writer of weir is there, and SQLite's own locks
 * suffice. */
void weiri_reader_close(struct weiri_store *store, struct weiri_connection *reader)
{
    weiri_mutex_lock(&store->mutex);
    bool may_tidy = store->is_read_only && store->has_made_log;
    weiri_mutex_unlock(&store->mutex);
    int lock = -1;
    if (may_tidy) {
        int error = weiri_lock_file_try(store->lock_path, &lock);
        may_tidy = (error == 0 || error == ENOENT) && has_empty_log(store);
    }
    weiri_connection_close(reader, may_tidy);
    if (lock >= 0) {
        (void)close(lock);
    }
    weiri_release(&store->config->allocator, reader, sizeof(*reader));
}

void weiri_reader_give(struct weiri_store *store, struct weiri_connection *reader, bool is_good)
{
    weiri_mutex_lock(&store->mutex);
    bool is_kept = is_good && store->idle_reader == NULL;
    if (is_kept) {
        store->idle_reader = reader;
    }
    weiri_mutex_unlock(&store->mutex);
    if (!is_kept) {
        weiri_reader_close(store, reader);
    }
}

/* The state of a reading call, and whether its callback has ended it. */
struct reading {
    struct weiri_store *store;
    struct weiri_connection *reader;
    int64_t now_ns;
    bool is_over;
};

static enum weir_status begin(struct weiri_store *store, struct reading *ret_reading,
                              struct weir_error *ret_error)
{
    struct weiri_connection *reader;
    enum weir_status status = weiri_reader_take(store, &reader, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    int code = weiri_sql_run(reader, WEIRI_SQL_BEGIN_READ, NULL, 0);
    if (code != SQLITE_OK) {
        status = weiri_sqlite_fail(ret_error, reader->db, code, store->path);
        WEIRI_ASSERT(status != WEIR_OK);
        weiri_reader_give(store, reader, false);
        return status;
    }
    *ret_reading = (struct reading){store, reader, weiri_store_now(store), false};
    return WEIR_OK;
}

static enum weir_status finish(struct reading *reading, int code, struct weir_error *ret_error)
{
    struct weiri_connection *reader = reading->reader;
    enum weir_status status = WEIR_OK;
    if (code != SQLITE_OK) {
        status = weiri_sqlite_fail(ret_error, reader->db, code, reading->store->path);
    }
    int end = weiri_sql_run(reader, WEIRI_SQL_ROLLBACK, NULL, 0);
    weiri_reader_give(reading->store, reader, code == SQLITE_OK && end == SQLITE_OK);
    return status;
}

/* --- tubes --- */

/* Reports one tube. Delayed jobs that are due count as ready, even if no consumer has made them
 * ready in the store. */
static int report_tube(struct reading *reading, sqlite3_stmt *statement, weir_tube_fn *fn,
                       void *arg)
{
    const int64_t values[] = {sqlite3_column_int64(statement, 0), reading->now_ns};
    int64_t due = 0;
    int code = weiri_sql_number(reading->reader, WEIRI_SQL_COUNT_DUE, values, 2, &due);
    const char *name = (const char *)sqlite3_column_text(statement, 1);
    if (code != SQLITE_OK || name == NULL) {
        return code != SQLITE_OK ? code : SQLITE_NOMEM;
    }
    int64_t numbers[8];
    for (int i = 0; i < 8; i++) {
        numbers[i] = sqlite3_column_int64(statement, i + 2);
        if (numbers[i] < 0) {
            return SQLITE_CORRUPT;
        }
    }
    struct weir_tube_counts counts = {.delayed = (uint64_t)(numbers[0] - due),
                                      .ready = (uint64_t)(numbers[1] + due),
                                      .reserved = (uint64_t)numbers[2],
                                      .buried = (uint64_t)numbers[3],
                                      .put = (uint64_t)numbers[4],
                                      .done = (uint64_t)numbers[5],
                                      .retried = (uint64_t)numbers[6],
                                      .expired = (uint64_t)numbers[7]};
    if (reading->reader->version >= WEIRI_SCHEMA_BOOTS) {
        int64_t until = 0;
        code = weiri_sql_number(reading->reader, WEIRI_SQL_PAUSED, values, 1, &until);
        if (code != SQLITE_OK && code != SQLITE_DONE) {
            return code;
        }
        counts.paused_until_ns = until > reading->now_ns ? until : 0;
    }
    size_t length = strnlen(name, WEIR_TUBE_SIZE_MAX);
    if (numbers[0] < due) {
        return SQLITE_CORRUPT;
    }
    memcpy(counts.tube, name, length);
    reading->is_over = fn(&counts, arg) != 0;
    return SQLITE_OK;
}

enum weir_status weiri_store_tubes(void *arg, const char *tube, weir_tube_fn *fn, void *fn_arg,
                                   struct weir_error *ret_error)
{
    struct reading reading;
    enum weir_status status = begin(arg, &reading, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    sqlite3_stmt *statement;
    int code = weiri_sql_prepare(reading.reader, tube == NULL ? WEIRI_SQL_TUBES : WEIRI_SQL_TUBE,
                                 &statement);
    if (code == SQLITE_OK && tube != NULL) {
        code = sqlite3_bind_text(statement, 1, tube, -1, SQLITE_STATIC);
    }
    if (code == SQLITE_OK) {
        code = sqlite3_step(statement);
    }
    while (code == SQLITE_ROW && !reading.is_over) {
        code = report_tube(&reading, statement, fn, fn_arg);
        if (code == SQLITE_OK) {
            code = reading.is_over ? SQLITE_DONE : sqlite3_step(statement);
        }
    }
    code = weiri_sql_end(statement, code);
    if (statement != NULL) {
        (void)sqlite3_clear_bindings(statement);
    }
    return finish(&reading, code, ret_error);
}

/* --- peek --- */

static int show_body(struct reading *reading, int64_t number, struct weir_job *job, weir_job_fn *fn,
                     void *arg)
{
    sqlite3_stmt *statement;
    int code = weiri_sql_start(reading->reader, WEIRI_SQL_BODY, &number, 1, &statement);
    bool is_sound = false;
    job->body = "";
    if (code == SQLITE_ROW) {
        uint64_t checksum = (uint64_t)sqlite3_column_int64(statement, 0);
        const void *bytes = sqlite3_column_blob(statement, 1);
        job->body_size = (size_t)sqlite3_column_bytes(statement, 1);
        if (bytes != NULL) {
            job->body = bytes;
        } else if (sqlite3_errcode(reading->reader->db) == SQLITE_NOMEM) {
            return weiri_sql_end(statement, SQLITE_NOMEM);
        }
        is_sound = weiri_checksum(bytes, job->body_size) == checksum;
    }
    if (code == SQLITE_ROW || code == SQLITE_DONE) {
        if (!is_sound) {
            job->reason = weiri_damage_reason;
        }
        reading->is_over = fn(job, arg) != 0;
    }
    return weiri_sql_end(statement, code);
}

/* Finds the wall time at which a lease ends. One of an earlier boot has ended, though no writer has
 * noticed yet. In version 1 leases are wall times. */
static int find_end(struct reading *reading, int64_t lease_ns, int64_t *ret_end_ns)
{
    *ret_end_ns = lease_ns;
    if (reading->reader->version < WEIRI_SCHEMA_BOOTS) {
        return SQLITE_OK;
    }
    const struct weiri_store *store = reading->store;
    sqlite3_stmt *statement;
    int code = weiri_sql_start(reading->reader, WEIRI_SQL_BOOT, NULL, 0, &statement);
    if (code == SQLITE_ROW) {
        const char *boot = (const char *)sqlite3_column_text(statement, 0);
        bool is_this = boot != NULL && strcmp(boot, store->config->boot) == 0;
        int64_t left_ns = weiri_time_sub(lease_ns, weiri_store_lease_now(store));
        *ret_end_ns = is_this ? weiri_time_add(reading->now_ns, left_ns) : reading->now_ns;
    }
    return weiri_sql_end(statement, code);
}

/* Reports one job. SQLITE_ROW: reported; SQLITE_DONE: there is none. */
static int report_job(struct reading *reading, int64_t number, weir_job_fn *fn, void *arg)
{
    sqlite3_stmt *statement;
    int code = weiri_sql_start(reading->reader, WEIRI_SQL_PEEK, &number, 1, &statement);
    if (code == SQLITE_DONE) {
        (void)sqlite3_reset(statement);
    }
    if (code != SQLITE_ROW) {
        return code;
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
                               .reason = reason};
        if (job.state == WEIR_JOB_RESERVED) {
            code = find_end(reading, row.facts.lease_ns, &job.reserved_until_ns);
            job.owner = sqlite3_column_int64(statement, 12);
        }
        if (code == SQLITE_OK) {
            code = show_body(reading, number, &job, fn, arg);
        }
    }
    code = weiri_sql_end(statement, code);
    return code == SQLITE_OK ? SQLITE_ROW : code;
}

enum weir_status weiri_store_peek_id(void *arg, const char *id, weir_job_fn *fn, void *fn_arg,
                                     struct weir_error *ret_error)
{
    int64_t number;
    if (!weiri_number_parse(id, &number)) {
        return weiri_fail(ret_error, WEIR_EINVAL, "job id \"%.40s\" is no decimal number from 1 on",
                          id);
    }
    struct reading reading;
    enum weir_status status = begin(arg, &reading, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    int code = report_job(&reading, number, fn, fn_arg);
    bool is_missing = code == SQLITE_DONE;
    status = finish(&reading, code == SQLITE_ROW || is_missing ? SQLITE_OK : code, ret_error);
    if (status == WEIR_OK && is_missing) {
        status = weiri_fail(ret_error, WEIR_ENOTFOUND, "there is no job %.40s", id);
    }
    return status;
}

/* Reports the jobs of one state, at most limit. */
static int report_state(struct reading *reading, enum weir_job_state state, int64_t tube,
                        size_t limit, weir_job_fn *fn, void *arg, size_t *ret_count)
{
    static const enum weiri_sql lists[] = {
        [WEIR_JOB_DELAYED] = WEIRI_SQL_PEEK_DELAYED,
        [WEIR_JOB_READY] = WEIRI_SQL_PEEK_READY,
        [WEIR_JOB_RESERVED] = WEIRI_SQL_PEEK_RESERVED,
        [WEIR_JOB_BURIED] = WEIRI_SQL_PEEK_BURIED,
    };
    const int64_t values[] = {tube, reading->now_ns,
                              limit < INT64_MAX ? (int64_t)limit : INT64_MAX};
    sqlite3_stmt *statement;
    size_t count = 0;
    int code = weiri_sql_start(reading->reader, lists[state], values, 3, &statement);
    while (code == SQLITE_ROW && !reading->is_over) {
        code = report_job(reading, sqlite3_column_int64(statement, 0), fn, arg);
        /* The index names a job that does not exist. */
        code = code == SQLITE_DONE ? SQLITE_CORRUPT : code;
        if (code == SQLITE_ROW) {
            count++;
            code = reading->is_over ? SQLITE_DONE : sqlite3_step(statement);
        }
    }
    *ret_count = count;
    return weiri_sql_end(statement, code);
}

enum weir_status weiri_store_peek(void *arg, const char *tube, enum weir_job_state state,
                                  size_t limit, weir_job_fn *fn, void *fn_arg,
                                  struct weir_error *ret_error)
{
    static const enum weir_job_state order[] = {WEIR_JOB_RESERVED, WEIR_JOB_READY, WEIR_JOB_DELAYED,
                                                WEIR_JOB_BURIED};
    struct reading reading;
    enum weir_status status = begin(arg, &reading, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    int64_t number;
    int code = weiri_tube_find(reading.reader, tube, &number);
    bool is_known = code == SQLITE_ROW;
    code = code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]) && is_known; i++) {
        bool is_asked = state == WEIRI_JOB_GONE || state == order[i];
        if (is_asked && limit > 0 && !reading.is_over && code == SQLITE_OK) {
            size_t count;
            code = report_state(&reading, order[i], number, limit, fn, fn_arg, &count);
            limit -= count;
        }
    }
    return finish(&reading, code, ret_error);
}

enum weir_status weiri_store_page(struct weiri_page *page, int64_t *until, weir_job_fn *fn,
                                  void *arg, struct weir_error *ret_error)
{
    struct reading reading;
    enum weir_status status = begin(page->store, &reading, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    int64_t tube = 0; /* all */
    int code = page->tube == NULL ? SQLITE_ROW : weiri_tube_find(reading.reader, page->tube, &tube);
    bool is_known = code == SQLITE_ROW;
    code = code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
    if (code == SQLITE_OK && page->last < 0) {
        code = weiri_sql_number(reading.reader, WEIRI_SQL_LAST_JOB, NULL, 0, &page->last);
    }
    *until = *until < page->last && is_known ? *until : page->last;
    if (code == SQLITE_OK && is_known) {
        const int64_t values[] = {
            page->after, *until, tube, page->states, page->attempts_min, page->created_before_ns};
        sqlite3_stmt *statement;
        code = weiri_sql_start(reading.reader, WEIRI_SQL_PAGE, values, 6, &statement);
        while (code == SQLITE_ROW && !reading.is_over) {
            code = report_job(&reading, sqlite3_column_int64(statement, 0), fn, arg);
            code = code == SQLITE_ROW && !reading.is_over ? sqlite3_step(statement) : code;
        }
        code = weiri_sql_end(statement, code);
    }
    return finish(&reading, code, ret_error);
}

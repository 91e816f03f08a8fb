/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Repairing and shrinking a store, on a connection of their own beside the broker's: both exclude
 * each other by the lock file, as two processes do. */
#include <string.h>

#include "base/error.h"
#include "jobs/sqlite/body.h"
#include "jobs/sqlite/file.h"
#include "jobs/sqlite/row.h"
#include "jobs/sqlite/stamp.h"
#include "jobs/sqlite/write.h"

/* Jobs that are checked in one transaction, so that others can write in between. */
enum {
    CHECK_JOBS = 500
};

/* --- repair --- */

/* Deletes what belongs to no job. */
static const char *const orphans[] = {
    "DELETE FROM bodies WHERE id NOT IN (SELECT id FROM jobs WHERE body IS NULL)",
    "DELETE FROM attempts WHERE job NOT IN (SELECT id FROM jobs)",
};

/* Where an index cannot be read, the leader makes those of weir's tables anew before this is run
 * again; others may still be such. */
static void rebuild(struct weiri_store *own, void *arg)
{
    struct weir_repair_counts *counts = arg;
    struct weiri_connection *writer = &own->writer;
    counts->orphans = 0;
    weiri_sql_exec(writer, own->has_repaired ? "REINDEX tubes; REINDEX schedules" : "REINDEX");
    counts->damaged = own->mended + weiri_repair_rows(writer);
    for (size_t i = 0; i < sizeof(orphans) / sizeof(orphans[0]); i++) {
        weiri_sql_exec(writer, orphans[i]);
        counts->orphans += (uint64_t)sqlite3_changes(writer->db);
    }
    own->changes_before = -1; /* SQLite counts no changes of indexes */
}

/* A stretch of jobs whose bodies are checked. */
struct stretch {
    int64_t after; /* the last number that was checked before */
    /* Results. */
    size_t count;                    /* 0: there are no more */
    int64_t last;                    /* the last number that was checked */
    struct weir_repair_counts found; /* in this stretch */
};

/* Buries a job whose body is damaged, unless a worker has it. */
static void bury(struct weiri_store *own, struct weiri_tally *tally, int64_t number)
{
    struct weiri_job_row row;
    const struct weiri_job_step step = {.event = WEIRI_JOB_SET_ASIDE};
    if (weiri_row_load(own, number, &row)) {
        (void)weiri_row_change(own, tally, &row, &step, weiri_store_times(own),
                               weiri_damage_reason);
    }
}

static void check_stretch(struct weiri_store *own, void *arg)
{
    struct stretch *stretch = arg;
    struct weiri_tally tally = {0};
    int64_t damaged[CHECK_JOBS];
    sqlite3_stmt *statement;
    stretch->count = 0;
    stretch->found = (struct weir_repair_counts){0};
    bool is = weiri_sql_first(&own->writer, WEIRI_SQL_CHECK_JOBS,
                              WEIRI_VALUES(stretch->after, CHECK_JOBS), &statement);
    for (; is && stretch->count < CHECK_JOBS; is = weiri_sql_next(&own->writer, statement)) {
        struct weiri_stored_body body;
        weiri_stored_body_read(&own->writer, statement, 1, &body);
        stretch->last = sqlite3_column_int64(statement, 0);
        stretch->count++;
        if (!body.is_sound) {
            damaged[stretch->found.damaged++] = stretch->last;
        }
    }
    weiri_sql_leave(statement);
    stretch->found.jobs = stretch->count;
    for (size_t i = 0; i < stretch->found.damaged; i++) {
        bury(own, &tally, damaged[i]);
    }
    weiri_tally_flush(own, &tally);
}

/* --- shrink --- */

/* Writes the database anew without its free pages, and copies it over the old one, with another
 * stamp: a copy of the file from before does not fit its log. Readers may put the copying off. */
static enum weir_status vacuum(struct weiri_store *own, struct weir_error *ret_error)
{
    own->remark.after = NULL;
    sqlite3 *db = own->writer.db;
    enum weir_status status = weiri_write_lock(own, weiri_write_limit(own), ret_error);
    if (status == WEIR_OK) {
        /* VACUUM attaches a file of its own, which may be as large as the store. */
        (void)sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 1);
        weiri_stamp_advance(own);
        weiri_sql_exec(&own->writer, "PRAGMA temp_store = FILE; VACUUM");
        status = weiri_sql_end(&own->writer, own->path, ret_error);
        if (status == WEIR_OK) {
            weiri_write_checkpoint(own, SQLITE_CHECKPOINT_TRUNCATE);
        }
        weiri_lock_file_unlock(&own->lock_file);
    }
    weiri_write_say(own, &own->remark);
    return status == WEIR_OK && own->must_flush ? weiri_write_flush(own, ret_error) : status;
}

/* --- as a whole --- */

static enum weir_status repair(struct weiri_store *own, struct weir_repair_counts *counts,
                               struct weir_error *ret_error)
{
    struct stretch stretch = {.count = 1};
    enum weir_status status = weiri_commit(own, rebuild, counts, ret_error);
    while (status == WEIR_OK && stretch.count > 0) {
        status = weiri_commit(own, check_stretch, &stretch, ret_error);
        counts->jobs += stretch.found.jobs;
        counts->damaged += stretch.found.damaged;
        stretch.after = stretch.last;
    }
    return status;
}

enum weir_status weiri_store_care(void *arg, struct weiri_care *care, struct weir_error *ret_error)
{
    struct weiri_store *store = arg;
    bool must_exist = true;
    if (care->kind == WEIRI_CARE_BACKUP) {
        return weiri_store_backup(store, care->path, ret_error);
    }
    struct weiri_store own = {.config = store->config};
    memcpy(own.path, store->path, sizeof(own.path));
    enum weir_status status =
        weiri_store_open(&own, weiri_store_open_writer, &must_exist, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    care->before = (uint64_t)weiri_file_size(store->path);
    if (care->kind == WEIRI_CARE_REPAIR) {
        status = repair(&own, &care->counts, ret_error);
    }
    /* Repairs of damaged indexes, this one or an earlier one, left their pages unused. */
    status = status == WEIR_OK ? vacuum(&own, ret_error) : status;
    weiri_write_close(&own);
    weiri_store_fini(&own);
    care->after = (uint64_t)weiri_file_size(store->path);
    return status;
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A copy of a store, of one moment, while it is in use. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "jobs/sqlite/connection.h"
#include "jobs/sqlite/file.h"
#include "jobs/sqlite/place.h"
#include "jobs/sqlite/read.h"
#include "jobs/sqlite/result.h"
#include "jobs/sqlite/schema.h"
#include "jobs/sqlite/url.h"

/* The copy is made under another name, so that what is at its path is whole. */
static const char suffix[] = ".weir-new";

/* In one step: others may write meanwhile, and are not in the copy. */
static void copy_pages(sqlite3 *from, struct weiri_connection *to)
{
    sqlite3_backup *backup =
        to->code == SQLITE_OK ? sqlite3_backup_init(to->db, "main", from, "main") : NULL;
    if (backup == NULL) {
        weiri_sql_fail(to, sqlite3_errcode(to->db));
        return;
    }
    weiri_sql_fail(to, sqlite3_backup_step(backup, -1));
    weiri_sql_fail(to, sqlite3_backup_finish(backup));
}

/* Gives the copy a stamp of its own, so that a log of the original is refused beside it, and a
 * number of its own, since both give numbers to jobs from now on. Ends its leases: their holders
 * have the original. */
static void make_own(struct weiri_connection *copy)
{
    char sql[256];
    (void)snprintf(
        sql, sizeof(sql),
        "BEGIN IMMEDIATE; UPDATE meta SET boot = '', store = random() & 0x7fffffffffffffff; "
        "UPDATE jobs NOT INDEXED SET lease = 0 "
        "WHERE state = 3; PRAGMA user_version = %d; COMMIT",
        weiri_schema_user_version(WEIRI_SCHEMA_VERSION, weiri_schema_new_stamp()));
    weiri_sql_exec(copy, sql);
}

/* Fills the empty file. Closing the only connection empties and removes the copy's log. */
static enum weir_status fill(sqlite3 *from, const char *path, struct weir_error *ret_error)
{
    struct weiri_connection to = {.code = SQLITE_OK};
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW;
    weiri_sql_fail(&to, sqlite3_open_v2(path, &to.db, flags, NULL));
    if (to.code == SQLITE_OK) {
        (void)sqlite3_extended_result_codes(to.db, 1); /* tell a full disk from a broken one */
    }
    weiri_sql_exec(&to, "PRAGMA synchronous = FULL");
    copy_pages(from, &to);
    make_own(&to);
    if (to.code == SQLITE_OK) {
        int mode = SQLITE_CHECKPOINT_TRUNCATE;
        weiri_sql_fail(&to, sqlite3_wal_checkpoint_v2(to.db, NULL, mode, NULL, NULL));
    }
    enum weir_status status =
        to.code == SQLITE_OK ? WEIR_OK : weiri_sqlite_fail(ret_error, to.db, to.code, path);
    (void)sqlite3_close(to.db);
    return status;
}

static enum weir_status refuse(const char *path, int error, struct weir_error *ret_error)
{
    return error == EEXIST
               ? weiri_fail(ret_error, WEIR_EBUSY, "%s exists: expected a new file", path)
               : weiri_file_fail(ret_error, error, path, " cannot be made");
}

static enum weir_status make(sqlite3 *from, const char *path, struct weir_error *ret_error)
{
    char draft[WEIRI_PLACE_SIZE + sizeof(suffix)];
    (void)snprintf(draft, sizeof(draft), "%s%s", path, suffix);
    weiri_place_remove(draft);
    int fd = -1;
    int error = weiri_file_make_private(draft, &fd);
    if (error != 0) {
        return refuse(path, error, ret_error);
    }
    /* Only now, and closed at the end: closing any descriptor of a file takes SQLite's locks of it,
     * but nobody else has this one. */
    enum weir_status status = fill(from, draft, ret_error);
    if (status == WEIR_OK) {
        error = weiri_file_put_in_place(fd, draft, path);
        status = error == 0 ? WEIR_OK : refuse(path, error, ret_error);
    }
    (void)close(fd);
    if (status != WEIR_OK) {
        weiri_place_remove(draft);
    }
    return status;
}

enum weir_status weiri_store_backup(struct weiri_store *store, const char *location,
                                    struct weir_error *ret_error)
{
    char path[WEIRI_PLACE_SIZE];
    if (location[0] == '\0' || strpbrk(location, "?#") != NULL ||
        weiri_url_reserved_ending(location, strlen(location)) != NULL) {
        return weiri_fail(ret_error, WEIR_EINVAL,
                          "path \"%.200s\" is not a store's: expected one without ? and #, that "
                          "ends unlike the files beside a store",
                          location);
    }
    enum weir_status status = weiri_place_resolve(location, path, sizeof(path), ret_error);
    enum weiri_file_kind kind = WEIRI_FILE_OTHER;
    if (status != WEIR_OK) {
        return status;
    }
    int error = weiri_file_inspect(path, &kind);
    if (error != 0 || kind != WEIRI_FILE_ABSENT) {
        return refuse(path, error != 0 ? error : EEXIST, ret_error);
    }
    status = weiri_place_check_alone(path, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    struct weiri_reading reading;
    status = weiri_reading_open(store, &reading, ret_error);
    if (status == WEIR_OK) {
        status = make(reading.reader->db, path, ret_error);
        reading.is_good = status == WEIR_OK;
        weiri_reading_close(&reading);
    }
    return status;
}

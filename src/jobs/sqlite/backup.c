/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A copy of a store, of one moment, while it is in use. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "jobs/sqlite/file.h"
#include "jobs/sqlite/read.h"
#include "jobs/sqlite/schema.h"

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
        weiri_schema_new_user_version());
    weiri_sql_exec(copy, sql);
}

static void copy(struct weiri_connection *own, void *from)
{
    copy_pages(from, own);
    make_own(own);
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
    if (status != WEIR_OK) {
        return status;
    }
    if (weiri_file_size(path) >= 0) {
        return weiri_fail(ret_error, WEIR_EBUSY, "%s exists: expected a new file", path);
    }
    struct weiri_reading reading;
    status = weiri_reading_open(store, &reading, ret_error);
    if (status == WEIR_OK) {
        status = weiri_place_make(path, copy, reading.reader->db, ret_error);
        reading.is_good = status == WEIR_OK;
        weiri_reading_close(&reading);
    }
    return status;
}

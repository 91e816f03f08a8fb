/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The check of a store: what docs/doctor.md lists. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/time.h"
#include "jobs/sqlite/body.h"
#include "jobs/sqlite/file.h"
#include "jobs/sqlite/read.h"

enum {
    DAMAGES_MAX = 10,        /* that are told of, of the file and of jobs */
    STRETCH_BYTES = 4 << 20, /* of rows and bodies that are checked in one transaction */
    LOCK_WAIT_MS = 10
};

#define DISK_LEAST ((uint64_t)64 << 20)
/* A checkpoint is made from 16 MiB on (write.c). */
#define LOG_MOST ((int64_t)64 << 20)
/* Clocks are adjusted by less than this while they run. */
#define CLOCK_SLACK WEIR_SECONDS(1)

static const char repair[] =
    "`weir repair`; where that fails restore a backup, or end all processes that use the store, "
    "then `sqlite3 FILE .dump` as weir-repair(1) says";

/* What transactions find; it is told between them. */
struct damages {
    enum weiri_sql which; /* WEIRI_SQL_CHECK_FILE or WEIRI_SQL_CHECK_JOBS */
    bool is_file_damaged; /* only the states are looked at: all else would be told of twice */
    bool is_over;         /* there are no more jobs */
    int64_t after;        /* the last job that was checked */
    char texts[DAMAGES_MAX][200];
    size_t count;
};

/* --- what is in the file --- */

static void check_row(struct weiri_connection *reader, sqlite3_stmt *statement,
                      struct damages *damages, size_t *bytes)
{
    const char *text = weiri_sql_text(reader, statement, 4);
    struct weiri_stored_body body;
    weiri_stored_body_read(reader, statement, 1, &body);
    damages->after = sqlite3_column_int64(statement, 0);
    *bytes += sizeof(struct weiri_job_row) + body.size;
    if (reader->code == SQLITE_OK && text != NULL) {
        (void)snprintf(damages->texts[damages->count++], sizeof(damages->texts[0]), "%s", text);
    } else if (reader->code == SQLITE_OK && !body.is_sound && !damages->is_file_damaged) {
        (void)snprintf(damages->texts[damages->count++], sizeof(damages->texts[0]),
                       "the body of job %lld is %s", (long long)damages->after,
                       body.is_there ? "damaged" : "missing");
    }
}

/* Checks the file, or some jobs; damage in the file ends it, and is told of like that of rows. */
static void check_contents(struct weiri_reading *reading, void *arg)
{
    struct damages *damages = arg;
    struct weiri_connection *reader = reading->reader;
    sqlite3_stmt *statement;
    size_t bytes = 0;
    int64_t before = damages->after;
    bool is = weiri_sql_first(reader, damages->which, WEIRI_VALUES(before, -1), &statement);
    while (is && bytes < STRETCH_BYTES && damages->count < DAMAGES_MAX) {
        check_row(reader, statement, damages, &bytes);
        is = weiri_sql_next(reader, statement);
    }
    weiri_sql_leave(statement);
    damages->is_over =
        !is || damages->count == DAMAGES_MAX || damages->after <= before; /* the file is damaged */
    if ((reader->code & 0xff) == SQLITE_CORRUPT && damages->count < DAMAGES_MAX) {
        (void)snprintf(damages->texts[damages->count++], sizeof(damages->texts[0]), "%s",
                       sqlite3_errmsg(reader->db));
        (void)weiri_sql_forget(reader);
    }
}

static void find_newest(struct weiri_reading *reading, void *ret_created_ns)
{
    weiri_sql_find(reading->reader, WEIRI_SQL_NEWEST, NULL, ret_created_ns);
    if ((reading->reader->code & 0xff) == SQLITE_CORRUPT) {
        (void)weiri_sql_forget(reading->reader); /* it is told of as damage */
    }
}

/* Each stretch in a transaction of its own, so that the log can be restarted in between. */
static enum weir_status check_file(struct weiri_reading *reading, struct weiri_check *check,
                                   struct weir_error *ret_error)
{
    const char *path = reading->store->path;
    struct damages damages = {.which = WEIRI_SQL_CHECK_FILE};
    enum weir_status status = WEIR_OK;
    for (size_t told = 0; status == WEIR_OK && !damages.is_over && !check->is_over;) {
        status = weiri_reading_run(reading, check_contents, &damages, ret_error);
        while (told < damages.count && weiri_find(check, "integrity", WEIR_FINDING_PROBLEM, path,
                                                  repair, "%s", damages.texts[told])) {
            told++;
        }
        if (damages.which == WEIRI_SQL_CHECK_FILE) {
            damages = (struct damages){.which = WEIRI_SQL_CHECK_JOBS,
                                       .is_file_damaged = damages.count > 0,
                                       .after = INT64_MIN};
            told = 0;
        }
    }
    int64_t created_ns = 0;
    if (status == WEIR_OK) {
        status = weiri_reading_run(reading, find_newest, &created_ns, ret_error);
    }
    int64_t back_ns = weiri_time_sub(created_ns, reading->now_ns);
    if (status == WEIR_OK && back_ns > CLOCK_SLACK && !check->is_over) {
        (void)weiri_find(check, "clock", WEIR_FINDING_PROBLEM, path,
                         "set this host's clock, e.g. by NTP: jobs run at times of this clock",
                         "the newest job was put %lld s after what the clock says now",
                         (long long)(back_ns / WEIR_SECONDS(1)));
    }
    return status;
}

/* --- what is around it --- */

/* SQLite 3.7.0 to 3.51.2 but 3.44.6 and 3.50.7 may damage a file where two connections reset the
 * log: all of weir's do that under the store's lock, other programs do not. */
static bool has_reset_bug(int version)
{
    return version >= 3007000 && version < 3051003 && !(version >= 3044006 && version < 3045000) &&
           !(version >= 3050007 && version < 3051000);
}

static void check_version(const struct weiri_store *store, struct weiri_check *check)
{
    int version = sqlite3_libversion_number();
    if (version < SQLITE_VERSION_NUMBER &&
        !weiri_find(check, "sqlite", WEIR_FINDING_PROBLEM, store->path,
                    "install the SQLite that weir was built with, or a newer one",
                    "SQLite %s is older than the %s that weir was built with", sqlite3_libversion(),
                    SQLITE_VERSION)) {
        return;
    }
    if (has_reset_bug(version)) {
        (void)weiri_find(check, "sqlite", WEIR_FINDING_NOTE, store->path,
                         "let no other program write the store while weir uses it; SQLite 3.51.3 "
                         "is without the bug",
                         "SQLite %s may damage a file that two programs write; weir's own "
                         "processes avoid it by their lock",
                         sqlite3_libversion());
    }
}

static void check_lock(const struct weiri_store *store, struct weiri_check *check)
{
    int64_t limit_ns = weiri_time_add(weiri_monotonic_now(), store->config->busy_ns);
    int fd = -1;
    int error = weiri_lock_file_try(store->lock.path, &fd);
    while (error == EWOULDBLOCK && weiri_monotonic_now() < limit_ns) {
        (void)poll(NULL, 0, LOCK_WAIT_MS);
        error = weiri_lock_file_try(store->lock.path, &fd);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    if (error != EWOULDBLOCK) {
        return;
    }
    char text[64];
    (void)weiri_find(check, "lock", WEIR_FINDING_PROBLEM, store->lock.path,
                     "continue that process (kill -CONT) or end it: nobody else can write",
                     "%s had the lock for %lld ms",
                     weiri_lock_holder_name(weiri_lock_holder_find(store->lock.path), text),
                     (long long)(store->config->busy_ns / WEIR_MS(1)));
}

static void check_disk(const struct weiri_store *store, struct weiri_check *check)
{
    struct statvfs disk;
    if (statvfs(store->path, &disk) != 0) {
        return;
    }
    uint64_t left = (uint64_t)disk.f_bavail * disk.f_frsize;
    if (left < DISK_LEAST) {
        (void)weiri_find(check, "disk", WEIR_FINDING_PROBLEM, store->path,
                         "make space on the disk, or move the store: puts are refused once it is "
                         "full",
                         "%llu KiB are left on its disk", (unsigned long long)(left >> 10));
    }
}

static void check_log(const struct weiri_store *store, struct weiri_check *check)
{
    const struct weiri_beside log = weiri_place_beside(store->path, "-wal");
    int64_t size = weiri_file_size(log.path);
    if (size > LOG_MOST && size < INT64_MAX) {
        (void)weiri_find(check, "log", WEIR_FINDING_PROBLEM, log.path,
                         "end what reads the store for long, e.g. a backup or another program: the "
                         "log is written back once nobody reads what it replaces",
                         "the log has %llu MiB", (unsigned long long)size >> 20);
    }
}

enum weir_status weiri_store_check(void *arg, struct weiri_check *check,
                                   struct weir_error *ret_error)
{
    struct weiri_store *store = arg;
    static void (*const rest[])(const struct weiri_store *store, struct weiri_check *check) = {
        check_lock, check_log, check_disk, check_version};
    struct weiri_reading reading;
    enum weir_status status = weiri_reading_open(store, &reading, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    status = check_file(&reading, check, ret_error);
    weiri_reading_close(&reading);
    for (size_t i = 0; i < 4 && status == WEIR_OK && !check->is_over; i++) {
        rest[i](store, check);
    }
    return status;
}

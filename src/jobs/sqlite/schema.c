/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/schema.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "jobs/sqlite/place.h"

/* One row per job, its state a column (the numbers of enum weir_job_state, and others: row.h); one
 * row per tube, with its pause, its policy, and totals of what is not in rows of jobs (any more).
 * docs/internals/sqlite.md says what becomes of them. A large body is apart, and NULL in the row.
 *
 * Each index has the jobs of one state, in the order of its queries, and the state, so that SQLite
 * reads no row to count them. The row's id, which ends every index entry, is the order of arrival.
 *
 * A job that has ended (state 5, or 6: a stub, which WEIRI_SQL_IS_JOB leaves out) has its outcome,
 * and the wall time of its end as its lease. Leases are times of the boot that meta names (none in
 * a new store, or a backup); tokens are not below its era, and jobs with ids up to older were there
 * before that. Its store is a random number of the store, with which the jobs that it gives to
 * other stores are told apart; its identity is one that its backups have too, for identities
 * (statement_parts.h); ids that were given are not above its floor, or rows have them. The wall
 * clock was ahead of that of the boot and namespace `clock` by so much (clock.c). A job is renewed
 * when a put by its key gives it another body or another run. Columns named next_ are those of a
 * put during the run, the token of which is again. What a body has beside it is in told (body.h).
 * A job's owner, started, progress (NULL: none told), attempts_max (0: not known) and worker (NULL:
 * not known) are those of its last reservation. Its verdict is of the reservation that there is:
 * NULL in all other states. lost weighs the runs in a row that were lost with their workers: from 2
 * on the job is a suspect.
 *
 * The job of a schedule is that of its last firing, and so are outcome and time of its end. A
 * worker is a process that reserves jobs, with the process that guards its programs (worker.h). The
 * number of one is never given to another, whose life would be taken for its own.
 *
 * The texts are those that SQLite stores, since they are compared byte by byte. */
#define COLUMN(name, kind, limit, feature) ", \"" #name "\" TEXT"
#define NEXT_COLUMN(name, kind, limit, feature) ", next_" #name " TEXT"
#define NUMBERS WEIRI_JOB_PUT(NUMBER) WEIRI_JOB_RUNS(NUMBER) WEIRI_JOB_LAST(OPTIONAL)
#define NUMBER(name) ", " #name " INTEGER NOT NULL"
#define OPTIONAL(name) ", " #name " INTEGER"
#define ZERO " INTEGER NOT NULL DEFAULT 0"
static const struct {
    const char *name;
    const char *sql;
} objects[] = {
    {"tubes",
     "CREATE TABLE tubes(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, put" ZERO ", done" ZERO
     ", failed" ZERO ", retried" ZERO ", expired" ZERO ", burials" ZERO ", late_buried" ZERO
     ", late_dropped" ZERO ", paused_until" ZERO ", keep" ZERO ", keep_count" ZERO
     ", late_after" ZERO ", late" ZERO ", group_limit" ZERO ", archive" ZERO ") STRICT"},
    {"jobs", "CREATE TABLE jobs(id INTEGER PRIMARY KEY, state INTEGER NOT NULL" NUMBERS
             ", renewed INTEGER, key TEXT" WEIRI_ROW_FIELDS(COLUMN) WEIRI_ROW_FIELDS(
                 NEXT_COLUMN) ", reason TEXT NOT NULL, checksum INTEGER NOT NULL, told BLOB, "
                              "body BLOB) STRICT"},
    {"bodies", "CREATE TABLE bodies(id INTEGER PRIMARY KEY, told BLOB, body BLOB NOT NULL) STRICT"},
    {"jobs_put_id", "CREATE INDEX jobs_put_id ON jobs(put_id, tube) WHERE put_id IS NOT NULL"},
    {"jobs_next_put_id", "CREATE INDEX jobs_next_put_id ON jobs(next_put_id, tube) "
                         "WHERE next_put_id IS NOT NULL"},
    {"jobs_key", "CREATE UNIQUE INDEX jobs_key ON jobs(tube, key) WHERE key IS NOT NULL"},
    {"jobs_delayed",
     "CREATE INDEX jobs_delayed ON jobs(tube, state, priority, run_at) WHERE state = 1"},
    {"jobs_ready",
     "CREATE INDEX jobs_ready ON jobs(tube, state, priority, run_at) WHERE state = 2"},
    {"jobs_suspects",
     "CREATE INDEX jobs_suspects ON jobs(tube, state, priority, run_at) WHERE state = 9"},
    {"jobs_reserved", "CREATE INDEX jobs_reserved ON jobs(tube, state, lease) WHERE state = 3"},
    {"jobs_buried", "CREATE INDEX jobs_buried ON jobs(tube, state) WHERE state = 4"},
    {"meta",
     "CREATE TABLE meta(id INTEGER PRIMARY KEY, boot TEXT NOT NULL, store INTEGER NOT NULL, "
     "identity TEXT NOT NULL, floor INTEGER NOT NULL, era INTEGER NOT NULL, "
     "older INTEGER NOT NULL, clock" ZERO ", ahead" ZERO ") STRICT"},
    {"attempts",
     "CREATE TABLE attempts(job INTEGER NOT NULL, slot INTEGER NOT NULL, number INTEGER NOT NULL, "
     "outcome INTEGER NOT NULL, started INTEGER NOT NULL, ended INTEGER NOT NULL, "
     "owner INTEGER NOT NULL, status INTEGER NOT NULL, exit INTEGER NOT NULL, "
     "signal INTEGER NOT NULL, reason TEXT NOT NULL, tail TEXT NOT NULL, PRIMARY KEY(job, slot)"
     ") WITHOUT ROWID, STRICT"},
    {"throttles", "CREATE TABLE throttles(job INTEGER PRIMARY KEY, tube INTEGER NOT NULL, "
                  "key TEXT NOT NULL, until INTEGER NOT NULL) STRICT"},
    {"throttles_key", "CREATE INDEX throttles_key ON throttles(tube, key, until)"},
    {"throttles_until", "CREATE INDEX throttles_until ON throttles(until)"},
    {"schedules",
     "CREATE TABLE schedules(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, "
     "cron TEXT NOT NULL, zone TEXT NOT NULL, tube INTEGER NOT NULL, interval INTEGER NOT NULL, "
     "first INTEGER NOT NULL, priority INTEGER NOT NULL, ttr INTEGER NOT NULL, "
     "missed INTEGER NOT NULL, tolerance INTEGER NOT NULL, catch_up INTEGER NOT NULL, "
     "flags INTEGER NOT NULL, next INTEGER NOT NULL, paused" ZERO ", last" ZERO ", job" ZERO
     ", outcome" ZERO ", ended" ZERO ", fired" ZERO ", skipped" ZERO
     ", problem TEXT NOT NULL DEFAULT '', "
     "checksum INTEGER NOT NULL, body BLOB NOT NULL) STRICT"},
    {"schedules_job", "CREATE INDEX schedules_job ON schedules(job)"},
    {"schedules_next", "CREATE INDEX schedules_next ON schedules(tube, next) WHERE paused = 0"},
    {"workers", "CREATE TABLE workers(id INTEGER PRIMARY KEY AUTOINCREMENT, pid INTEGER NOT NULL, "
                "started INTEGER NOT NULL, guard INTEGER NOT NULL, guard_started INTEGER NOT NULL, "
                "boot TEXT NOT NULL, space TEXT NOT NULL) STRICT"},
    {"jobs_ended", "CREATE INDEX jobs_ended ON jobs(tube, state, lease) WHERE state = 5"},
    {"jobs_removed",
     "CREATE INDEX jobs_removed ON jobs(tube, state, outcome) WHERE state = 5 AND outcome > 1"},
    {"jobs_stubs", "CREATE INDEX jobs_stubs ON jobs(tube, state, lease, outcome) WHERE state = 6"},
    {"jobs_group",
     "CREATE INDEX jobs_group ON jobs(tube, \"group\") WHERE state = 3 AND \"group\" IS NOT NULL"},
};

enum {
    OBJECT_COUNT = sizeof(objects) / sizeof(objects[0])
};

/* Offsets in a database's first 100 bytes (SQLite's file format, section 1.3). */
enum {
    HEADER_PAGE_SIZE = 16,
    HEADER_PAGE_COUNT = 28,
    HEADER_USER_VERSION = 60,
    HEADER_APPLICATION = 68
};

int weiri_schema_user_version(int stamp)
{
    return stamp << 8 | WEIRI_SCHEMA_VERSION;
}

int weiri_schema_stamp_of(int user_version)
{
    return user_version >> 8 & ((1 << WEIRI_STAMP_BITS) - 1);
}

int weiri_schema_new_user_version(void)
{
    return weiri_schema_user_version((int)(weiri_random_seed() & ((1 << WEIRI_STAMP_BITS) - 1)));
}

void weiri_schema_make_indexes(struct weiri_connection *connection)
{
    for (int i = 0; i < OBJECT_COUNT; i++) {
        if (strncmp(objects[i].sql, "CREATE TABLE", strlen("CREATE TABLE")) != 0) {
            weiri_sql_exec(connection, objects[i].sql);
        }
    }
}

void weiri_schema_make(struct weiri_connection *own, void *unused)
{
    char pragmas[256];
    (void)unused;
    weiri_sql_exec(own, "PRAGMA journal_mode = WAL; BEGIN");
    for (int i = 0; i < OBJECT_COUNT; i++) {
        weiri_sql_exec(own, objects[i].sql);
    }
    (void)snprintf(pragmas, sizeof(pragmas),
                   "INSERT INTO meta VALUES(1, '', random() & 0x7fffffffffffffff, "
                   "lower(hex(randomblob(8))), 0, 0, 0, 0, 0); "
                   "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
                   WEIRI_SCHEMA_APPLICATION, weiri_schema_new_user_version());
    weiri_sql_exec(own, pragmas);
}

static uint32_t big_endian(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

int weiri_schema_header_user_version(const unsigned char header[WEIRI_HEADER_SIZE])
{
    return (int)big_endian(header + HEADER_USER_VERSION);
}

/* Reads the header, or the part that exists, through SQLite: a descriptor of our own would take
 * SQLite's locks with it when closed. */
static enum weir_status read_header(sqlite3 *db, const char *path,
                                    unsigned char header[WEIRI_HEADER_SIZE],
                                    sqlite3_int64 *ret_size, struct weir_error *ret_error)
{
    int code = SQLITE_CANTOPEN;
    sqlite3_file *file = NULL;
    (void)sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    memset(header, 0, WEIRI_HEADER_SIZE);
    if (file != NULL && file->pMethods != NULL) {
        code = file->pMethods->xFileSize(file, ret_size);
    }
    if (code == SQLITE_OK && *ret_size > 0) {
        code = file->pMethods->xRead(file, header, WEIRI_HEADER_SIZE, 0);
    }
    return code == SQLITE_OK || code == SQLITE_IOERR_SHORT_READ
               ? WEIR_OK
               : weiri_sqlite_fail(ret_error, db, code, path);
}

/* Stores are not converted: the tables change freely until the first release. */
static enum weir_status check_version(const char *path, int user_version,
                                      struct weir_error *ret_error)
{
    int version = user_version & 0xff;
    return version == WEIRI_SCHEMA_VERSION
               ? WEIR_OK
               : weiri_fail(ret_error, WEIR_ESCHEMA,
                            "%s is a weir store of version %d: expected version %d; %s", path,
                            version, WEIRI_SCHEMA_VERSION,
                            version > WEIRI_SCHEMA_VERSION
                                ? "a newer weir made it"
                                : "an earlier build made it, and it is not converted");
}

enum weir_status weiri_schema_check_header(sqlite3 *db, const char *path, bool is_locked,
                                           int *ret_user_version, struct weir_error *ret_error)
{
    sqlite3_int64 size = 0;
    unsigned char header[WEIRI_HEADER_SIZE];
    enum weir_status status = read_header(db, path, header, &size, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    if (size == 0) {
        return weiri_fail(ret_error, WEIR_ESCHEMA,
                          "%s is empty: expected a weir store, or no file at all", path);
    }
    if (memcmp(header, "SQLite format 3", 16) != 0) {
        return weiri_fail(ret_error, WEIR_ESCHEMA,
                          "%s is not an SQLite file: expected a weir store", path);
    }
    if (size < 512) {
        return weiri_fail(ret_error, WEIR_ECORRUPT, "%s has %lld bytes: it was cut short", path,
                          (long long)size);
    }
    uint32_t application = big_endian(header + HEADER_APPLICATION);
    if (application != WEIRI_SCHEMA_APPLICATION) {
        return weiri_fail(ret_error, WEIR_ESCHEMA,
                          "%s is another program's SQLite file (application id 0x%08x): expected a "
                          "weir store (0x%08x)",
                          path, (unsigned)application, (unsigned)WEIRI_SCHEMA_APPLICATION);
    }
    sqlite3_int64 page = header[HEADER_PAGE_SIZE] << 8 | header[HEADER_PAGE_SIZE + 1];
    page = page == 1 ? 65536 : page;
    sqlite3_int64 expected = page * (sqlite3_int64)big_endian(header + HEADER_PAGE_COUNT);
    *ret_user_version = weiri_schema_header_user_version(header);
    status = check_version(path, *ret_user_version, ret_error);
    return status != WEIR_OK || !is_locked || size >= expected ||
                   weiri_place_size(path, "-wal") >= 0
               ? status
               : weiri_fail(ret_error, WEIR_ECORRUPT,
                            "%s has %lld bytes, its header says %lld: it is damaged", path,
                            (long long)size, (long long)expected);
}

enum weir_status weiri_schema_peek(const char *path, bool is_locked, int *ret_user_version,
                                   struct weir_error *ret_error)
{
    sqlite3 *db = NULL;
    int code = sqlite3_open_v2(
        path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW, NULL);
    enum weir_status status =
        code == SQLITE_OK
            ? weiri_schema_check_header(db, path, is_locked, ret_user_version, ret_error)
            : weiri_sqlite_fail(ret_error, db, code, path);
    if (status == WEIR_OK && !is_locked && sqlite3_db_readonly(db, "main") != 0) {
        status =
            weiri_fail(ret_error, WEIR_EACCESS, "%s is read-only: expected a writable store", path);
    }
    (void)sqlite3_close(db);
    return status;
}

/* The object with this name and text; OBJECT_COUNT: none. */
static int find_object(const char *name, const char *sql)
{
    int i = 0;
    while (i < OBJECT_COUNT &&
           (strcmp(objects[i].name, name) != 0 || strcmp(objects[i].sql, sql) != 0)) {
        i++;
    }
    return i;
}

static enum weir_status refuse(const char *path, const char *name, struct weir_error *ret_error)
{
    return weiri_fail(ret_error, WEIR_ESCHEMA,
                      "%s: \"%.60s\" is not as a weir store of version %d has it", path, name,
                      WEIRI_SCHEMA_VERSION);
}

/* Whether an object belongs to none of the store's tables. */
static bool is_foreign(const char *name, const char *table)
{
    for (int i = 0; i < OBJECT_COUNT; i++) {
        if (sqlite3_stricmp(objects[i].name, name) == 0 ||
            sqlite3_stricmp(objects[i].name, table) == 0) {
            return false;
        }
    }
    return true;
}

static enum weir_status check_objects(struct weiri_connection *connection, const char *path,
                                      uint32_t flags, struct weir_error *ret_error)
{
    sqlite3_stmt *statement;
    unsigned found = 0;
    enum weir_status status = WEIR_OK;
    bool is = weiri_sql_first(connection, WEIRI_SQL_OBJECTS, NULL, &statement);
    for (; is && status == WEIR_OK; is = weiri_sql_next(connection, statement)) {
        const char *name = (const char *)sqlite3_column_text(statement, 0);
        const char *sql = (const char *)sqlite3_column_text(statement, 1);
        const char *table = (const char *)sqlite3_column_text(statement, 2);
        if (name == NULL || sql == NULL || table == NULL) {
            weiri_sql_fail(connection, SQLITE_NOMEM);
        } else if ((flags & WEIR_BROKER_SHARED) == 0 || !is_foreign(name, table)) {
            int i = find_object(name, sql);
            status = i < OBJECT_COUNT ? WEIR_OK : refuse(path, name, ret_error);
            found |= i < OBJECT_COUNT ? 1u << i : 0;
        }
    }
    weiri_sql_leave(statement);
    if (status == WEIR_OK) {
        status = weiri_sql_end(connection, path, ret_error);
    }
    for (int i = 0; i < OBJECT_COUNT && status == WEIR_OK; i++) {
        if ((found & (1u << i)) == 0) {
            status = refuse(path, objects[i].name, ret_error);
        }
    }
    return status;
}

enum weir_status weiri_schema_check(struct weiri_connection *connection, const char *path,
                                    uint32_t flags, struct weir_error *ret_error)
{
    int64_t user_version; /* as of now, the log included: the header may have an older one */
    weiri_sql_find(connection, WEIRI_SQL_USER_VERSION, NULL, &user_version);
    enum weir_status status = weiri_sql_end(connection, path, ret_error);
    if (status == WEIR_OK) {
        status = check_version(path, (int)user_version, ret_error);
    }
    return status == WEIR_OK ? check_objects(connection, path, flags, ret_error) : status;
}

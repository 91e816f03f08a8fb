/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/connection.h"

#include <errno.h>
#include <stdio.h>

#include "base/errno.h"
#include "base/error.h"
#include "jobs/sqlite/file.h"
#include "jobs/sqlite/lock_file.h"
#include "jobs/sqlite/place.h"

/* The status of the system's error behind a code of SQLite; otherwise if there was none. */
static enum weir_status system_status(sqlite3 *db, enum weir_status otherwise)
{
    int error = db == NULL ? 0 : sqlite3_system_errno(db);
    return error == 0 ? otherwise : weiri_errno_status(error);
}

/* Whether a call failed on the log's index, the memory that the connections share. */
static bool is_about_index(int code)
{
    return code == SQLITE_IOERR_SHMOPEN || code == SQLITE_IOERR_SHMSIZE ||
           code == SQLITE_IOERR_SHMMAP;
}

static enum weir_status status_of(sqlite3 *db, int code)
{
    if (code == SQLITE_IOERR_NOMEM) {
        return WEIR_ENOMEM;
    }
    if (code == SQLITE_CONSTRAINT_FOREIGNKEY) {
        return WEIR_ESTATE; /* weir has none: it is the program's, deferred */
    }
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return WEIR_ETIMEDOUT;
    case SQLITE_NOMEM:
        return WEIR_ENOMEM;
    case SQLITE_FULL:
        return WEIR_ENOSPACE;
    case SQLITE_READONLY:
    case SQLITE_AUTH:
        return WEIR_EACCESS;
    case SQLITE_CANTOPEN:
        return system_status(db, WEIR_EACCESS);
    case SQLITE_IOERR:
        return is_about_index(code) ? system_status(db, WEIR_EIO) : WEIR_EIO;
    case SQLITE_CORRUPT:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
        return WEIR_ECORRUPT;
    case SQLITE_NOTADB:
    case SQLITE_SCHEMA:
    case SQLITE_ERROR:
        return WEIR_ESCHEMA;
    case SQLITE_TOOBIG:
        return WEIR_ETOOBIG;
    default:
        return WEIR_EIO;
    }
}

int weiri_sqlite_errno(sqlite3 *db, int which_file)
{
    sqlite3_file *file = NULL;
    int error = 0;
    if (sqlite3_file_control(db, "main", which_file, &file) == SQLITE_OK && file != NULL &&
        file->pMethods != NULL) {
        (void)file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &error);
    }
    return error;
}

static bool is_of_bad_sector(int error)
{
    return error == EIO || error == ENXIO || error == ERANGE;
}

/* SQLite reports a bad sector as a damaged file. SQLITE_IOERR_READ where a read failed. */
static int refine_damage(sqlite3 *db, int code)
{
    bool is_read_error = (code & 0xff) == SQLITE_CORRUPT && db != NULL &&
                         (is_of_bad_sector(weiri_sqlite_errno(db, SQLITE_FCNTL_FILE_POINTER)) ||
                          is_of_bad_sector(weiri_sqlite_errno(db, SQLITE_FCNTL_JOURNAL_POINTER)));
    return is_read_error ? SQLITE_IOERR_READ : code;
}

bool weiri_sqlite_is_lasting(int code)
{
    return (code & 0xff) == SQLITE_IOERR && code != SQLITE_IOERR_READ &&
           code != SQLITE_IOERR_SHORT_READ && code != SQLITE_IOERR_CORRUPTFS &&
           code != SQLITE_IOERR_NOMEM && !is_about_index(code);
}

int weiri_sqlite_refine(sqlite3 *db, int which_file, int code)
{
    bool is_full = code == SQLITE_IOERR_WRITE &&
                   weiri_errno_status(weiri_sqlite_errno(db, which_file)) == WEIR_ENOSPACE;
    return is_full ? SQLITE_FULL : code;
}

/* Who writes: SQLite's locks of a log are on its index. */
static void name_writer(const char *path, char *text, size_t size)
{
    char name[64];
    pid_t holder = weiri_lock_holder_find(weiri_place_beside(path, "-shm").path);
    if (holder > 0) {
        (void)snprintf(text, size, " by %s", weiri_lock_holder_name(holder, name));
    }
}

enum weir_status weiri_sqlite_fail(struct weir_error *ret_error, sqlite3 *db, int code,
                                   const char *path)
{
    code = refine_damage(db, code);
    enum weir_status status = status_of(db, code);
    /* The connection's text is of its last call, which did not fail if weir found the failure. */
    bool is_last = db != NULL && sqlite3_extended_errcode(db) == code;
    const char *text = is_last ? sqlite3_errmsg(db) : sqlite3_errstr(code);
    int error = db == NULL ? 0 : sqlite3_system_errno(db);
    bool has_cause =
        error != 0 && ((code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN);
    char buffer[128];
    char after[96] = "";
    if (status == WEIR_ECORRUPT) {
        (void)snprintf(after, sizeof(after),
                       "; weir-repair(1) says how to save jobs by sqlite3 FILE .dump");
    } else if ((code & 0xff) == SQLITE_BUSY) {
        name_writer(path, after, sizeof(after));
    }
    return weiri_fail(ret_error, status, "%s: %s: %s (SQLite %d)%s", path,
                      has_cause ? weiri_errno_text(error, buffer, sizeof(buffer))
                                : weir_status_text((int)status),
                      text, code, after);
}

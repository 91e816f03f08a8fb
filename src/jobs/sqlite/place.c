/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* realpath */

#include "jobs/sqlite/place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/errno.h"
#include "base/error.h"
#include "jobs/sqlite/file.h"

/* A database is made under another name, so that what is at its path is whole. */
static const char new_suffix[] = ".weir-new";

struct weiri_beside weiri_place_beside(const char *path, const char *ending)
{
    struct weiri_beside beside;
    (void)snprintf(beside.path, sizeof(beside.path), "%s%s", path, ending);
    return beside;
}

int64_t weiri_place_size(const char *path, const char *ending)
{
    return weiri_file_size(weiri_place_beside(path, ending).path);
}

enum weir_status weiri_place_resolve(const char *location, char *path, size_t size,
                                     struct weir_error *ret_error)
{
    const char *slash = strrchr(location, '/');
    const char *name = slash == NULL ? location : slash + 1;
    char folder[PATH_MAX];
    char real[PATH_MAX];
    struct stat facts;
    if (weiri_file_folder(location, folder) != 0 || strcmp(name, ".") == 0 ||
        strcmp(name, "..") == 0) {
        return weiri_fail(ret_error, WEIR_EINVAL, "%.200s is not the path of a file", location);
    }
    int error = realpath(folder, real) == NULL || stat(real, &facts) != 0 ? errno
                : S_ISDIR(facts.st_mode)                                  ? 0
                                                                          : ENOTDIR;
    if (error != 0) {
        char text[128];
        return weiri_fail(ret_error, weiri_errno_status(error),
                          "the folder %.200s of the store %.200s: %s: expected one that exists",
                          folder, name, weiri_errno_text(error, text, sizeof(text)));
    }
    bool is_root = strcmp(real, "/") == 0;
    int length = snprintf(path, size, "%s/%s", is_root ? "" : real, name);
    if (length < 0 || (size_t)length >= size) {
        return weiri_fail(ret_error, WEIR_EINVAL,
                          "the store's path %.200s... has %d bytes: at most %zu", real, length,
                          size - 1);
    }
    if (weiri_file_is_remote(real)) {
        return weiri_fail(ret_error, WEIR_ENOTSUP,
                          "%.200s is on a network file system: expected a local one", real);
    }
    return WEIR_OK;
}

enum weir_status weiri_place_inspect(const char *path, bool must_exist, bool *ret_exists,
                                     struct weir_error *ret_error)
{
    struct stat facts;
    *ret_exists = lstat(path, &facts) == 0;
    if (!*ret_exists && errno != ENOENT) {
        return weiri_file_fail(ret_error, errno, path, "");
    }
    if (!*ret_exists) {
        return must_exist ? weiri_fail(ret_error, WEIR_ENOTFOUND,
                                       "%s does not exist: expected a weir store", path)
                          : WEIR_OK;
    }
    bool is_plain = S_ISREG(facts.st_mode);
    if (is_plain && weiri_file_is_mounted(path)) {
        return weiri_fail(
            ret_error, WEIR_ENOTSUP,
            "%s is mounted by itself: mount its folder, since its log and its lock lie "
            "beside it and must be those of all its users",
            path);
    }
    const char *refusal = S_ISLNK(facts.st_mode)   ? "is a symbolic link"
                          : S_ISDIR(facts.st_mode) ? "is a folder"
                          : !is_plain              ? "is no regular file"
                          : facts.st_nlink > 1     ? "has more than one hard link, as after cp -l"
                                                   : NULL;
    bool is_link = is_plain || S_ISLNK(facts.st_mode);
    return refusal == NULL
               ? WEIR_OK
               : weiri_fail(ret_error, is_link ? WEIR_EACCESS : WEIR_ESCHEMA,
                            "%s %s: expected a regular file with one name", path, refusal);
}

/* A log without its store would be replayed into the new store and damage it. The log is not
 * removed: a worker may still have it open, and it may contain jobs. */
static enum weir_status check_alone(const char *path, struct weir_error *ret_error)
{
    static const char *const endings[] = {"-wal", "-journal"};
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        if (weiri_place_size(path, endings[i]) >= 0) {
            return weiri_fail(ret_error, WEIR_ECORRUPT,
                              "%s is missing, but its log %s%s is there: expected both or neither",
                              path, path, endings[i]);
        }
    }
    return WEIR_OK;
}

static enum weir_status refuse(const char *path, int error, struct weir_error *ret_error)
{
    return error == EEXIST
               ? weiri_fail(ret_error, WEIR_EBUSY, "%s exists: expected a new file", path)
               : weiri_file_fail(ret_error, error, path, " cannot be made");
}

/* Fills an empty file. Closing the only connection empties and removes its log. */
static enum weir_status fill_file(const char *draft, weiri_fill_fn *fill, void *arg,
                                  struct weir_error *ret_error)
{
    struct weiri_connection own = {.code = SQLITE_OK};
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW;
    weiri_sql_fail(&own, sqlite3_open_v2(draft, &own.db, flags, NULL));
    if (own.code == SQLITE_OK) {
        (void)sqlite3_extended_result_codes(own.db, 1);   /* tell a full disk from a broken one */
        weiri_sql_exec(&own, "PRAGMA synchronous = OFF"); /* the file is flushed as a whole */
        fill(&own, arg);
    }
    if (own.code == SQLITE_OK) {
        int mode = SQLITE_CHECKPOINT_TRUNCATE;
        weiri_sql_fail(&own, sqlite3_wal_checkpoint_v2(own.db, NULL, mode, NULL, NULL));
    }
    /* What has no space may be its log, or itself. */
    int code = weiri_sqlite_refine(own.db, SQLITE_FCNTL_JOURNAL_POINTER, own.code);
    code = weiri_sqlite_refine(own.db, SQLITE_FCNTL_FILE_POINTER, code);
    enum weir_status status =
        code == SQLITE_OK ? WEIR_OK : weiri_sqlite_fail(ret_error, own.db, code, draft);
    (void)sqlite3_close(own.db);
    return status;
}

enum weir_status weiri_place_make(const char *path, weiri_fill_fn *fill, void *arg,
                                  struct weir_error *ret_error)
{
    const struct weiri_beside beside = weiri_place_beside(path, new_suffix);
    const char *draft = beside.path;
    int fd = -1;
    enum weir_status status = check_alone(path, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    weiri_place_remove(draft);
    int error = weiri_file_make_private(draft, &fd);
    if (error != 0) {
        return refuse(path, error, ret_error);
    }
    /* Closed at the end: closing any descriptor of a file takes SQLite's locks of it. */
    status = fill_file(draft, fill, arg, ret_error);
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

/* The log first: if the process is killed in between, a store without jobs is left, and no log
 * without its store. */
void weiri_place_remove(const char *path)
{
    static const char *const endings[] = {"-wal", "-shm", "-journal", ""};
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        (void)unlink(weiri_place_beside(path, endings[i]).path);
    }
}

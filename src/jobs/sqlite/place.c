/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/place.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/errno.h"
#include "base/error.h"
#include "jobs/sqlite/file.h"
#include "jobs/sqlite/schema.h"

static const char new_suffix[] = ".weir-new";

enum weir_status weiri_place_resolve(const char *location, char *path, size_t size,
                                     struct weir_error *ret_error)
{
    const char *slash = strrchr(location, '/');
    const char *name = slash == NULL ? location : slash + 1;
    char folder[PATH_MAX];
    char real[PATH_MAX];
    int length = slash == NULL ? snprintf(folder, sizeof(folder), ".")
                 : slash == location
                     ? snprintf(folder, sizeof(folder), "/")
                     : snprintf(folder, sizeof(folder), "%.*s", (int)(slash - location), location);
    if (length < 0 || (size_t)length >= sizeof(folder) || strcmp(name, ".") == 0 ||
        strcmp(name, "..") == 0) {
        return weiri_fail(ret_error, WEIR_EINVAL, "%.200s is not the path of a file", location);
    }
    int error = weiri_file_resolve_folder(folder, real, sizeof(real));
    if (error != 0) {
        char text[128];
        return weiri_fail(ret_error, weiri_errno_status(error),
                          "the folder %.200s of the store %.200s: %s: expected one that exists",
                          folder, name, weiri_errno_text(error, text, sizeof(text)));
    }
    bool is_root = strcmp(real, "/") == 0;
    length = snprintf(path, size, "%s/%s", is_root ? "" : real, name);
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
    enum weiri_file_kind kind;
    int error = weiri_file_inspect(path, &kind);
    if (error != 0) {
        return weiri_file_fail(ret_error, error, path, "");
    }
    static const char *const refusals[] = {
        [WEIRI_FILE_LINKED] = "has more than one hard link, as after cp -l",
        [WEIRI_FILE_SYMLINK] = "is a symbolic link",
        [WEIRI_FILE_FOLDER] = "is a folder",
        [WEIRI_FILE_OTHER] = "is no regular file",
    };
    switch (kind) {
    case WEIRI_FILE_MOUNTED:
        return weiri_fail(
            ret_error, WEIR_ENOTSUP,
            "%s is mounted by itself: mount its folder, since its log and its lock lie "
            "beside it and must be those of all its users",
            path);
    case WEIRI_FILE_REGULAR:
        *ret_exists = true;
        return WEIR_OK;
    case WEIRI_FILE_ABSENT:
        *ret_exists = false;
        return must_exist ? weiri_fail(ret_error, WEIR_ENOTFOUND,
                                       "%s does not exist: expected a weir store", path)
                          : WEIR_OK;
    default:
        return weiri_fail(ret_error,
                          kind == WEIRI_FILE_SYMLINK || kind == WEIRI_FILE_LINKED ? WEIR_EACCESS
                                                                                  : WEIR_ESCHEMA,
                          "%s %s: expected a regular file with one name", path, refusals[kind]);
    }
}

enum weir_status weiri_place_make_file(const char *path, struct weir_error *ret_error)
{
    char temporary[WEIRI_PLACE_SIZE + sizeof(new_suffix)];
    (void)snprintf(temporary, sizeof(temporary), "%s%s", path, new_suffix);
    unsigned char *image;
    size_t size;
    enum weir_status status = weiri_place_check_alone(path, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    status = weiri_schema_image(&image, &size);
    if (status != WEIR_OK) {
        return weiri_fail(ret_error, status, "%s: %s", path, weir_status_text((int)status));
    }
    int error = weiri_file_publish(path, temporary, image, size);
    sqlite3_free(image);
    return error == 0 ? WEIR_OK : weiri_file_fail(ret_error, error, path, " cannot be made");
}

/* A log without its store would be replayed into the new store and damage it. The log is not
 * removed: a worker may still have it open, and it may contain jobs. */
enum weir_status weiri_place_check_alone(const char *path, struct weir_error *ret_error)
{
    static const char *const endings[] = {"-wal", "-journal"};
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        char beside[WEIRI_PLACE_SIZE + sizeof("-journal")];
        struct stat facts;
        (void)snprintf(beside, sizeof(beside), "%s%s", path, endings[i]);
        if (lstat(beside, &facts) == 0) {
            return weiri_fail(ret_error, WEIR_ECORRUPT,
                              "%s is missing, but its log %s is there: expected both or neither",
                              path, beside);
        }
    }
    return WEIR_OK;
}

/* The log first: if the process is killed in between, a store without jobs is left, and no log
 * without its store. */
void weiri_place_remove(const char *path)
{
    static const char *const endings[] = {"-wal", "-shm", ""};
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        char name[WEIRI_PLACE_SIZE + sizeof("-wal")];
        (void)snprintf(name, sizeof(name), "%s%s", path, endings[i]);
        (void)unlink(name);
    }
}

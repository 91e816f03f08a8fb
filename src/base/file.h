/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_FILE_H
#define WEIRI_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include <weir/status.h>

/* Files that only their owner may read or write, made and opened without being led astray by links.
 *
 * Functions that return int return 0 or a number of errno.h, for the text; weiri_errno_status() is
 * its status. */

enum weiri_file_kind {
    WEIRI_FILE_ABSENT,
    WEIRI_FILE_REGULAR,
    WEIRI_FILE_LINKED, /* a regular file that has more than one name */
    WEIRI_FILE_SYMLINK,
    WEIRI_FILE_FOLDER,
    WEIRI_FILE_OTHER /* a device, pipe or socket */
};

/* What is at the path; does not follow a symbolic link at its end. Does not open it. */
int weiri_file_inspect(const char *path, enum weiri_file_kind *ret_kind);

/* Opens a regular file that has one name for reading and writing, or makes it, empty, with mode
 * 0600 whatever the umask. The descriptor is closed by exec. Errors: ELOOP (a symbolic link),
 * EMLINK (more than one name), ENOTSUP (no regular file), those of open(2). */
int weiri_file_open_private(const char *path, int *ret_fd, bool *ret_is_new);

/* Makes a file of these bytes with mode 0600 that is either not there or whole and on stable
 * storage. The temporary name must be in the same folder; what is there is removed first. EEXIST
 * where the path exists. */
int weiri_file_publish(const char *path, const char *temporary, const void *bytes, size_t size);

/* The absolute path of a folder without symbolic links; ENOTDIR where it is none. size is at least
 * PATH_MAX. */
int weiri_file_resolve_folder(const char *folder, char *buffer, size_t size);

/* Is the open file the one that the path names now? */
bool weiri_file_is_at(int fd, const char *path);

/* Does a folder lie on a network file system, where locks and shared memory of several hosts do not
 * meet? */
bool weiri_file_is_remote(const char *folder);

enum weir_status weiri_errno_status(int error);
/* strerror(), into the caller's buffer. */
const char *weiri_errno_text(int error, char *buffer, size_t size);

#endif

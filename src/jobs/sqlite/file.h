/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_FILE_H
#define WEIRI_SQLITE_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <weir/status.h>

/* Files that only their owner may read or write. Links cannot redirect their making or opening.
 * None has the number of a standard stream.
 *
 * Functions that return int return 0 or a number of errno.h; base/errno.h has the status of it. */

/* The size of a file; -1: there is none; INT64_MAX: that cannot be found out. Neither follows a
 * symbolic link at the end, nor opens anything. */
int64_t weiri_file_size(const char *path);
/* Whether a file is mounted by itself, as far as the kernel tells. */
bool weiri_file_is_mounted(const char *path);

/* Opens a regular file that has one name for reading and writing, or makes it, empty, with mode
 * 0600 whatever the umask. The descriptor is closed by exec. Errors: ELOOP (a symbolic link),
 * EMLINK (more than one name), ENOTSUP (no regular file), those of open(2). */
int weiri_file_open_private(const char *path, int *ret_fd, bool *ret_is_new);

/* Makes a file that is not there, with mode 0600 whatever the umask. EEXIST if it is. */
int weiri_file_make_private(const char *path, int *ret_fd);

/* Flushes an open file and gives it a name in the same folder that no file has, on stable storage.
 * EEXIST if one has it. */
int weiri_file_put_in_place(int fd, const char *temporary, const char *path);

/* The folder of a path; ENAMETOOLONG. */
int weiri_file_folder(const char *path, char folder[PATH_MAX]);

/* A number of the file's device and inode, to tell it from one that took its place; 0: none. */
uint64_t weiri_file_identify(const char *path);

/* Whether the path names the open file, whose facts are returned. */
bool weiri_file_is_at(int fd, const char *path, struct stat *ret_facts);

/* Whether a folder lies on a network file system, where hosts do not share locks and memory. */
bool weiri_file_is_remote(const char *folder);

/* strerror(), into the caller's buffer. */
const char *weiri_errno_text(int error, char *buffer, size_t size);
/* The error of a system call on a file. what: of it, such as " cannot be made"; "": nothing. */
enum weir_status weiri_file_fail(struct weir_error *ret_error, int error, const char *path,
                                 const char *what);

#endif

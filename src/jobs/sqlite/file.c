/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* renameat2, statx */

#include "jobs/sqlite/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/errno.h"
#include "base/error.h"

#define OPEN_FLAGS (O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
#define PRIVATE_MODE 0600

/* Asks for no times: Linux from 6.13 on takes those of the next write anew where somebody has read
 * them, so that each flush of a log that was looked at writes its inode, too. */
static bool look(const char *path, unsigned what, struct statx *ret_facts)
{
    return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, what, ret_facts) == 0;
}

bool weiri_file_is_mounted(const char *path)
{
    struct statx facts;
    return look(path, 0, &facts) && (facts.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

int64_t weiri_file_size(const char *path)
{
    struct statx facts;
    bool is_there = look(path, STATX_SIZE, &facts);
    return is_there ? (int64_t)facts.stx_size : errno == ENOENT ? -1 : INT64_MAX;
}

/* A program may have closed its standard streams: what it prints would go into the file. */
static int open_above_streams(const char *path, int flags)
{
    int fd = open(path, flags, PRIVATE_MODE);
    if (fd >= 0 && fd <= STDERR_FILENO) {
        int low = fd;
        fd = fcntl(low, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        (void)close(low);
    }
    return fd;
}

/* The umask can only take from the mode that open() is given, so the mode is set once more. */
int weiri_file_make_private(const char *path, int *ret_fd)
{
    int fd = open_above_streams(path, OPEN_FLAGS | O_CREAT | O_EXCL);
    if (fd < 0) {
        return errno;
    }
    if (fchmod(fd, PRIVATE_MODE) != 0) {
        int error = errno;
        (void)close(fd);
        (void)unlink(path);
        return error;
    }
    *ret_fd = fd;
    return 0;
}

static int check_is_plain(int fd)
{
    struct stat facts;
    if (fstat(fd, &facts) != 0) {
        return errno;
    }
    if (!S_ISREG(facts.st_mode)) {
        return ENOTSUP;
    }
    return facts.st_nlink > 1 ? EMLINK : 0;
}

int weiri_file_open_private(const char *path, int *ret_fd, bool *ret_is_new)
{
    /* Another process may make or remove the file between the two tries, so they are repeated, at
     * most 100 times. */
    int error = ENOENT;
    for (int i = 0; i < 100 && (error == ENOENT || error == EEXIST); i++) {
        int fd = open_above_streams(path, OPEN_FLAGS);
        if (fd >= 0) {
            error = check_is_plain(fd);
            if (error != 0) {
                (void)close(fd);
                return error;
            }
            *ret_fd = fd;
            *ret_is_new = false;
            return 0;
        }
        error = errno;
        if (error == ENOENT) {
            error = weiri_file_make_private(path, ret_fd);
            if (error == 0) {
                *ret_is_new = true;
                return 0;
            }
            if (error == ENOENT) {
                return error; /* the folder does not exist */
            }
        }
    }
    return error == EISDIR || error == ENXIO ? ENOTSUP : error;
}

/* Renames unless the new name exists. On file systems without that, it checks first and then
 * renames: the caller holds a lock against other processes of weir. */
static int rename_new(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) {
        return 0;
    }
    if (errno != EINVAL && errno != ENOSYS) {
        return errno;
    }
    struct stat facts;
    if (lstat(to, &facts) == 0) {
        return EEXIST;
    }
    return rename(from, to) == 0 ? 0 : errno;
}

int weiri_file_folder(const char *path, char folder[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    size_t size = slash == NULL || slash == path ? 1 : (size_t)(slash - path);
    if (size >= PATH_MAX) {
        return ENAMETOOLONG;
    }
    memcpy(folder, slash == NULL ? "." : path, size);
    folder[size] = '\0';
    return 0;
}

/* Makes the names in the folder of a file durable. */
static int sync_folder(const char *path)
{
    char folder[PATH_MAX];
    int error = weiri_file_folder(path, folder);
    int fd = error == 0 ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd < 0) {
        return error == 0 ? errno : error;
    }
    error = fsync(fd) == 0 ? 0 : errno;
    (void)close(fd);
    return error;
}

int weiri_file_put_in_place(int fd, const char *temporary, const char *path)
{
    int error = fsync(fd) == 0 ? rename_new(temporary, path) : errno;
    if (error == 0) {
        error = sync_folder(path);
        if (error != 0) {
            (void)unlink(path);
        }
    }
    return error;
}

uint64_t weiri_file_identify(const char *path)
{
    struct statx facts = {.stx_ino = 0};
    bool is_there = look(path, STATX_INO, &facts);
    uint64_t device = (uint64_t)facts.stx_dev_major << 20 | facts.stx_dev_minor;
    return is_there ? facts.stx_ino ^ device << 32 : 0;
}

bool weiri_file_is_at(int fd, const char *path, struct stat *ret_facts)
{
    struct stat named_file;
    return fstat(fd, ret_facts) == 0 && lstat(path, &named_file) == 0 &&
           ret_facts->st_dev == named_file.st_dev && ret_facts->st_ino == named_file.st_ino;
}

bool weiri_file_is_remote(const char *folder)
{
    struct statfs facts;
    if (statfs(folder, &facts) != 0) {
        return false;
    }
    switch ((unsigned long)facts.f_type & 0xffffffffUL) {
    case 0x6969UL:     /* NFS */
    case 0x517bUL:     /* SMB */
    case 0xff534d42UL: /* CIFS */
    case 0xfe534d42UL: /* SMB2 */
    case 0x5346414fUL: /* AFS */
    case 0x00c36400UL: /* Ceph */
        return true;
    default:
        return false;
    }
}

const char *weiri_errno_text(int error, char *buffer, size_t size)
{
    /* With _GNU_SOURCE this is GNU's strerror_r(): it returns the text, in the buffer or not. */
    return strerror_r(error, buffer, size);
}

enum weir_status weiri_file_fail(struct weir_error *ret_error, int error, const char *path,
                                 const char *what)
{
    char text[128];
    return weiri_fail(ret_error, weiri_errno_status(error), "%s%s: %s", path, what,
                      weiri_errno_text(error, text, sizeof(text)));
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/errno.h"
#include "cron/zone.h"

/* The largest files of the tz database have 4 KiB. */
#define FILE_SIZE_MAX (INT64_C(256) * 1024)
#define NAME_SIZE_MAX 128

/* A name is a path inside the folder. A part that is empty or begins with a dot is refused, so the
 * path cannot lead out of it. Only the characters of zone names are passed to the system. */
static bool is_name(const char *name)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-.";
    size_t length = strlen(name);
    if (length == 0 || length > NAME_SIZE_MAX) {
        return false;
    }
    for (const char *part = name; part != NULL;) {
        size_t size = strcspn(part, "/");
        if (size == 0 || part[0] == '.' || part[0] == '-' || strspn(part, allowed) < size) {
            return false;
        }
        part = part[size] == '/' ? part + size + 1 : NULL;
    }
    return true;
}

/* Reads to the end of the file, but at most capacity bytes. -1: errno is set. */
static ssize_t read_all(int fd, unsigned char *bytes, size_t capacity)
{
    size_t size = 0;
    ssize_t got;
    while ((got = read(fd, bytes + size, capacity - size)) != 0) {
        if (got < 0 && errno != EINTR) {
            return -1;
        }
        size += got > 0 ? (size_t)got : 0;
    }
    return (ssize_t)size;
}

static enum weir_status load_open(const struct weir_allocator *allocator, int fd,
                                  struct weiri_zone **ret_zone)
{
    struct stat about;
    if (fstat(fd, &about) != 0) {
        return weiri_errno_status(errno);
    }
    if (!S_ISREG(about.st_mode) || about.st_size < 0 || about.st_size > FILE_SIZE_MAX) {
        return WEIR_ECORRUPT;
    }
    /* One byte more than the file has, so that a file that grows meanwhile is noticed. */
    size_t capacity = (size_t)about.st_size + 1;
    unsigned char *bytes = weiri_alloc(allocator, capacity);
    if (bytes == NULL) {
        return WEIR_ENOMEM;
    }
    ssize_t size = read_all(fd, bytes, capacity);
    enum weir_status status = WEIR_ECORRUPT;
    if (size < 0) {
        status = weiri_errno_status(errno);
    } else if ((size_t)size < capacity) {
        status = weiri_zone_decode(allocator, bytes, (size_t)size, ret_zone);
    }
    weiri_release(allocator, bytes, capacity);
    return status;
}

/* O_NONBLOCK: a pipe is not waited for. O_NOCTTY: a terminal does not become the process's. */
static enum weir_status load_at(const struct weir_allocator *allocator, int folder_fd,
                                const char *path, struct weiri_zone **ret_zone)
{
    int fd = openat(folder_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return weiri_errno_status(errno);
    }
    enum weir_status status = load_open(allocator, fd, ret_zone);
    (void)close(fd);
    return status;
}

enum weir_status weiri_zone_load(const struct weir_allocator *allocator, const char *folder,
                                 const char *name, struct weiri_zone **ret_zone)
{
    if (!is_name(name)) {
        return WEIR_EINVAL;
    }
    if (strcmp(name, "UTC") == 0) {
        return weiri_zone_new(allocator, 1, ret_zone);
    }
    int fd = open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
    if (fd < 0) {
        return weiri_errno_status(errno);
    }
    enum weir_status status = load_at(allocator, fd, name, ret_zone);
    (void)close(fd);
    return status;
}

enum weir_status weiri_zone_load_local(const struct weir_allocator *allocator, const char *path,
                                       struct weiri_zone **ret_zone)
{
    enum weir_status status = load_at(allocator, AT_FDCWD, path, ret_zone);
    return status == WEIR_ENOTFOUND ? weiri_zone_new(allocator, 1, ret_zone) : status;
}

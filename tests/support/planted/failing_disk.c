/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* A library to preload: writes to files, or flushes, fail while the file that WEIR_TEST_FAULT names
 * says so: `w` (EIO), `f` (no space), `s` (fsync: EIO). Sockets and pipes are left alone. */

/* The error of an operation ('w': a write, 's': a flush) on a descriptor; 0: none. */
static int fault_of(int fd, char operation)
{
    struct stat about;
    char fault = '\0';
    const char *path = getenv("WEIR_TEST_FAULT");
    int file = path == NULL ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return 0;
    }
    (void)syscall(SYS_read, file, &fault, 1);
    (void)syscall(SYS_close, file);
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) {
        return 0;
    }
    return operation == 'w' && fault == 'f' ? ENOSPC : operation == fault ? EIO : 0;
}

__attribute__((visibility("default"))) ssize_t write(int fd, const void *bytes, size_t size)
{
    int error = fault_of(fd, 'w');
    if (error != 0) {
        errno = error;
        return -1;
    }
    return syscall(SYS_write, fd, bytes, size);
}

__attribute__((visibility("default"))) ssize_t writev(int fd, const struct iovec *parts, int count)
{
    int error = fault_of(fd, 'w');
    if (error != 0) {
        errno = error;
        return -1;
    }
    return syscall(SYS_writev, fd, parts, count);
}

__attribute__((visibility("default"))) int fsync(int fd)
{
    int error = fault_of(fd, 's');
    if (error != 0) {
        errno = error;
        return -1;
    }
    return (int)syscall(SYS_fsync, fd);
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* major, minor, F_OFD_SETLK */

#include "jobs/sqlite/lock_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "jobs/sqlite/file.h"
#include "jobs/sqlite/worker.h"

/* The kernel gives its list of locks in pieces, and goes on by number: where a lock before the next
 * piece was given back meanwhile, another is passed over. The holder is looked for again then. */
enum {
    READINGS_MAX = 16
};

/* start 0: the byte that users share. Else all bytes from there. */
static int control(int fd, int command, short type, off_t start, struct flock *lock)
{
    *lock = (struct flock){
        .l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = start == 0 ? 1 : 0};
    return fcntl(fd, command, lock) == 0 ? 0 : errno;
}

int weiri_lock_share(int fd)
{
    struct flock lock;
    return control(fd, F_OFD_SETLK, F_RDLCK, 0, &lock);
}

void weiri_lock_unshare(int fd)
{
    struct flock lock;
    (void)control(fd, F_OFD_SETLK, F_UNLCK, 0, &lock);
}

bool weiri_lock_is_shared(int fd)
{
    struct flock lock;
    return control(fd, F_OFD_GETLK, F_WRLCK, 0, &lock) != 0 || lock.l_type != F_UNLCK;
}

/* The process of a line "1: FLOCK ADVISORY WRITE pid major:minor:inode ..." that is about a file;
 * 0: the line is about another, or of a process that waits for the lock ("1: -> FLOCK ..."). The
 * lock of moves names no process (-1). */
static pid_t read_holder(const char *line, const struct stat *facts)
{
    const char *write = strstr(line, " WRITE ");
    if (write == NULL || strstr(line, " -> ") != NULL) {
        return 0;
    }
    char *at = NULL;
    long pid = strtol(write + strlen(" WRITE "), &at, 10);
    unsigned long device[2];
    for (int i = 0; i < 2; i++) {
        device[i] = strtoul(at, &at, 16);
        if (*at++ != ':') {
            return 0;
        }
    }
    bool is_same = device[0] == major(facts->st_dev) && device[1] == minor(facts->st_dev) &&
                   strtoul(at, NULL, 10) == facts->st_ino;
    return is_same && pid > 0 ? (pid_t)pid : 0;
}

static pid_t find_holder(const struct stat *facts)
{
    pid_t holder = 0;
    char line[256];
    FILE *file = fopen("/proc/locks", "re");
    while (file != NULL && holder == 0 && fgets(line, sizeof(line), file) != NULL) {
        holder = read_holder(line, facts);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return holder;
}

pid_t weiri_lock_holder_find(const char *path)
{
    pid_t holder = 0;
    struct stat facts;
    bool is_there = lstat(path, &facts) == 0;
    for (int i = 0; i < READINGS_MAX && is_there && holder == 0; i++) {
        holder = find_holder(&facts);
    }
    return holder;
}

const char *weiri_lock_holder_name(pid_t holder, char text[64])
{
    struct weiri_process process;
    bool is_stopped = weiri_process_read(holder, &process) &&
                      (process.state == 'T' || process.state == 't'); /* 't': by a debugger */
    (void)snprintf(text, 64, "process %ld%s", (long)holder,
                   is_stopped ? ", which is stopped," : "");
    return holder > 0 ? text : "other processes";
}

int weiri_lock_move_begin(const char *path, bool is_source, int *ret_fd, pid_t *ret_holder)
{
    struct flock lock;
    int fd;
    bool ignored;
    int error = weiri_file_open_private(path, &fd, &ignored);
    if (error != 0) {
        return error;
    }
    short type = is_source ? F_WRLCK : F_RDLCK;
    error = control(fd, F_OFD_SETLK, type, getpid(), &lock);
    if (error == 0) {
        *ret_fd = fd;
        return 0;
    }
    bool is_held = control(fd, F_OFD_GETLK, type, 1, &lock) == 0 && lock.l_type != F_UNLCK;
    *ret_holder = is_held ? (pid_t)lock.l_start : 0;
    (void)close(fd);
    return error;
}

void weiri_lock_move_end(int fd)
{
    struct flock lock;
    (void)control(fd, F_OFD_SETLK, F_UNLCK, 1, &lock); /* a child that was forked has fd, too */
    (void)close(fd);
}

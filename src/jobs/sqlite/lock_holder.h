/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_LOCK_HOLDER_H
#define WEIRI_SQLITE_LOCK_HOLDER_H

#include <stdbool.h>
#include <sys/types.h>

/* Each open of a lock file shares a second lock of it with all others, until it is closed. It is a
 * lock of the open file description (fcntl(2)), beside flock(2): the kernel releases it when its
 * process dies, and no close of another descriptor releases it, as that of the store's file does
 * with the locks of SQLite. So it tells who is the last user of a store. */

/* Returns 0 or a number of errno.h. */
int weiri_lock_share(int fd);
void weiri_lock_unshare(int fd);
/* Whether another open shares it, of this process or of another. An open that comes later has no
 * connection to the store yet while the caller has the flock. */
bool weiri_lock_is_shared(int fd);

/* The process that has flock(2) on a file, as /proc tells. */
struct weiri_lock_holder {
    pid_t pid;       /* 0: not known */
    bool is_stopped; /* by a signal or a debugger */
};

struct weiri_lock_holder weiri_lock_holder_find(const char *path);

#endif

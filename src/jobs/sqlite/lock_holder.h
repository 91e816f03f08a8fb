/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_LOCK_HOLDER_H
#define WEIRI_SQLITE_LOCK_HOLDER_H

#include <stdbool.h>
#include <sys/types.h>

/* Each open of a lock file shares a second lock of it with all others, from its first flock(2)
 * until it is closed. It is a lock of the open file description (fcntl(2)): the kernel releases it
 * when its process dies, with the children that it forked and that have not called exec, and no
 * close of another descriptor releases it, as that of the store's file does with the locks of
 * SQLite. It is taken under the flock only, so who has that knows whether he is the first user of a
 * store, or the last. */

/* Returns 0 or a number of errno.h. */
int weiri_lock_share(int fd);
void weiri_lock_unshare(int fd);
/* Whether another open shares it, of this process or of another. */
bool weiri_lock_is_shared(int fd);

/* A process that has a lock on a file. */
struct weiri_lock_holder {
    pid_t pid;       /* 0: not known */
    bool is_stopped; /* by a signal or a debugger */
};

/* Who has flock(2) of a file, or a lock of SQLite's on it, as /proc tells. */
struct weiri_lock_holder weiri_lock_holder_find(const char *path);
/* Names it, so that it can be continued or ended; in text, or a constant. */
const char *weiri_lock_holder_name(struct weiri_lock_holder holder, char text[64]);

/* Takes the lock of moves of a store: one out of it, or any into it, have it, also of the opens of
 * a process. It goes from the byte with the number of its process to the end of all bytes, and so
 * tells who has it. Returns 0; EAGAIN: *ret_holder has it; or another number of errno.h. */
int weiri_lock_move_begin(const char *path, bool is_source, int *ret_fd,
                          struct weiri_lock_holder *ret_holder);
void weiri_lock_move_end(int fd);

#endif

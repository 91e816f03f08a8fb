/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_LOCK_FILE_H
#define WEIRI_SQLITE_LOCK_FILE_H

#include <limits.h> /* INT_MAX, for all waiters */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <weir/status.h>

#include "jobs/core/backend.h"

/* A small file that several processes share: a lock, flock(2), and channels to notify each other,
 * counters that processes sleep on with futex(2). Whatever these say costs time only;
 * docs/internals/sqlite.md ("The lock file") says how. Two processes can hold a lock together only
 * if the file is removed between a lock and its unlock. */

struct weiri_lock_page;

struct weiri_lock_file {
    int fd;
    struct weiri_lock_page *page; /* accessed by the kernel only */
    const char *path;             /* borrowed */
    bool is_made;                 /* this open or a later lock made the file at the path */
    bool is_shared;               /* by this open: weiri_lock_share() */
    bool has_reserve;             /* when the lock was taken, or since */
    uint32_t noted;               /* the number that was noted when the lock was taken */
};

#define WEIRI_CHANNELS 4080

/* Opens or makes the file (weiri_file_open_private(); where it is PATH.lock and PATH is there, with
 * the mode of that, and its owner if root makes it). The path is borrowed until it is closed.
 * Returns 0 or a number of errno.h: those of open(2); EBADMSG: another program's file. */
int weiri_lock_file_open(struct weiri_lock_file *file, const char *path);
void weiri_lock_file_close(struct weiri_lock_file *file);

/* Takes the lock. Excludes other processes and other opens of this one; of the threads that share
 * file, one at a time may call. The first time makes the open one of the file's users
 * (weiri_lock_share()), until it is closed. limit_ns is a reading of weiri_monotonic_now(). Returns
 * 0, ETIMEDOUT, or what weiri_lock_file_open() may return. */
WEIR_NODISCARD int weiri_lock_file_lock(struct weiri_lock_file *file, int64_t limit_ns);
void weiri_lock_file_unlock(struct weiri_lock_file *file);

/* A number that outlives the process, but no power cut (stamp.h). */
void weiri_lock_file_note(struct weiri_lock_file *file, uint32_t number);
/* The number noted last in the open file fd; 0: none. */
uint32_t weiri_lock_file_noted(int fd);

/* Blocks beyond the file's end keep space on the disk in reserve: WEIRI_RESERVE_SIZE bytes. Returns
 * 0 if they are allocated, else a number of errno.h. */
#define WEIRI_RESERVE_SIZE (1 << 20)
WEIR_NODISCARD int weiri_lock_file_reserve(struct weiri_lock_file *file);
/* Gives these blocks back to the file system. */
void weiri_lock_file_release_reserve(struct weiri_lock_file *file);

/* Takes the lock if it is free, without changing the file: for processes that may not write.
 * close() of ret_fd releases the lock, and notifies no channel. Returns 0 or a number of errno.h:
 * ENOENT: there is no such file; EWOULDBLOCK: another has it. */
int weiri_lock_file_try(const char *path, int *ret_fd);

/* The number of notifications so far. Read it before the check of the predicate to wait for. */
uint32_t weiri_channel_mark(struct weiri_lock_file *file, unsigned channel);
/* Wakes so many waiters of a channel, first who has slept longest. The kernel counts no stopped
 * process among them. */
void weiri_channel_notify(struct weiri_lock_file *file, unsigned channel, int count);
extern _Atomic bool weiri_channel_is_old_kernel; /* found at the first such sleep; tests set it */

/* Sleeps until one of the channels is notified after its mark, or until the limit. False: the limit
 * has passed. May return true for no reason. Kernels before Linux 5.16 cannot sleep for several
 * channels; there all but the first are looked at each 50 ms. */
bool weiri_channel_wait(struct weiri_lock_file *file, const struct weiri_mark *marks, size_t count,
                        int64_t limit_ns);

/* --- who has it (lock_holder.c) --- */

/* Each open of a lock file shares a second lock of it with all others, from its first flock(2)
 * until it is closed, or its process and the children of that have died. No close of another
 * descriptor releases it, as that of the store's file does with SQLite's. Under the flock alone, so
 * who has that knows whether it is the first user of a store, or the last. Returns 0 or a number of
 * errno.h. */
int weiri_lock_share(int fd);
void weiri_lock_unshare(int fd);
/* Whether another open shares it, of this process or of another. */
bool weiri_lock_is_shared(int fd);

/* Who has flock(2) of a file, or a lock of SQLite's on it, as /proc tells; 0: not known. */
pid_t weiri_lock_holder_find(const char *path);
/* Names it, so that it can be continued or ended; in text, or a constant. */
const char *weiri_lock_holder_name(pid_t holder, char text[64]);

/* Takes the lock of moves of a store: one out of it, or any into it, have it, also of the opens of
 * a process. It goes from the byte with the number of its process to the end of all bytes, and so
 * tells who has it. Returns 0; EAGAIN: *ret_holder has it; or another number of errno.h. */
int weiri_lock_move_begin(const char *path, bool is_source, int *ret_fd, pid_t *ret_holder);
void weiri_lock_move_end(int fd);

#endif

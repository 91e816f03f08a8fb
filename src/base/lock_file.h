/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_LOCK_FILE_H
#define WEIRI_LOCK_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/status.h>

/* One small file that several processes share: a lock, and bells to wake each other by.
 *
 * The lock is flock(2) on the file: the kernel gives it back when its holder dies, whatever the
 * holder was doing. The file also holds counters that processes sleep on with futex(2). Those are
 * hints only: one that is wrong (its process was killed in between, or the file was scribbled on)
 * costs a look too many or a sleep until its limit, never a lock held twice.
 *
 * Whoever removes the file while it is in use takes the lock away from those who have it open: each
 * compares it with its path at every lock, and goes on with the one that is there, or makes it.
 * Only the two who meet in that very moment can be inside together.
 *
 * The file is mapped, because futex(2) wants addresses, but the processor never touches the
 * mapping: where somebody cuts the file short, that would be a SIGBUS. The kernel does the changing
 * (FUTEX_WAKE_OP) and the reading (pread(2)), and for those a missing page is an error number.
 *
 * Waiting for the lock is by sleeping until its release, in turns: whoever comes while another
 * waits lets one release pass first. Only a holder's death rings no bell; waiters look for that
 * every 10 ms. */

struct weiri_lock_page;

struct weiri_lock_file {
    int fd;
    struct weiri_lock_page *page; /* for the kernel's eyes only */
    const char *path;             /* borrowed */
    bool is_made;                 /* what is at the path, this open or a later lock made */
};

/* Bells; a thing to wait for is assigned to one by its hash. */
#define WEIRI_BELLS 63

/* Opens or makes the file (weiri_file_open_private()). The path is borrowed until it is closed.
 * Returns 0 or a number of errno.h: those of open(2); EBADMSG: another program's file. */
int weiri_lock_file_open(struct weiri_lock_file *file, const char *path);
void weiri_lock_file_close(struct weiri_lock_file *file);

/* Takes the lock. Excludes other processes and other opens of this one; of the threads that share
 * file, one at a time may call. limit_ns is a reading of weiri_monotonic_now(). Returns 0,
 * ETIMEDOUT, or what weiri_lock_file_open() may return. */
WEIR_NODISCARD int weiri_lock_file_lock(struct weiri_lock_file *file, int64_t limit_ns);
void weiri_lock_file_unlock(struct weiri_lock_file *file);

/* Takes the lock where it is free, and leaves the file as it is; for those who may not write.
 * close() of ret_fd gives it back, and rings no bell. Returns 0 or a number of errno.h: ENOENT:
 * there is no such file; EWOULDBLOCK: another has it. */
int weiri_lock_file_try(const char *path, int *ret_fd);

/* How often a bell was rung: taken before looking for what one then waits for. */
uint32_t weiri_bell_mark(struct weiri_lock_file *file, unsigned bell);
/* Wakes all who sleep for a bell. */
void weiri_bell_ring(struct weiri_lock_file *file, unsigned bell);
/* Sleeps until the bell has been rung after the mark, or the limit. False: the limit has passed.
 * May return true for no reason. */
bool weiri_bell_wait(struct weiri_lock_file *file, unsigned bell, uint32_t mark, int64_t limit_ns);
/* Counts those who also want to hear when a thing has become empty. */
void weiri_bell_watch_empty(struct weiri_lock_file *file, unsigned bell, bool is_watching);
bool weiri_bell_is_empty_watched(struct weiri_lock_file *file, unsigned bell);

#endif

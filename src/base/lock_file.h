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
 * holder was doing. The file is also mapped, and holds counters that processes sleep on with
 * futex(2). Those are hints only: one that is wrong (its process was killed in between, or the file
 * was scribbled on) costs a look too many or a sleep until its limit, never a lock held twice.
 *
 * Waiting for the lock is by sleeping until its release, in turns: whoever comes while another
 * waits lets one release pass first. Only a holder's death rings no bell; waiters look for that
 * every 10 ms. */

struct weiri_lock_page;

struct weiri_lock_file {
    int fd;
    struct weiri_lock_page *page;
};

/* Bells; a thing to wait for is assigned to one by its hash. */
#define WEIRI_BELLS 63

/* Opens or makes the file (weiri_file_open_private()). Returns 0 or a number of errno.h. */
int weiri_lock_file_open(struct weiri_lock_file *file, const char *path, bool *ret_is_new);
void weiri_lock_file_close(struct weiri_lock_file *file);

/* Takes the lock. Excludes other processes and other opens of this one; of the threads that share
 * file, one at a time may call. limit_ns is a reading of weiri_monotonic_now(). Errors:
 * WEIR_ETIMEDOUT, WEIR_EIO. */
WEIR_NODISCARD enum weir_status weiri_lock_file_lock(struct weiri_lock_file *file,
                                                     int64_t limit_ns);
void weiri_lock_file_unlock(struct weiri_lock_file *file);

/* How often a bell was rung: taken before looking for what one then waits for. */
uint32_t weiri_bell_mark(struct weiri_lock_file *file, unsigned bell);
/* Wakes all who sleep for a bell; no system call when nobody does. */
void weiri_bell_ring(struct weiri_lock_file *file, unsigned bell);
/* Sleeps until the bell has been rung after the mark, or the limit. False: the limit has passed.
 * May return true for no reason. */
bool weiri_bell_wait(struct weiri_lock_file *file, unsigned bell, uint32_t mark, int64_t limit_ns);
/* Counts those who also want to hear when a thing has become empty. */
void weiri_bell_watch_empty(struct weiri_lock_file *file, unsigned bell, bool is_watching);
bool weiri_bell_is_empty_watched(struct weiri_lock_file *file, unsigned bell);

#endif

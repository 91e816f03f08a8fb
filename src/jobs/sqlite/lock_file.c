/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall, flock, mremap, dup3 */

#include "jobs/sqlite/lock_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/futex.h"
#include "base/time.h"
#include "jobs/sqlite/file.h"

#define CHECK_NS INT64_C(10000000)
#define POLL_NS INT64_C(50000000)

/* The file's content. All zero is valid; each open writes MAGIC.
 *
 * A channel is a counter of notifications to sleep on. No wake-up is lost. The waiter reads the
 * counter (its mark), checks its predicate, and sleeps unless the counter has changed. The kernel
 * compares and begins the sleep in one step, and increments and wakes in another. So a notification
 * after the mark either makes the comparison fail, or finds the waiter asleep. */
#define MAGIC UINT64_C(0x6b636f6c72696577) /* "weirlock" */

struct weiri_lock_page {
    struct head {
        uint32_t released; /* the channel that is notified when the lock is released */
        uint32_t unused;
        uint32_t interest; /* 1 while a waiter for the lock has not got it */
        uint32_t unused1;
        uint64_t magic;
        uint32_t noted;
        uint32_t unused2[9]; /* up to a cache line */
    } head;
    uint32_t channels[WEIRI_CHANNELS];
};

_Static_assert(sizeof(struct weiri_lock_page) == 16384, "whole pages");

static const off_t page_size = sizeof(struct weiri_lock_page);

/* Changes a word and wakes waiters for it, in the kernel. The call's comparison has no use here: if
 * the old value was negative, one more waiter may wake. A missing page cannot be changed;
 * weiri_lock_file_lock() notifies all channels later. */
static void change(uint32_t *word, unsigned operation, unsigned operand, int wakes)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE_OP, wakes, NULL, word,
                  FUTEX_OP(operation, operand, FUTEX_OP_CMP_LT, 0));
}

static void notify(uint32_t *channel, int count)
{
    change(channel, FUTEX_OP_ADD, 1, count);
}

static void notify_all(struct weiri_lock_page *page)
{
    notify(&page->head.released, INT_MAX);
    for (unsigned i = 0; i < WEIRI_CHANNELS; i++) {
        notify(&page->channels[i], INT_MAX);
    }
}

/* Reads a word; zero where the file is too short. It may have changed on return. */
static uint32_t read_word(int fd, size_t offset)
{
    uint32_t word;
    ssize_t size = pread(fd, &word, sizeof(word), (off_t)offset);
    return size == (ssize_t)sizeof(word) ? word : 0;
}

/* Converts a reading of weiri_monotonic_now() for the kernel, which takes no negative times. */
static struct timespec time_of(int64_t reading_ns)
{
    int64_t reading = reading_ns < 0 ? 0 : reading_ns;
    return (struct timespec){.tv_sec = (time_t)(reading / 1000000000),
                             .tv_nsec = (long)(reading % 1000000000)};
}

/* Returns 0 or a number of errno.h: ETIMEDOUT: the limit has passed; EFAULT: there is no page. */
static int sleep_until(uint32_t *channel, uint32_t mark, int64_t limit_ns)
{
    struct timespec time = time_of(limit_ns);
    long result =
        syscall(SYS_futex, channel, FUTEX_WAIT_BITSET, mark, &time, NULL, FUTEX_BITSET_MATCH_ANY);
    return result == 0 ? 0 : errno;
}

/* Checks whether an existing file is a lock file, which may be of another length, or one that is
 * just being made. Called before any change, since it may be another program's file. */
static int check_content(int fd)
{
    static const struct weiri_lock_page zeros;
    struct weiri_lock_page page = zeros;
    ssize_t size = pread(fd, &page, sizeof(page), 0);
    if (size < 0) {
        return errno;
    }
    bool is_begun = (size == 0 || lseek(fd, 0, SEEK_END) == page_size) &&
                    memcmp(&page, &zeros, sizeof(page)) == 0;
    return is_begun || page.head.magic == MAGIC ? 0 : EBADMSG;
}

/* Extends the file to its size and writes MAGIC. Existing content stays. Allocates disk blocks for
 * the whole page, since a change of a page that a full disk cannot store would be lost. */
static int fill(int fd)
{
    const uint64_t magic = MAGIC;
    const off_t offset = offsetof(struct weiri_lock_page, head.magic);
    int error;
    do {
        error = posix_fallocate(fd, 0, page_size);
    } while (error == EINTR);
    if (error == 0 && pwrite(fd, &magic, sizeof(magic), offset) != (ssize_t)sizeof(magic)) {
        error = errno;
    }
    return error;
}

static struct weiri_lock_page *map(int fd)
{
    void *page =
        mmap(NULL, sizeof(struct weiri_lock_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return page == MAP_FAILED ? NULL : page;
}

static void unmap(struct weiri_lock_page *page)
{
    (void)munmap(page, sizeof(*page));
}

/* Gives a new PATH.lock the mode of PATH and, if root makes it, its owner, as SQLite does with the
 * log: a service that is not root must open what root has made. */
static void adopt(int fd, const char *path)
{
    char store[PATH_MAX];
    struct stat facts;
    const char *suffix = strrchr(path, '.');
    int length = suffix == NULL ? 0 : (int)(suffix - path);
    (void)snprintf(store, sizeof(store), "%.*s", length, path);
    if (lstat(store, &facts) == 0 && S_ISREG(facts.st_mode)) {
        (void)fchmod(fd, facts.st_mode & 0666);
        (void)!(geteuid() == 0 ? fchown(fd, facts.st_uid, facts.st_gid) : 0);
    }
}

int weiri_lock_file_open(struct weiri_lock_file *file, const char *path)
{
    int fd;
    bool is_new;
    int error = weiri_file_open_private(path, &fd, &is_new);
    if (error != 0) {
        return error;
    }
    struct weiri_lock_page *page = NULL;
    if (is_new) {
        adopt(fd, path);
    }
    error = is_new ? 0 : check_content(fd);
    if (error == 0) {
        error = fill(fd);
    }
    if (error == 0) {
        page = map(fd);
        error = page == NULL ? errno : 0;
    }
    if (error != 0) {
        (void)close(fd);
        if (is_new) {
            (void)unlink(path);
        }
        return error;
    }
    *file = (struct weiri_lock_file){fd, page, path, is_new, false, false, 0};
    return 0;
}

void weiri_lock_file_close(struct weiri_lock_file *file)
{
    unmap(file->page);
    /* A child that was forked and has not called exec yet has the descriptor, too. */
    weiri_lock_unshare(file->fd);
    (void)close(file->fd);
    file->page = NULL;
    file->fd = -1;
}

/* Takes flock(2) of the file that is open. */
static int take(struct weiri_lock_file *file, int64_t limit_ns)
{
    struct head *head = &file->page->head;
    bool has_waited = false;
    for (;;) {
        struct head seen = {.released = 0};
        (void)!pread(file->fd, &seen, sizeof(seen), 0);
        /* A process that comes while another waits sleeps first. Else one that locks again at once
         * would always win against one that must wake up. An interest left by a dead process costs
         * one short sleep. */
        if (has_waited || seen.interest == 0) {
            if (flock(file->fd, LOCK_EX | LOCK_NB) == 0) {
                if (has_waited) {
                    change(&head->interest, FUTEX_OP_SET, 0, 0);
                }
                file->noted = seen.noted;
                return 0;
            }
            if (errno == EINTR) {
                continue;
            }
            if (errno != EWOULDBLOCK) {
                return errno;
            }
            change(&head->interest, FUTEX_OP_SET, 1, 0);
        }
        int64_t now = weiri_monotonic_now();
        if (now >= limit_ns) {
            return ETIMEDOUT;
        }
        int64_t end_ns = weiri_time_add(now, CHECK_NS);
        end_ns = end_ns < limit_ns ? end_ns : limit_ns;
        if (sleep_until(&head->released, seen.released, end_ns) == EFAULT) {
            /* The file was cut short. Only the time ends this sleep. */
            _Atomic uint32_t word = 0;
            (void)weiri_futex_wait(&word, 0, end_ns);
        }
        has_waited = true;
    }
}

/* Replaces the open file, which was removed from the path, by the file at the path; makes that if
 * it does not exist. Releases the lock of the old file. The address and the descriptor's number
 * stay the same, so other threads of this process may sleep or notify meanwhile. All waiters of the
 * old file, in all processes, are woken to do the same, since nothing else would notify them. */
static int replace(struct weiri_lock_file *file)
{
    struct weiri_lock_file next;
    int error = weiri_lock_file_open(&next, file->path);
    if (error != 0) {
        return error;
    }
    struct weiri_lock_page *old = map(file->fd);
    if (mremap(next.page, sizeof(*next.page), sizeof(*next.page), MREMAP_MAYMOVE | MREMAP_FIXED,
               file->page) == MAP_FAILED) {
        error = errno;
        unmap(next.page);
    } else if (dup3(next.fd, file->fd, O_CLOEXEC) < 0) {
        error = errno; /* the old file is still open: the next lock tries again */
    }
    (void)close(next.fd);
    if (old != NULL) {
        notify_all(old);
        unmap(old);
    }
    /* For waiters with a mark of the old file that sleep in the new one. */
    notify_all(file->page);
    file->is_made = error == 0 && next.is_made;
    file->is_shared = false;
    return error;
}

int weiri_lock_file_lock(struct weiri_lock_file *file, int64_t limit_ns)
{
    for (;;) {
        int error = take(file, limit_ns);
        if (error != 0) {
            return error;
        }
        struct stat facts;
        bool is_at_path = weiri_file_is_at(file->fd, file->path, &facts);
        if (!is_at_path) {
            error = replace(file);
        } else if (facts.st_size < page_size) { /* cut short: the words of all waiters are lost */
            error = fill(file->fd);
            notify_all(file->page);
        }
        file->has_reserve = is_at_path && facts.st_blocks * 512 >= page_size + WEIRI_RESERVE_SIZE;
        if (error == 0 && is_at_path && !file->is_shared) {
            error = weiri_lock_share(file->fd);
            file->is_shared = error == 0;
        }
        if (error == 0 && is_at_path) {
            return 0;
        }
        weiri_lock_file_unlock(file);
        if (error != 0) {
            return error;
        }
    }
}

void weiri_lock_file_unlock(struct weiri_lock_file *file)
{
    (void)flock(file->fd, LOCK_UN);
    notify(&file->page->head.released, 1);
}

void weiri_lock_file_note(struct weiri_lock_file *file, uint32_t number)
{
    /* Where this fails, the number is that of an earlier note. */
    (void)!pwrite(file->fd, &number, sizeof(number), offsetof(struct weiri_lock_page, head.noted));
}

uint32_t weiri_lock_file_noted(int fd)
{
    return read_word(fd, offsetof(struct weiri_lock_page, head.noted));
}

int weiri_lock_file_reserve(struct weiri_lock_file *file)
{
    while (!file->has_reserve &&
           fallocate(file->fd, FALLOC_FL_KEEP_SIZE, page_size, WEIRI_RESERVE_SIZE) != 0) {
        if (errno != EINTR) {
            return errno;
        }
    }
    file->has_reserve = true;
    return 0;
}

void weiri_lock_file_release_reserve(struct weiri_lock_file *file)
{
    /* To the size that it has. */
    (void)!ftruncate(file->fd, page_size);
    file->has_reserve = false;
}

int weiri_lock_file_try(const char *path, int *ret_fd)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return errno;
    }
    int error = flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    if (error != 0) {
        (void)close(fd);
        return error;
    }
    *ret_fd = fd;
    return 0;
}

uint32_t weiri_channel_mark(struct weiri_lock_file *file, unsigned channel)
{
    return read_word(file->fd, offsetof(struct weiri_lock_page, channels[channel]));
}

void weiri_channel_notify(struct weiri_lock_file *file, unsigned channel, int count)
{
    notify(&file->page->channels[channel], count);
}

_Atomic bool weiri_channel_is_old_kernel;

/* Returns 0 or a number of errno.h; ENOSYS: this kernel cannot. */
static int sleep_for_all(struct weiri_lock_file *file, const struct weiri_mark *marks, size_t count,
                         int64_t limit_ns)
{
    struct futex_waitv words[FUTEX_WAITV_MAX] = {0};
    for (size_t i = 0; i < count; i++) {
        words[i].val = marks[i].mark;
        words[i].uaddr = (uintptr_t)&file->page->channels[marks[i].channel];
        words[i].flags = FUTEX_32;
    }
    struct timespec time = time_of(limit_ns);
    long result = syscall(SYS_futex_waitv, words, (unsigned)count, 0U, &time, CLOCK_MONOTONIC);
    return result >= 0 ? 0 : errno;
}

/* The same for kernels that cannot. */
static int poll_all(struct weiri_lock_file *file, const struct weiri_mark *marks, size_t count,
                    int64_t limit_ns)
{
    uint32_t *first = &file->page->channels[marks[0].channel];
    int error = ETIMEDOUT;
    for (int64_t now = 0; error == ETIMEDOUT && now < limit_ns; now = weiri_monotonic_now()) {
        for (size_t i = 1; i < count; i++) {
            if (weiri_channel_mark(file, marks[i].channel) != marks[i].mark) {
                return 0;
            }
        }
        int64_t next_ns = weiri_time_add(weiri_monotonic_now(), POLL_NS);
        error = sleep_until(first, marks[0].mark, next_ns < limit_ns ? next_ns : limit_ns);
    }
    return error;
}

bool weiri_channel_wait(struct weiri_lock_file *file, const struct weiri_mark *marks, size_t count,
                        int64_t limit_ns)
{
    if (count == 1) {
        return sleep_until(&file->page->channels[marks[0].channel], marks[0].mark, limit_ns) !=
               ETIMEDOUT;
    }
    if (!weiri_channel_is_old_kernel) {
        int error = sleep_for_all(file, marks, count, limit_ns);
        weiri_channel_is_old_kernel = error == ENOSYS;
        if (error != ENOSYS) {
            return error != ETIMEDOUT;
        }
    }
    return poll_all(file, marks, count, limit_ns) != ETIMEDOUT;
}

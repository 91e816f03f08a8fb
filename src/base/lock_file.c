/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall, flock, mremap, dup3 */

#include "base/lock_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/time.h"

#define LOOK_NS INT64_C(10000000)

/* A word to sleep on.
 *
 * No wake-up is lost: the sleeper takes a mark, looks, and sleeps unless the word has changed; the
 * kernel compares the word and puts the sleeper to bed in one step, and changes it and wakes in
 * another. A ring after the mark either comes before that comparison, which then fails, or finds
 * the sleeper. */
struct bell {
    uint32_t rung;
    uint32_t reserved0;
    /* Of the lock: 1 while somebody waits who was not let in yet. Of another bell: how many want to
     * hear also that something became empty. */
    uint32_t interest;
    uint32_t reserved1;
    uint64_t magic;      /* of the first bell: MAGIC */
    uint32_t unused[10]; /* to a line of the processor's cache */
};

/* The file's content. All zero is a valid start; whoever opens it writes what it is. */
#define MAGIC UINT64_C(0x6b636f6c72696577) /* "weirlock" */

struct weiri_lock_page {
    struct bell released; /* rung when the lock was given back; carries MAGIC */
    struct bell bells[WEIRI_BELLS];
};

_Static_assert(sizeof(struct weiri_lock_page) == 4096, "the page is a page");

/* Changes a word and wakes so many who sleep for it, in the kernel. The comparison is a part of the
 * call that is of no use here: where the old value was negative it may wake one more. A page that
 * is not there cannot be changed, and whoever mends the file rings. */
static void change(uint32_t *word, unsigned operation, unsigned operand, int wakes)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE_OP, wakes, NULL, word,
                  FUTEX_OP(operation, operand, FUTEX_OP_CMP_LT, 0));
}

static void ring(struct bell *bell, int count)
{
    change(&bell->rung, FUTEX_OP_ADD, 1, count);
}

static void ring_all(struct weiri_lock_page *page)
{
    ring(&page->released, INT_MAX);
    for (unsigned i = 0; i < WEIRI_BELLS; i++) {
        ring(&page->bells[i], INT_MAX);
    }
}

/* What a bell's words are, or were a moment ago; zero where the file is too short to have it. */
static struct bell look_at(const struct weiri_lock_file *file, const struct bell *bell)
{
    struct bell seen = {0};
    off_t offset = (off_t)((const char *)bell - (const char *)file->page);
    ssize_t size = pread(file->fd, &seen, sizeof(seen), offset);
    return size == (ssize_t)sizeof(seen) ? seen : (struct bell){0};
}

/* A reading of weiri_monotonic_now() for the kernel, which takes none before the start. */
static struct timespec time_of(int64_t reading_ns)
{
    int64_t reading = reading_ns < 0 ? 0 : reading_ns;
    return (struct timespec){.tv_sec = (time_t)(reading / 1000000000),
                             .tv_nsec = (long)(reading % 1000000000)};
}

/* Returns 0 or a number of errno.h: ETIMEDOUT: the limit has passed; EFAULT: there is no page. */
static int sleep_until(struct bell *bell, uint32_t mark, int64_t limit_ns)
{
    struct timespec time = time_of(limit_ns);
    long result = syscall(SYS_futex, &bell->rung, FUTEX_WAIT_BITSET, mark, &time, NULL,
                          FUTEX_BITSET_MATCH_ANY);
    return result == 0 ? 0 : errno;
}

/* Whether a file that was there is one of ours, or one that is just being made. Checked before a
 * byte of it is changed: it may be anybody's. */
static int check_content(int fd)
{
    struct stat facts;
    if (fstat(fd, &facts) != 0) {
        return errno;
    }
    if (facts.st_size == 0) {
        return 0;
    }
    unsigned char page[sizeof(struct weiri_lock_page)];
    if (facts.st_size != (off_t)sizeof(page) ||
        pread(fd, page, sizeof(page), 0) != (ssize_t)sizeof(page)) {
        return EBADMSG;
    }
    uint64_t magic;
    memcpy(&magic, page + offsetof(struct weiri_lock_page, released.magic), sizeof(magic));
    if (magic == MAGIC) {
        return 0;
    }
    for (size_t i = 0; i < sizeof(page); i++) {
        if (page[i] != 0) {
            return EBADMSG;
        }
    }
    return 0;
}

/* Makes the file as long as it has to be, and ours. What is there stays. Blocks for the whole page:
 * a later change of a page that a full disk cannot store would be lost. */
static int fill(int fd)
{
    const uint64_t magic = MAGIC;
    const off_t offset = offsetof(struct weiri_lock_page, released.magic);
    int error;
    do {
        error = posix_fallocate(fd, 0, (off_t)sizeof(struct weiri_lock_page));
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

int weiri_lock_file_open(struct weiri_lock_file *file, const char *path)
{
    int fd;
    bool is_new;
    int error = weiri_file_open_private(path, &fd, &is_new);
    if (error != 0) {
        return error;
    }
    struct weiri_lock_page *page = NULL;
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
    *file = (struct weiri_lock_file){fd, page, path, is_new};
    return 0;
}

void weiri_lock_file_close(struct weiri_lock_file *file)
{
    unmap(file->page);
    (void)close(file->fd);
    file->page = NULL;
    file->fd = -1;
}

/* Takes flock(2) of the file that is open. */
static int take(struct weiri_lock_file *file, int64_t limit_ns)
{
    struct bell *released = &file->page->released;
    bool has_waited = false;
    for (;;) {
        struct bell seen = look_at(file, released);
        /* Without this courtesy a process that locks again at once would win against one that must
         * wake up first, again and again. A mark left by a dead process costs one short sleep. */
        if (has_waited || seen.interest == 0) {
            if (flock(file->fd, LOCK_EX | LOCK_NB) == 0) {
                if (has_waited) {
                    change(&released->interest, FUTEX_OP_SET, 0, 0);
                }
                return 0;
            }
            if (errno == EINTR) {
                continue;
            }
            if (errno != EWOULDBLOCK) {
                return errno;
            }
            change(&released->interest, FUTEX_OP_SET, 1, 0);
        }
        int64_t now = weiri_monotonic_now();
        if (now >= limit_ns) {
            return ETIMEDOUT;
        }
        int64_t look = weiri_time_add(now, LOOK_NS);
        look = look < limit_ns ? look : limit_ns;
        if (sleep_until(released, seen.rung, look) == EFAULT) {
            struct timespec time = time_of(look);
            (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
        }
        has_waited = true;
    }
}

/* Goes on with the file that is at the path, and makes it where there is none, in place of one that
 * was removed; its lock is given up. The address and the number of the descriptor stay, so that
 * this process' other threads, which sleep or ring meanwhile, need not know. Those of all processes
 * who sleep in the old file are woken to do the same: nobody else would ring there. */
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
        ring_all(old);
        unmap(old);
    }
    /* Also who took a mark in the old file and sleeps in the new one. */
    ring_all(file->page);
    file->is_made = error == 0 && next.is_made;
    return error;
}

/* Whoever cut the file short took words away that others sleep on. */
static int mend(struct weiri_lock_file *file)
{
    struct stat facts;
    if (fstat(file->fd, &facts) != 0) {
        return errno;
    }
    if (facts.st_size >= (off_t)sizeof(struct weiri_lock_page)) {
        return 0;
    }
    int error = fill(file->fd);
    ring_all(file->page);
    return error;
}

int weiri_lock_file_lock(struct weiri_lock_file *file, int64_t limit_ns)
{
    for (;;) {
        int error = take(file, limit_ns);
        if (error != 0) {
            return error;
        }
        bool is_at_path = weiri_file_is_at(file->fd, file->path);
        error = is_at_path ? mend(file) : replace(file);
        if (error != 0) {
            weiri_lock_file_unlock(file);
        }
        if (error != 0 || is_at_path) {
            return error;
        }
    }
}

void weiri_lock_file_unlock(struct weiri_lock_file *file)
{
    (void)flock(file->fd, LOCK_UN);
    ring(&file->page->released, 1);
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

uint32_t weiri_bell_mark(struct weiri_lock_file *file, unsigned bell)
{
    return look_at(file, &file->page->bells[bell]).rung;
}

void weiri_bell_ring(struct weiri_lock_file *file, unsigned bell)
{
    ring(&file->page->bells[bell], INT_MAX);
}

bool weiri_bell_wait(struct weiri_lock_file *file, unsigned bell, uint32_t mark, int64_t limit_ns)
{
    return sleep_until(&file->page->bells[bell], mark, limit_ns) != ETIMEDOUT;
}

void weiri_bell_watch_empty(struct weiri_lock_file *file, unsigned bell, bool is_watching)
{
    change(&file->page->bells[bell].interest, FUTEX_OP_ADD, is_watching ? 1 : UINT32_MAX, 0);
}

bool weiri_bell_is_empty_watched(struct weiri_lock_file *file, unsigned bell)
{
    return look_at(file, &file->page->bells[bell]).interest > 0;
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall, flock */

#include "base/lock_file.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
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

/* A word to sleep on, and how many do. Waking is cheap while that is 0.
 *
 * No wake-up is lost: the sleeper counts itself, then the kernel compares the word, both in one
 * order with the ringer's, which changes the word, then reads the count. Either the ringer sees the
 * sleeper, or the kernel the change. A process killed asleep stays counted: one system call too
 * many for each ring from then on. */
struct bell {
    _Atomic uint32_t rung;
    _Atomic uint32_t sleepers;
    /* Of the lock: 1 while somebody waits who was not let in yet. Of another bell: how many want to
     * hear also that something became empty. */
    _Atomic uint32_t interest;
    uint32_t reserved0;
    _Atomic uint64_t magic; /* of the first bell: MAGIC */
    uint32_t unused[10];    /* to a line of the processor's cache */
};

/* The file's content. All zero is a valid start; whoever opens it writes what it is. */
#define MAGIC UINT64_C(0x6b636f6c72696577) /* "weirlock" */

struct weiri_lock_page {
    struct bell released; /* rung when the lock was given back; carries MAGIC */
    struct bell bells[WEIRI_BELLS];
};

_Static_assert(sizeof(struct weiri_lock_page) == 4096, "the page is a page");

static void ring(struct bell *bell, int count)
{
    atomic_fetch_add_explicit(&bell->rung, 1, memory_order_seq_cst);
    if (atomic_load_explicit(&bell->sleepers, memory_order_seq_cst) > 0) {
        (void)syscall(SYS_futex, &bell->rung, FUTEX_WAKE, count, NULL, NULL, 0);
    }
}

/* False: the limit has passed. */
static bool sleep_until(struct bell *bell, uint32_t mark, int64_t limit_ns)
{
    int64_t limit = limit_ns < 0 ? 0 : limit_ns;
    struct timespec time = {.tv_sec = (time_t)(limit / 1000000000),
                            .tv_nsec = (long)(limit % 1000000000)};
    atomic_fetch_add_explicit(&bell->sleepers, 1, memory_order_seq_cst);
    long result = syscall(SYS_futex, &bell->rung, FUTEX_WAIT_BITSET, mark, &time, NULL,
                          FUTEX_BITSET_MATCH_ANY);
    bool is_late = result != 0 && errno == ETIMEDOUT;
    atomic_fetch_sub_explicit(&bell->sleepers, 1, memory_order_seq_cst);
    return !is_late;
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

int weiri_lock_file_open(struct weiri_lock_file *file, const char *path, bool *ret_is_new)
{
    int fd;
    bool is_new;
    int error = weiri_file_open_private(path, &fd, &is_new);
    if (error != 0) {
        return error;
    }
    /* Blocks for the whole page: a first write to a page that a full disk cannot store would be a
     * SIGBUS. An existing page keeps its content. */
    void *page = MAP_FAILED;
    error = is_new ? 0 : check_content(fd);
    if (error != 0) {
        (void)close(fd);
        return error;
    }
    error = posix_fallocate(fd, 0, (off_t)sizeof(struct weiri_lock_page));
    if (error == 0) {
        page =
            mmap(NULL, sizeof(struct weiri_lock_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        error = page == MAP_FAILED ? errno : 0;
    }
    if (error != 0) {
        (void)close(fd);
        if (is_new) {
            (void)unlink(path);
        }
        return error;
    }
    *file = (struct weiri_lock_file){fd, page};
    atomic_store_explicit(&file->page->released.magic, MAGIC, memory_order_relaxed);
    *ret_is_new = is_new;
    return 0;
}

void weiri_lock_file_close(struct weiri_lock_file *file)
{
    (void)munmap(file->page, sizeof(struct weiri_lock_page));
    (void)close(file->fd);
    file->page = NULL;
    file->fd = -1;
}

enum weir_status weiri_lock_file_lock(struct weiri_lock_file *file, int64_t limit_ns)
{
    struct bell *released = &file->page->released;
    bool has_waited = false;
    for (;;) {
        uint32_t mark = atomic_load_explicit(&released->rung, memory_order_seq_cst);
        /* Without this courtesy a process that locks again at once would win against one that must
         * wake up first, again and again. A mark left by a dead process costs one short sleep. */
        if (has_waited || atomic_load_explicit(&released->interest, memory_order_relaxed) == 0) {
            if (flock(file->fd, LOCK_EX | LOCK_NB) == 0) {
                if (has_waited) {
                    atomic_store_explicit(&released->interest, 0, memory_order_relaxed);
                }
                return WEIR_OK;
            }
            if (errno == EINTR) {
                continue;
            }
            if (errno != EWOULDBLOCK) {
                return WEIR_EIO;
            }
            atomic_store_explicit(&released->interest, 1, memory_order_relaxed);
        }
        int64_t now = weiri_monotonic_now();
        if (now >= limit_ns) {
            return WEIR_ETIMEDOUT;
        }
        int64_t look = weiri_time_add(now, LOOK_NS);
        (void)sleep_until(released, mark, look < limit_ns ? look : limit_ns);
        has_waited = true;
    }
}

void weiri_lock_file_unlock(struct weiri_lock_file *file)
{
    (void)flock(file->fd, LOCK_UN);
    ring(&file->page->released, 1);
}

uint32_t weiri_bell_mark(struct weiri_lock_file *file, unsigned bell)
{
    return atomic_load_explicit(&file->page->bells[bell].rung, memory_order_seq_cst);
}

void weiri_bell_ring(struct weiri_lock_file *file, unsigned bell)
{
    ring(&file->page->bells[bell], INT_MAX);
}

bool weiri_bell_wait(struct weiri_lock_file *file, unsigned bell, uint32_t mark, int64_t limit_ns)
{
    return sleep_until(&file->page->bells[bell], mark, limit_ns);
}

void weiri_bell_watch_empty(struct weiri_lock_file *file, unsigned bell, bool is_watching)
{
    atomic_fetch_add_explicit(&file->page->bells[bell].interest, is_watching ? 1 : UINT32_MAX,
                              memory_order_seq_cst);
}

bool weiri_bell_is_empty_watched(struct weiri_lock_file *file, unsigned bell)
{
    return atomic_load_explicit(&file->page->bells[bell].interest, memory_order_seq_cst) > 0;
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* MAP_ANONYMOUS */

#include "jobs/sqlite/lock_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sync.h"
#include "base/time.h"
#include "jobs/sqlite/file.h"
#include "support/harness.h"

#define FOREVER INT64_MAX

static struct weiri_lock_file open_file(void)
{
    struct weiri_lock_file file;
    CHECK_INT(weiri_lock_file_open(&file, "lock"), ==, 0);
    return file;
}

static bool wait_for(struct weiri_lock_file *file, unsigned channel, uint32_t mark,
                     int64_t limit_ns)
{
    const struct weiri_mark marks[] = {{.channel = channel, .mark = mark}};
    return weiri_channel_wait(file, marks, 1, limit_ns);
}

static void expect_exit_0(pid_t child)
{
    int status;
    CHECK_INT(waitpid(child, &status, 0), ==, child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Memory that a test shares with its children. */
static void *shared(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}

TEST(is_private, "the file is 16 KiB with mode 0600 whatever the umask, and keeps its content")
{
    mode_t usual = umask(0277);
    struct weiri_lock_file file;
    CHECK_INT(weiri_lock_file_open(&file, "lock"), ==, 0);
    (void)umask(usual); /* files written at the process' end, coverage counts, must stay writable */
    CHECK(file.is_made);
    struct stat facts;
    CHECK_INT(stat("lock", &facts), ==, 0);
    CHECK_INT(facts.st_mode & 0777, ==, 0600);
    CHECK_INT(facts.st_size, ==, 16384);
    weiri_channel_notify(&file, 5, INT_MAX);
    struct weiri_lock_file other;
    CHECK_INT(weiri_lock_file_open(&other, "lock"), ==, 0);
    CHECK(!other.is_made);
    CHECK_INT(weiri_channel_mark(&other, 5), ==, 1);
    CHECK_INT(weiri_channel_mark(&other, 6), ==, 0);
    weiri_lock_file_close(&other);
    weiri_lock_file_close(&file);
}

TEST(excludes, "the lock is held once, also by two opens of one process; waiting ends at the limit")
{
    struct weiri_lock_file a = open_file();
    struct weiri_lock_file b = open_file();
    CHECK_INT(weiri_lock_file_lock(&a, FOREVER), ==, 0);
    int64_t limit = weiri_time_add(weiri_monotonic_now(), INT64_C(30000000));
    CHECK_INT(weiri_lock_file_lock(&b, limit), ==, ETIMEDOUT);
    CHECK_INT(weiri_monotonic_now(), >=, limit);
    weiri_lock_file_unlock(&a);
    CHECK_INT(weiri_lock_file_lock(&b, FOREVER), ==, 0);
    CHECK_INT(weiri_lock_file_lock(&a, 0), ==, ETIMEDOUT);
    weiri_lock_file_unlock(&b);
    weiri_lock_file_close(&a);
    weiri_lock_file_close(&b);
}

TEST(dead_holder, "the lock of a killed process is free")
{
    struct weiri_lock_file file = open_file();
    int ends[2];
    CHECK_INT(pipe(ends), ==, 0);
    pid_t child = fork();
    if (child == 0) {
        struct weiri_lock_file mine = open_file();
        if (weiri_lock_file_lock(&mine, FOREVER) == 0) {
            (void)!write(ends[1], "", 1);
        }
        for (;;) {
            (void)pause();
        }
    }
    char byte;
    CHECK_INT(read(ends[0], &byte, 1), ==, 1);
    CHECK_INT(weiri_lock_file_lock(&file, 0), ==, ETIMEDOUT);
    CHECK_INT(kill(child, SIGKILL), ==, 0);
    CHECK_INT(weiri_lock_file_lock(&file, FOREVER), ==, 0);
    CHECK_INT(waitpid(child, NULL, 0), ==, child);
    weiri_lock_file_unlock(&file);
    weiri_lock_file_close(&file);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

struct turns {
    _Atomic uint64_t counter; /* changed under the lock only, not atomically */
    atomic_bool is_over;
};

TEST(takes_turns, "four processes add without losing a count, and a greedy one lets others in")
{
    enum {
        CHILDREN = 3,
        ROUNDS = 300
    };
    struct turns *turns = shared(sizeof(*turns));
    pid_t children[CHILDREN];
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            struct weiri_lock_file mine = open_file();
            for (int k = 0; k < ROUNDS; k++) {
                if (weiri_lock_file_lock(&mine, FOREVER) != 0) {
                    _exit(1);
                }
                uint64_t seen = atomic_load_explicit(&turns->counter, memory_order_relaxed);
                atomic_store_explicit(&turns->counter, seen + 1, memory_order_relaxed);
                weiri_lock_file_unlock(&mine);
            }
            test_end_child();
        }
    }
    /* The greedy one never pauses. The others end long before it has locked a million times. */
    struct weiri_lock_file file = open_file();
    uint64_t mine = 0;
    uint64_t seen = 0;
    while (seen - mine < (uint64_t)CHILDREN * ROUNDS && mine < 1000000) {
        CHECK_INT(weiri_lock_file_lock(&file, FOREVER), ==, 0);
        seen = atomic_load_explicit(&turns->counter, memory_order_relaxed) + 1;
        atomic_store_explicit(&turns->counter, seen, memory_order_relaxed);
        mine++;
        weiri_lock_file_unlock(&file);
    }
    CHECK_INT(seen - mine, ==, CHILDREN * ROUNDS);
    for (int i = 0; i < CHILDREN; i++) {
        expect_exit_0(children[i]);
    }
    weiri_lock_file_close(&file);
    CHECK_INT(munmap(turns, sizeof(*turns)), ==, 0);
}

TEST(channel_between_processes,
     "two processes wake each other 2000 times without a limit being hit")
{
    enum {
        ROUNDS = 2000
    };
    _Atomic uint32_t *ball = shared(sizeof(*ball));
    struct weiri_lock_file file = open_file();
    pid_t child = fork();
    bool is_child = child == 0;
    struct weiri_lock_file mine = file;
    if (is_child) {
        mine = open_file();
    }
    int64_t limit = weiri_time_add(weiri_monotonic_now(), INT64_C(60000000000));
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t due = 2 * i + (is_child ? 1 : 0);
        for (;;) {
            uint32_t mark = weiri_channel_mark(&mine, 7);
            if (atomic_load_explicit(ball, memory_order_acquire) >= due) {
                break;
            }
            if (!wait_for(&mine, 7, mark, limit)) {
                is_child ? _exit(1) : test_fail(__FILE__, __LINE__, "nobody rang");
            }
        }
        atomic_store_explicit(ball, due + 1, memory_order_release);
        weiri_channel_notify(&mine, 7, INT_MAX);
    }
    if (is_child) {
        test_end_child();
    }
    expect_exit_0(child);
    weiri_lock_file_close(&file);
    CHECK_INT(munmap((void *)ball, sizeof(*ball)), ==, 0);
}

TEST(channel_limit,
     "a wait ends at its limit, at once when that has passed or the channel was notified")
{
    struct weiri_lock_file file = open_file();
    uint32_t mark = weiri_channel_mark(&file, 0);
    int64_t limit = weiri_time_add(weiri_monotonic_now(), INT64_C(20000000));
    while (wait_for(&file, 0, mark, limit)) {
    }
    CHECK_INT(weiri_monotonic_now(), >=, limit);
    CHECK(!wait_for(&file, 0, mark, 0));
    CHECK(!wait_for(&file, 0, mark, -1));
    weiri_channel_notify(&file, 0, INT_MAX);
    CHECK(wait_for(&file, 0, mark, FOREVER));
    weiri_lock_file_close(&file);
}

TEST(not_ours, "a file that no store made is refused and not changed")
{
    static const char content[] = "forty bytes of somebody else's lock file";
    int fd = open("app.lock", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    CHECK_INT(write(fd, content, sizeof(content)), ==, sizeof(content));
    CHECK_INT(close(fd), ==, 0);
    struct weiri_lock_file file;
    CHECK_INT(weiri_lock_file_open(&file, "app.lock"), ==, EBADMSG);
    char read_back[sizeof(content) + 1];
    fd = open("app.lock", O_RDONLY | O_CLOEXEC);
    CHECK_INT(read(fd, read_back, sizeof(read_back)), ==, sizeof(content));
    CHECK_INT(close(fd), ==, 0);
    CHECK(memcmp(read_back, content, sizeof(content)) == 0);
}

TEST(not_ours_by_content, "nor is one that is as long as ours, and holds something else")
{
    struct weiri_lock_file ours = open_file();
    struct stat facts;
    CHECK_INT(stat("lock", &facts), ==, 0);
    int fd = open("app.lock", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    CHECK_INT(pwrite(fd, "x", 1, facts.st_size - 1), ==, 1);
    CHECK_INT(close(fd), ==, 0);
    struct weiri_lock_file file;
    CHECK_INT(weiri_lock_file_open(&file, "app.lock"), ==, EBADMSG);
    weiri_lock_file_close(&ours);
}

TEST(half_made, "one that somebody has begun to make, and holds nothing yet, is made ours")
{
    int fd = open("lock", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    CHECK_INT(ftruncate(fd, 16384), ==, 0);
    CHECK_INT(close(fd), ==, 0);
    struct weiri_lock_file file = open_file();
    CHECK(!file.is_made);
    CHECK_INT(weiri_lock_file_lock(&file, 0), ==, 0);
    weiri_lock_file_unlock(&file);
    char name[9] = "";
    CHECK_INT(pread(file.fd, name, 8, 16), ==, 8);
    CHECK_STRING(name, "weirlock");
    weiri_lock_file_close(&file);
}

TEST(other_length,
     "one of another length that has our name is ours, and made as long as it must be")
{
    struct weiri_lock_file made = open_file();
    weiri_lock_file_close(&made);
    static const off_t sizes[] = {4096, 100, 0, 20000};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        CHECK_INT(truncate("lock", sizes[i]), ==, 0);
        struct weiri_lock_file file = open_file();
        weiri_channel_notify(&file, WEIRI_CHANNELS - 1, INT_MAX);
        CHECK_INT(weiri_channel_mark(&file, WEIRI_CHANNELS - 1), >, 0);
        weiri_lock_file_close(&file);
    }
}

TEST(no_room, "a file is not made if there is no space for it")
{
    struct weiri_lock_file file;
    struct rlimit before;
    CHECK(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    CHECK_INT(getrlimit(RLIMIT_FSIZE, &before), ==, 0);
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &(struct rlimit){16, before.rlim_max}), ==, 0);
    int error = weiri_lock_file_open(&file, "lock");
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &before), ==, 0);
    CHECK_INT(error, ==, EFBIG);
    CHECK_INT(access("lock", F_OK), ==, -1);
}

static void wait_on_channel(void *arg)
{
    struct weiri_lock_file *file = arg;
    CHECK(wait_for(file, 3, weiri_channel_mark(file, 3), FOREVER));
}

TEST(user,
     "an open is a user of its file from its first lock until it is closed, and of a file that "
     "takes the place of it")
{
    struct weiri_lock_file a = open_file();
    struct weiri_lock_file b = open_file();
    CHECK(!weiri_lock_is_shared(b.fd));
    for (int i = 0; i < 2; i++) {
        CHECK_INT(weiri_lock_file_lock(&a, FOREVER), ==, 0);
        weiri_lock_file_unlock(&a);
        CHECK(weiri_lock_is_shared(b.fd));
    }
    CHECK_INT(unlink("lock"), ==, 0);
    CHECK_INT(weiri_lock_file_lock(&a, FOREVER), ==, 0);
    weiri_lock_file_unlock(&a);
    CHECK(!weiri_lock_is_shared(b.fd));
    weiri_lock_file_close(&b);
    b = open_file();
    CHECK(weiri_lock_is_shared(b.fd));
    weiri_lock_file_close(&a);
    CHECK(!weiri_lock_is_shared(b.fd));
    weiri_lock_file_close(&b);
}

TEST(reserve, "a reserve that another open gave back is there again, once the lock was taken")
{
    struct weiri_lock_file a = open_file();
    struct weiri_lock_file b = open_file();
    struct stat facts;
    for (int i = 0; i < 3; i++) {
        CHECK_INT(weiri_lock_file_lock(&a, FOREVER), ==, 0);
        CHECK_INT(weiri_lock_file_reserve(&a), ==, 0);
        CHECK_INT(fstat(a.fd, &facts), ==, 0);
        CHECK_INT(facts.st_blocks * 512, >=, WEIRI_RESERVE_SIZE);
        weiri_lock_file_unlock(&a);
        CHECK_INT(weiri_lock_file_lock(&b, FOREVER), ==, 0);
        weiri_lock_file_release_reserve(i == 0 ? &b : &a);
        CHECK_INT(fstat(a.fd, &facts), ==, 0);
        CHECK_INT(facts.st_blocks * 512, <, WEIRI_RESERVE_SIZE);
        weiri_lock_file_unlock(&b);
    }
    weiri_lock_file_close(&a);
    weiri_lock_file_close(&b);
}

TEST(removed, "a file that was removed is replaced at the next lock, and its waiters are woken")
{
    struct weiri_lock_file a = open_file();
    struct stat facts;
    struct weiri_lock_file b = open_file();
    struct test_thread *mine = test_start(wait_on_channel, &a);
    struct test_thread *others = test_start(wait_on_channel, &b);
    test_wait_asleep(mine);
    test_wait_asleep(others);
    CHECK_INT(unlink("lock"), ==, 0);
    CHECK_INT(weiri_lock_file_lock(&a, FOREVER), ==, 0);
    CHECK(a.is_made);
    CHECK(weiri_file_is_at(a.fd, "lock", &facts));
    test_join(mine);
    test_join(others);
    CHECK_INT(weiri_lock_file_lock(&b, 0), ==, ETIMEDOUT);
    CHECK(weiri_file_is_at(b.fd, "lock", &facts));
    CHECK(!b.is_made);
    /* Both use the channels of the new file. */
    uint32_t mark = weiri_channel_mark(&b, 3);
    weiri_channel_notify(&a, 3, INT_MAX);
    CHECK_INT(weiri_channel_mark(&b, 3), ==, mark + 1);
    weiri_lock_file_unlock(&a);
    CHECK_INT(weiri_lock_file_lock(&b, FOREVER), ==, 0);
    CHECK_INT(weiri_lock_file_lock(&a, 0), ==, ETIMEDOUT);
    /* And both are its users: each sees the other. */
    CHECK(weiri_lock_is_shared(a.fd));
    CHECK(weiri_lock_is_shared(b.fd));
    weiri_lock_file_close(&b);
    CHECK(!weiri_lock_is_shared(a.fd));
    weiri_lock_file_close(&a);
}

TEST(replaced,
     "a file that another program put in its place is refused, and the old lock given back")
{
    struct weiri_lock_file a = open_file();
    struct weiri_lock_file b = open_file();
    CHECK_INT(rename("lock", "old"), ==, 0);
    CHECK_INT(mkdir("lock", 0700), ==, 0);
    CHECK_INT(weiri_lock_file_lock(&a, FOREVER), ==, ENOTSUP);
    CHECK_INT(rmdir("lock"), ==, 0);
    CHECK_INT(rename("old", "lock"), ==, 0);
    CHECK_INT(weiri_lock_file_lock(&b, 0), ==, 0);
    weiri_lock_file_close(&a);
    weiri_lock_file_close(&b);
}

TEST(cut_short, "a file that was cut short is no crash, and is whole again at the next lock")
{
    struct weiri_lock_file a = open_file();
    struct weiri_lock_file b = open_file();
    struct test_thread *waiter = test_start(wait_on_channel, &b);
    test_wait_asleep(waiter);
    CHECK_INT(truncate("lock", 0), ==, 0);
    weiri_channel_notify(&a, 3, INT_MAX);
    CHECK_INT(weiri_channel_mark(&a, 3), ==, 0);
    CHECK(wait_for(&a, 3, 0, FOREVER));
    CHECK_INT(weiri_lock_file_lock(&a, FOREVER), ==, 0);
    test_join(waiter);
    struct stat facts;
    CHECK_INT(stat("lock", &facts), ==, 0);
    CHECK_INT(facts.st_size, ==, 16384);
    struct weiri_lock_file c = open_file();
    /* A wait while it is cut short again still waits: with a page or without one. */
    static const off_t sizes[] = {100, 0};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        CHECK_INT(truncate("lock", sizes[i]), ==, 0);
        int64_t limit = weiri_time_add(weiri_monotonic_now(), INT64_C(30000000));
        CHECK_INT(weiri_lock_file_lock(&b, limit), ==, ETIMEDOUT);
        CHECK_INT(weiri_monotonic_now(), >=, limit);
    }
    weiri_lock_file_unlock(&a);
    CHECK_INT(weiri_lock_file_lock(&b, FOREVER), ==, 0);
    weiri_lock_file_unlock(&b);
    struct weiri_lock_file d = open_file();
    weiri_lock_file_close(&a);
    weiri_lock_file_close(&b);
    weiri_lock_file_close(&c);
    weiri_lock_file_close(&d);
}

static void notify_last(void *arg)
{
    struct weiri_lock_file *file = arg;
    weiri_channel_notify(file, 40, INT_MAX);
}

TEST(other_value, "a mark has another value after the file was cut short or replaced")
{
    struct weiri_lock_file file = open_file();
    struct weiri_lock_file other = open_file();
    weiri_channel_notify(&file, 2, 1);
    weiri_channel_notify(&file, 2, 1);
    CHECK_INT(weiri_channel_mark(&other, 2), ==, 2);
    CHECK_INT(truncate("lock", 0), ==, 0);
    CHECK_INT(weiri_channel_mark(&file, 2), ==, 0);
    weiri_channel_notify(&file, 2, 1); /* lost: there is no page */
    CHECK_INT(weiri_lock_file_lock(&file, FOREVER), ==, 0);
    weiri_lock_file_unlock(&file);
    uint32_t mark = weiri_channel_mark(&other, 2);
    CHECK_INT(unlink("lock"), ==, 0);
    CHECK_INT(weiri_lock_file_lock(&file, FOREVER), ==, 0);
    weiri_lock_file_unlock(&file);
    CHECK_INT(weiri_channel_mark(&other, 2), !=, mark); /* it still has the old file */
    weiri_lock_file_close(&file);
    weiri_lock_file_close(&other);
}

TEST(several, "a sleep for several channels ends with a notification of any, on old kernels too")
{
    struct weiri_lock_file file = open_file();
    for (int is_old = 0; is_old < 2; is_old++) {
        weiri_channel_is_old_kernel = is_old == 1;
        struct weiri_mark marks[64];
        for (unsigned i = 0; i < 64; i++) {
            unsigned channel = i == 0 ? WEIRI_CHANNELS - 1 : i;
            marks[i] = (struct weiri_mark){NULL, channel, weiri_channel_mark(&file, channel)};
        }
        while (weiri_channel_wait(&file, marks, 64, weiri_monotonic_now())) {
        }
        CHECK(!weiri_channel_wait(&file, marks, 64, weiri_monotonic_now() + 1000000));
        struct test_thread *thread = test_start(notify_last, &file);
        while (weiri_channel_mark(&file, 40) == marks[40].mark) {
            CHECK(weiri_channel_wait(&file, marks, 64, FOREVER));
        }
        test_join(thread);
        CHECK(weiri_channel_wait(&file, marks, 64, FOREVER));
        CHECK(weiri_channel_wait(&file, marks + 40, 2, FOREVER));
        CHECK(weiri_channel_wait(&file, marks + 39, 2, FOREVER));
        CHECK(!weiri_channel_wait(&file, marks + 41, 2, 0));
    }
    weiri_channel_is_old_kernel = false;
    weiri_lock_file_close(&file);
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Files on a system that refuses a call: each step is taken back, and the error is the system's. */
#include "jobs/sqlite/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jobs/sqlite/lock_file.h"

#include "support/forbid_call.h"
#include "support/harness.h"

#define FOREVER INT64_MAX

struct refusal {
    unsigned call; /* SYS_... */
    int error;
    void (*fn)(struct refusal *refusal);
    struct weiri_lock_file *file;
};

static void run_refused(void *opaque)
{
    struct refusal *refusal = opaque;
    test_forbid_call(refusal->call, SECCOMP_RET_ERRNO | (unsigned)refusal->error);
    refusal->fn(refusal);
}

/* On a thread of its own, since a forbidden call stays forbidden. */
static void refuse(unsigned call, int error, void (*fn)(struct refusal *refusal),
                   struct weiri_lock_file *file)
{
    test_join(test_start(run_refused, &(struct refusal){call, error, fn, file}));
}

static struct weiri_lock_file open_lock(void)
{
    struct weiri_lock_file file;
    CHECK_INT(weiri_lock_file_open(&file, "lock"), ==, 0);
    return file;
}

/* Whether the lock of an open file is held. */
static bool is_locked(int fd)
{
    bool is_free = flock(fd, LOCK_EX | LOCK_NB) == 0;
    CHECK(is_free || errno == EWOULDBLOCK);
    CHECK_INT(is_free ? flock(fd, LOCK_UN) : 0, ==, 0);
    return !is_free;
}

static int open_again(void)
{
    int fd = open("lock", O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0);
    return fd;
}

/* Writes a text, and puts it in place. */
static int publish(const char *text)
{
    int fd = -1;
    int error = weiri_file_make_private("temporary", &fd);
    if (error == 0) {
        CHECK_INT(write(fd, text, strlen(text)), ==, (ssize_t)strlen(text));
        error = weiri_file_put_in_place(fd, "temporary", "new");
        CHECK_INT(close(fd), ==, 0);
    }
    return error;
}

static void make_private_file(struct refusal *refusal)
{
    int fd = -1;
    bool is_new = false;
    CHECK_INT(weiri_file_open_private("new", &fd, &is_new), ==, refusal->error);
    CHECK(fd == -1 && !is_new);
    CHECK_INT(publish("text"), ==, refusal->error);
    CHECK_INT(access("temporary", F_OK), ==, -1);
    CHECK_INT(access("new", F_OK), ==, -1);
}

TEST(mode, "a file that cannot be made private is not made")
{
    refuse(SYS_fchmod, EPERM, make_private_file, NULL);
}

static void open_private_file(struct refusal *refusal)
{
    int fd = -1;
    bool is_new = false;
    CHECK_INT(weiri_file_open_private("there", &fd, &is_new), ==, refusal->error);
    CHECK(fd == -1 && !is_new);
}

/* Whichever of the two calls fstat() makes. */
static void open_private_file_without_fstat(struct refusal *refusal)
{
    test_forbid_call(SYS_fstat, SECCOMP_RET_ERRNO | (unsigned)refusal->error);
    open_private_file(refusal);
}

TEST(facts, "a file is not opened if fstat() fails")
{
    int fd = open("there", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    CHECK_INT(close(fd), ==, 0);
    refuse(SYS_newfstatat, EIO, open_private_file_without_fstat, NULL);
}

static void publish_twice(struct refusal *refusal)
{
    (void)refusal;
    CHECK_INT(publish("one"), ==, 0);
    CHECK_INT(publish("two"), ==, EEXIST);
    CHECK_INT(unlink("temporary"), ==, 0);
    char bytes[4] = "";
    int fd = open("new", O_RDONLY | O_CLOEXEC);
    CHECK_INT(read(fd, bytes, 4), ==, 3);
    CHECK_INT(close(fd), ==, 0);
    CHECK_STRING(bytes, "one");
}

TEST(old_rename, "where the system cannot rename only to a new name, that is checked before")
{
    refuse(SYS_renameat2, EINVAL, publish_twice, NULL);
    CHECK_INT(unlink("new"), ==, 0);
    refuse(SYS_renameat2, ENOSYS, publish_twice, NULL);
}

static void run_without_folders(void *opaque)
{
    struct refusal *refusal = opaque;
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 2),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_DIRECTORY, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)refusal->error),
    };
    test_filter_calls(filter, sizeof(filter) / sizeof(filter[0]));
    CHECK_INT(publish("text"), ==, refusal->error);
    CHECK_INT(access("temporary", F_OK), ==, -1);
    CHECK_INT(access("new", F_OK), ==, -1);
}

TEST(folder, "a file is removed again if its name cannot be made durable")
{
    test_join(test_start(run_without_folders, &(struct refusal){.error = EACCES}));
}

static void is_remote(struct refusal *refusal)
{
    (void)refusal;
    CHECK(!weiri_file_is_remote("."));
}

TEST(file_system, "a folder on an unknown file system counts as a local one")
{
    refuse(SYS_statfs, ENOSYS, is_remote, NULL);
}

static void open_new_lock(struct refusal *refusal)
{
    struct weiri_lock_file file;
    CHECK_INT(weiri_lock_file_open(&file, "lock"), ==, refusal->error);
    CHECK_INT(access("lock", F_OK), ==, -1);
}

TEST(lock_file_content, "a lock file is not made if its content cannot be written")
{
    refuse(SYS_pwrite64, ENOSPC, open_new_lock, NULL);
}

/* Maps of files only: the sanitizers make others. */
static void run_without_maps(void *opaque)
{
    struct refusal *refusal = opaque;
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 2),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[4])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, UINT32_MAX, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)refusal->error),
    };
    test_filter_calls(filter, sizeof(filter) / sizeof(filter[0]));
    open_new_lock(refusal);
}

TEST(lock_file_map, "nor is one that cannot be mapped")
{
    test_join(test_start(run_without_maps, &(struct refusal){.error = ENOMEM}));
}

static void lock(struct refusal *refusal)
{
    CHECK_INT(weiri_lock_file_lock(refusal->file, FOREVER), ==, refusal->error);
}

TEST(lock_refused, "a lock that the system refuses is not held, and can be had later")
{
    struct weiri_lock_file file = open_lock();
    int again = open_again();
    refuse(SYS_flock, ENOLCK, lock, &file);
    CHECK(!is_locked(again));
    CHECK_INT(weiri_lock_file_lock(&file, FOREVER), ==, 0);
    CHECK(is_locked(again));
    weiri_lock_file_close(&file);
    CHECK_INT(close(again), ==, 0);
}

TEST(replacement_refused, "nor is one if its file was removed and cannot be replaced yet")
{
    struct weiri_lock_file file = open_lock();
    int old = open_again();
    CHECK_INT(unlink("lock"), ==, 0);
    refuse(SYS_mremap, ENOMEM, lock, &file);
    CHECK(!is_locked(old));
    refuse(SYS_dup3, EMFILE, lock, &file);
    CHECK(!is_locked(old));
    int new = open_again();
    CHECK(!is_locked(new));
    CHECK_INT(weiri_lock_file_lock(&file, FOREVER), ==, 0);
    CHECK(is_locked(new) && !is_locked(old));
    struct stat facts;
    CHECK(weiri_file_is_at(file.fd, "lock", &facts));
    weiri_lock_file_close(&file);
    CHECK_INT(close(old), ==, 0);
    CHECK_INT(close(new), ==, 0);
}

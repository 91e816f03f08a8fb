/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A read-only broker changes nothing, whichever other processes open and close the store meanwhile.
 */
#define _GNU_SOURCE /* unshare */

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jobs/sqlite/body.h"
#include "jobs/sqlite/store.h"
#include "support/jobs.h"
#include "support/small_disk.h"

static struct jobs_wall wall = {JOBS_WALL_START};

static void make_store(void)
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    (void)jobs_put(broker, "t", "x", NULL);
    weir_broker_close(broker);
    jobs_store_fold("jobs.db");
    CHECK_INT(access("jobs.db-wal", F_OK), ==, -1);
}

static weir_broker *open_read_only(void)
{
    weir_broker *broker = NULL;
    CHECK_STATUS(jobs_store_try_open("jobs.db", &wall, WEIR_BROKER_READ_ONLY, &broker, NULL),
                 WEIR_OK);
    return broker;
}

/* The checksum of a file's content. */
static uint64_t content(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat facts;
    CHECK_INT(fstat(fd, &facts), ==, 0);
    char *bytes = malloc((size_t)facts.st_size + 1);
    CHECK_INT(read(fd, bytes, (size_t)facts.st_size + 1), ==, facts.st_size);
    uint64_t sum = weiri_checksum(bytes, (size_t)facts.st_size);
    free(bytes);
    (void)close(fd);
    return sum;
}

static int count_call(const struct weir_job *job, void *arg)
{
    weir_broker *broker = arg;
    (void)job;
    /* A second reader, since the first is in use. */
    CHECK_COUNTS(broker, "t", 0, 1, 0, 0);
    return 0;
}

TEST(alone, "a read of a store that is not in use leaves no file beside it")
{
    make_store();
    uint64_t before = content("jobs.db");
    weir_broker *broker = open_read_only();
    CHECK_STATUS(weir_broker_peek(broker, "t", 0, 10, count_call, broker, NULL), WEIR_OK);
    weir_broker_close(broker);
    CHECK_INT(access("jobs.db-wal", F_OK), ==, -1);
    CHECK_INT(access("jobs.db-shm", F_OK), ==, -1);
    CHECK(content("jobs.db") == before);
    /* Nor if the store has no lock file; none is made. */
    CHECK_INT(unlink("jobs.db.lock"), ==, 0);
    broker = open_read_only();
    weir_broker_close(broker);
    CHECK_INT(access("jobs.db-wal", F_OK), ==, -1);
    CHECK_INT(access("jobs.db.lock", F_OK), ==, -1);
}

TEST(last, "one that closes last folds nothing that others wrote")
{
    make_store();
    weir_broker *reader = open_read_only();
    weir_broker *writer = jobs_store_open("jobs.db", &wall);
    (void)jobs_put(writer, "t", "y", NULL);
    weir_broker_close(writer);
    uint64_t before = content("jobs.db");
    uint64_t log_before = content("jobs.db-wal");
    weir_broker_close(reader);
    CHECK(content("jobs.db") == before);
    CHECK(content("jobs.db-wal") == log_before);
    writer = jobs_store_open("jobs.db", &wall);
    CHECK_COUNTS(writer, "t", 0, 2, 0, 0);
    weir_broker_close(writer);
}

TEST(busy, "one that closes while another holds the lock takes nothing away")
{
    make_store();
    weir_broker *reader = open_read_only();
    struct weiri_lock_file other;
    CHECK_INT(weiri_lock_file_open(&other, "jobs.db.lock"), ==, 0);
    CHECK_INT(weiri_lock_file_lock(&other, INT64_MAX), ==, 0);
    weir_broker_close(reader);
    CHECK_INT(access("jobs.db-wal", F_OK), ==, 0);
    weiri_lock_file_unlock(&other);
    weiri_lock_file_close(&other);
}

static int count_job(const struct weir_job *job, void *arg)
{
    (void)arg;
    CHECK_INT(job->body_size, ==, 1);
    return 0;
}

static void expect_counts(weir_broker *broker, int ready)
{
    CHECK_COUNTS(broker, "t", 0, ready, 0, 0);
    CHECK_STATUS(weir_broker_peek(broker, "t", 0, 10, count_job, NULL, NULL), WEIR_OK);
}

TEST(mount, "a store on a read-only mount can be looked at, also one that was in use")
{
    small_disk_mount((size_t)4 << 20);
    weir_broker *broker = jobs_store_open("disk/a%20b.db", &wall);
    (void)jobs_put(broker, "t", "x", NULL);
    weir_broker_close(broker);
    small_disk_protect(true);
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(
            jobs_store_try_open("disk/a%20b.db", &wall, WEIR_BROKER_READ_ONLY, &broker, NULL),
            WEIR_OK);
        expect_counts(broker, 1);
        weir_broker_close(broker);
    }
    small_disk_protect(false);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        broker = jobs_store_open("disk/a%20b.db", &wall);
        (void)jobs_put(broker, "t", "y", NULL);
        _exit(0);
    }
    CHECK_INT(waitpid(child, NULL, 0), ==, child);
    small_disk_protect(true);
    CHECK_STATUS(jobs_store_try_open("disk/a%20b.db", &wall, WEIR_BROKER_READ_ONLY, &broker, NULL),
                 WEIR_OK);
    expect_counts(broker, 2);
    weir_broker_close(broker);
    small_disk_protect(false);
}

static void write_file(const char *path, const char *byte, size_t count)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    for (size_t i = 0; i < count; i++) {
        CHECK_INT(write(fd, byte, 1), ==, 1);
    }
    (void)close(fd);
}

/* Nothing more can be written to the disk. */
static void fill_disk(void)
{
    static const char bytes[4096];
    int fd = open("disk/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    while (write(fd, bytes, sizeof(bytes)) > 0) {
    }
    (void)close(fd);
}

/* Puts a job by a process that is killed, so that its log and the log's index stay. */
static void put_and_die(const char *path)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        weir_broker *broker = jobs_store_open(path, &wall);
        (void)jobs_put(broker, "t", "y", NULL);
        _exit(0);
    }
    CHECK_INT(waitpid(child, NULL, 0), ==, child);
}

static void expect_look(const char *path, int ready)
{
    weir_broker *broker;
    struct weir_error error = {0};
    if (jobs_store_try_open(path, &wall, WEIR_BROKER_READ_ONLY, &broker, &error) != WEIR_OK) {
        test_fail(__FILE__, __LINE__, "%s", error.text);
    }
    expect_counts(broker, ready);
    weir_broker_close(broker);
}

/* How the log's index is left: as it was, gone, empty, or of random bytes. */
enum index {
    INDEX_LEFT,
    INDEX_GONE,
    INDEX_EMPTY,
    INDEX_RANDOM
};

TEST(mounted_alone, "a store that is mounted without its folder is refused, and nothing is made")
{
    small_disk_mount((size_t)4 << 20);
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    weir_broker_close(broker);
    write_file("disk/app.db", "", 0);
    CHECK_INT(mount("jobs.db", "disk/app.db", NULL, MS_BIND, NULL), ==, 0);
    static const uint32_t flags[] = {0, WEIR_BROKER_READ_ONLY};
    for (int i = 0; i < 2; i++) {
        struct weir_error error;
        CHECK_STATUS(jobs_store_try_open("disk/app.db", &wall, flags[i], &broker, &error),
                     WEIR_ENOTSUP);
        CHECK(strstr(error.text, "mount its folder") != NULL);
        CHECK_INT(access("disk/app.db.lock", F_OK), ==, -1);
    }
}

static void leave_index(const char *path, enum index index)
{
    if (index == INDEX_GONE) {
        CHECK_INT(unlink(path), ==, 0);
    } else if (index != INDEX_LEFT) {
        write_file(path, "\xa5", index == INDEX_EMPTY ? 0 : 32768);
    }
}

TEST(full, "a store on a full disk can be looked at, in use before or not, with its log")
{
    small_disk_mount((size_t)4 << 20);
    weir_broker *broker = jobs_store_open("disk/jobs.db", &wall);
    (void)jobs_put(broker, "t", "x", NULL);
    weir_broker_close(broker);
    jobs_store_fold("disk/jobs.db");
    fill_disk();
    for (int i = 0; i < 2; i++) {
        expect_look("disk/jobs.db", 1);
        struct stat index;
        CHECK_INT(stat("disk/jobs.db-shm", &index), ==, 0);
        CHECK_INT(index.st_size, <, 4096);
        CHECK_INT(index.st_mode & 0777, ==, 0600);
    }
    for (enum index index = INDEX_LEFT; index <= INDEX_RANDOM; index++) {
        CHECK_INT(unlink("disk/filler"), ==, 0);
        put_and_die("disk/jobs.db");
        leave_index("disk/jobs.db-shm", index);
        fill_disk();
        for (int i = 0; i < 2; i++) {
            expect_look("disk/jobs.db", (int)index + 2);
        }
    }
    weir_broker *reader;
    CHECK_STATUS(jobs_store_try_open("disk/jobs.db", &wall, WEIR_BROKER_READ_ONLY, &reader, NULL),
                 WEIR_OK);
    expect_counts(reader, 5);
    CHECK_INT(unlink("disk/filler"), ==, 0);
    broker = jobs_store_open("disk/jobs.db", &wall);
    (void)jobs_put(broker, "t", "z", NULL);
    expect_counts(reader, 6);
    weir_broker_close(reader);
    expect_counts(broker, 6);
    weir_broker_close(broker);
}

TEST(protected_log,
     "on a read-only mount a log is read with any index; without one, it is said why")
{
    small_disk_mount((size_t)4 << 20);
    for (enum index index = INDEX_LEFT; index <= INDEX_RANDOM; index++) {
        put_and_die("disk/jobs.db");
        leave_index("disk/jobs.db-shm", index);
        small_disk_protect(true);
        if (index == INDEX_GONE) {
            weir_broker *broker;
            struct weir_error error = {0};
            CHECK_STATUS(
                jobs_store_try_open("disk/jobs.db", &wall, WEIR_BROKER_READ_ONLY, &broker, &error),
                WEIR_EACCESS);
            CHECK(strstr(error.text, "jobs.db-shm, the index of its log, cannot be made") != NULL);
        } else {
            expect_look("disk/jobs.db", (int)index + 1);
        }
        small_disk_protect(false);
    }
}

/* Looks at a store in a folder that may not be written, before, while and after it is in use. */
static void look_without_permission(void)
{
    CHECK_INT(mkdir("closed", 0700), ==, 0);
    weir_broker *writer = jobs_store_open("closed/jobs.db", &wall);
    (void)jobs_put(writer, "t", "x", NULL);
    weir_broker_close(writer);
    CHECK_INT(chmod("closed", 0500), ==, 0);
    weir_broker *reader;
    CHECK_STATUS(jobs_store_try_open("closed/jobs.db", &wall, WEIR_BROKER_READ_ONLY, &reader, NULL),
                 WEIR_OK);
    expect_counts(reader, 1);
    CHECK_INT(chmod("closed", 0700), ==, 0);
    writer = jobs_store_open("closed/jobs.db", &wall);
    (void)jobs_put(writer, "t", "x", NULL);
    CHECK_INT(chmod("closed", 0500), ==, 0);
    expect_counts(reader, 2);
    CHECK_INT(chmod("closed", 0700), ==, 0);
    (void)jobs_put(writer, "t", "x", NULL);
    weir_broker_close(writer);
    CHECK_INT(chmod("closed", 0500), ==, 0);
    expect_counts(reader, 3);
    weir_broker_close(reader);
    CHECK_INT(chmod("closed", 0700), ==, 0);
}

TEST(folder, "a store in a folder without permission to write can be looked at")
{
    if (geteuid() == 0) {
        CHECK_INT(chown(".", 65534, 65534), ==, 0);
    }
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) {
            _exit(3);
        }
        look_without_permission();
        _exit(0);
    }
    int status;
    CHECK_INT(waitpid(child, &status, 0), ==, child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

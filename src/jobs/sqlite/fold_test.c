/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Who copies the log into the file: an open that finds nobody else, and a long log, before its own
 * commit; and the close of who has run jobs, if he is alone. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jobs/sqlite/store.h"
#include "support/faulty_vfs.h"
#include "support/jobs.h"
#include "support/sanitizer.h"
#include "support/store_query.h"

static struct jobs_wall wall = {JOBS_WALL_START};

/* What the processes of a test did. */
static struct {
    int syncs;
    int pages; /* in the log after the last commit */
    int most;  /* ever */
} * seen;

static void note(enum fault_kind kind, bool is_log, sqlite3_int64 offset, const void *bytes,
                 int size)
{
    (void)is_log;
    (void)offset;
    (void)bytes;
    (void)size;
    seen->syncs += kind == FAULT_SYNC;
}

/* Waits for a process. Whether it was killed; else all went well in it. */
static bool is_killed(pid_t child)
{
    int status;
    CHECK_INT(waitpid(child, &status, 0), ==, child);
    CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

/* A process that puts so many jobs, and closes the store. */
static void put(int count)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        weir_broker *broker = jobs_store_open("jobs.db", &wall);
        for (int i = 0; i < count; i++) {
            (void)jobs_put(broker, "t", "x", NULL);
        }
        seen->pages = ((struct weiri_store *)broker->store)->wal_pages;
        seen->most = seen->pages > seen->most ? seen->pages : seen->most;
        weir_broker_close(broker);
        _exit(0);
    }
    CHECK(!is_killed(child));
}

static void begin(void)
{
    seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(seen != MAP_FAILED);
    fault_install();
    fault.watch = note;
}

static void finish(int jobs)
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    CHECK_COUNTS(broker, "t", 0, jobs, 0, 0);
    weir_broker_close(broker);
    CHECK_INT(munmap(seen, sizeof(*seen)), ==, 0);
}

static off_t size_of(const char *path)
{
    struct stat facts;
    CHECK_INT(stat(path, &facts), ==, 0);
    return facts.st_size;
}

TEST(loop, "a process for each of 900 puts: a short log, and little more than a flush a put")
{
    int first = 0;
    int puts = TEST_TSAN || TEST_ASAN ? 300 : 900; /* a log is folded after some 170 */
    begin();
    for (int i = 0; i < puts; i++) {
        put(1);
        first = i < 100 ? seen->syncs : first;
    }
    CHECK_INT(first, <=, 105);
    CHECK_INT(seen->syncs, <=, puts + 30);
    CHECK_INT(seen->most, >, 500);
    CHECK_INT(seen->most, <=, 510);
    CHECK_INT(size_of("jobs.db-wal"), <=, 32 + 572 * 4120);
    finish(puts);
}

TEST(closed, "the close of who has only put leaves the log, and the file as it was; the next open "
             "has all")
{
    begin();
    put(1);
    off_t before = size_of("jobs.db");
    put(300);
    CHECK_INT(seen->pages, >, 600);
    CHECK_INT(size_of("jobs.db-wal"), >, seen->pages * 4096);
    CHECK_INT(size_of("jobs.db"), >=, before);
    finish(301);
}

enum at_close {
    NOTHING,
    OTHER_HAS_LOCK,
    SYNC_FAILS
};

/* A process that runs a job, and closes the store. */
static void run_one(enum at_close at_close)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        int lock;
        weir_broker *broker = jobs_store_open("jobs.db", &wall);
        struct weiri_reservation *job = jobs_reserve_one(broker, "t");
        CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
        jobs_free_one(broker, job);
        if (at_close == OTHER_HAS_LOCK) {
            CHECK_INT(weiri_lock_file_try("jobs.db.lock", &lock), ==, 0);
        } else if (at_close == SYNC_FAILS) {
            fault_arm(FAULT_SYNC, 0, false, SQLITE_IOERR_FSYNC);
        }
        weir_broker_close(broker);
        CHECK_INT(fault.failed, ==, at_close == SYNC_FAILS);
        _exit(0);
    }
    CHECK(!is_killed(child));
}

TEST(consumed,
     "who has run jobs leaves one file, but beside others, while another has the lock, or "
     "where the fold fails")
{
    struct weiri_lock_file other; /* an open of another process */
    begin();
    put(5);
    CHECK_INT(weiri_lock_file_open(&other, "jobs.db.lock"), ==, 0);
    CHECK_INT(weiri_lock_file_lock(&other, INT64_MAX), ==, 0);
    weiri_lock_file_unlock(&other);
    run_one(NOTHING);
    CHECK_INT(size_of("jobs.db-wal"), >, 0);
    weiri_lock_file_close(&other);
    run_one(OTHER_HAS_LOCK);
    CHECK_INT(size_of("jobs.db-wal"), >, 0);
    run_one(SYNC_FAILS);
    CHECK_INT(size_of("jobs.db-wal"), >, 0);
    run_one(NOTHING);
    CHECK_INT(access("jobs.db-wal", F_OK), ==, -1);
    CHECK_INT(access("jobs.db-shm", F_OK), ==, -1);
    CHECK_INT(rename("jobs.db", "copy.db"), ==, 0);
    jobs_store_remove("jobs.db");
    CHECK_INT(rename("copy.db", "jobs.db"), ==, 0);
    finish(1);
}

TEST(alone, "a long log is begun anew by the next commit of who is alone, and not beside others")
{
    struct weiri_lock_file other; /* an open of another process */
    begin();
    put(300);
    off_t size = size_of("jobs.db-wal");
    CHECK_INT(weiri_lock_file_open(&other, "jobs.db.lock"), ==, 0);
    CHECK_INT(weiri_lock_file_lock(&other, INT64_MAX), ==, 0);
    weiri_lock_file_unlock(&other);
    int pages = seen->pages;
    put(1);
    CHECK_INT(seen->pages, >, pages);
    weiri_lock_file_close(&other);
    put(0); /* folds it, and commits nothing */
    put(1);
    CHECK_INT(seen->pages, <, 20);
    put(200);
    CHECK_INT(size_of("jobs.db-wal"), <=, size + 62 * 4120);
    finish(502);
}

TEST(failing, "an open whose fold fails for good says why, and has lost nothing")
{
    begin();
    put(300);
    for (int nth = 0; nth < 2; nth++) {
        weir_broker *broker;
        struct weir_error error = {0};
        fault_arm(FAULT_SYNC, nth, false, SQLITE_IOERR_FSYNC);
        CHECK_STATUS(jobs_store_try_open("jobs.db", &wall, 0, &broker, &error), WEIR_EIO);
        CHECK_INT(fault.failed, ==, 1);
        CHECK(strstr(error.text, "jobs.db") != NULL);
        fault_disarm();
    }
    finish(300);
}

/* Opens the store in a process that is killed at its nth write, if it comes to that. */
static bool open_killed_at(int nth)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        fault_arm(FAULT_WRITE | FAULT_SYNC | FAULT_TRUNCATE, nth, false, SQLITE_IOERR);
        fault.is_deadly = true;
        weir_broker_close(jobs_store_open("jobs.db", &wall));
        _exit(0);
    }
    return is_killed(child);
}

TEST(killed, "an open that is killed at any write of its fold has lost nothing")
{
    int nth = 0;
    begin();
    put(300);
    for (; open_killed_at(nth); nth++) {
        weir_broker *broker = jobs_store_open("jobs.db", &wall);
        CHECK_COUNTS(broker, "t", 0, 300, 0, 0);
        CHECK_INT(query(broker, "SELECT integrity_check = 'ok' FROM pragma_integrity_check"), ==,
                  1);
        weir_broker_close(broker);
    }
    CHECK_INT(nth, >, 10);
    put(1);
    CHECK_INT(seen->pages, <, 20);
    finish(301);
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Logs that belong to another store or another time, or are gone. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jobs/sqlite/store.h"
#include "support/copy_file.h"
#include "support/jobs.h"

static struct jobs_wall wall = {JOBS_WALL_START};

static void expect_exit(pid_t child)
{
    int status;
    CHECK_INT(waitpid(child, &status, 0), ==, child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* A process that puts jobs and is killed with the store open. pages: checkpoints in between. */
static void put_and_die(const char *path, int count, int pages)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        weir_broker *broker = jobs_store_open(path, &wall);
        struct weiri_store *store = broker->store;
        store->checkpoint_pages = pages;
        store->checkpoint_at = pages;
        for (int i = 0; i < count; i++) {
            (void)jobs_put(broker, "t", "x", NULL);
        }
        _exit(0);
    }
    expect_exit(child);
}

static void make_store(const char *path)
{
    weir_broker *broker = jobs_store_open(path, &wall);
    (void)jobs_put(broker, "t", "first", NULL);
    weir_broker_close(broker);
    jobs_store_fold(path);
}

/* Refused in every way, and the store is as it was. */
static void expect_refusal(const char *says)
{
    static const uint32_t flags[] = {0, WEIR_BROKER_EXISTING, WEIR_BROKER_READ_ONLY};
    copy_file("jobs.db", "before");
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        weir_broker *broker;
        struct weir_error error = {0};
        CHECK_STATUS(jobs_store_try_open("jobs.db", &wall, flags[i], &broker, &error),
                     WEIR_ECORRUPT);
        CHECK(strstr(error.text, says) != NULL);
    }
    CHECK_INT(system("cmp -s jobs.db before"), ==, 0);
}

static void expect_jobs(int count)
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    CHECK_COUNTS(broker, "t", 0, count, 0, 0);
    weir_broker_close(broker);
    jobs_store_fold("jobs.db");
}

TEST(of_another_store, "the log of another store is refused, and its own is accepted")
{
    make_store("jobs.db");
    make_store("other.db");
    put_and_die("jobs.db", 3, 4000);
    put_and_die("other.db", 2, 4000);
    copy_file("jobs.db-wal", "own");
    copy_file("other.db-wal", "jobs.db-wal");
    CHECK_INT(unlink("jobs.db-shm"), ==, 0);
    expect_refusal("belongs to another store");
    copy_file("own", "jobs.db-wal");
    expect_jobs(4);
}

TEST(of_another_time, "a backup beside a log that is newer or older than it is refused")
{
    make_store("jobs.db");
    copy_file("jobs.db", "backup");
    for (int i = 0; i < 3; i++) {
        weir_broker *broker = jobs_store_open("jobs.db", &wall);
        (void)jobs_put(broker, "t", "x", NULL);
        weir_broker_close(broker);
        jobs_store_fold("jobs.db");
    }
    put_and_die("jobs.db", 1, 4000);
    copy_file("jobs.db", "newer");
    copy_file("jobs.db-wal", "newer-log");
    copy_file("backup", "jobs.db");
    expect_refusal("another time of this one");
    /* An old log, with a store that went on. */
    copy_file("newer", "jobs.db");
    expect_jobs(5);
    for (int i = 0; i < 9; i++) {
        weir_broker *broker = jobs_store_open("jobs.db", &wall);
        (void)jobs_put(broker, "t", "x", NULL);
        weir_broker_close(broker);
        jobs_store_fold("jobs.db");
    }
    copy_file("newer-log", "jobs.db-wal");
    expect_refusal("another time of this one");
    CHECK_INT(unlink("jobs.db-wal"), ==, 0);
    expect_jobs(14);
}

TEST(of_earlier_checkpoints, "a long log is refused beside the store that was checkpointed since")
{
    make_store("jobs.db");
    put_and_die("jobs.db", 100, 4000);
    copy_file("jobs.db-wal", "old-log");
    expect_jobs(101);
    for (int i = 0; i < 3; i++) {
        weir_broker *broker = jobs_store_open("jobs.db", &wall);
        (void)jobs_put(broker, "t", "x", NULL);
        weir_broker_close(broker);
        jobs_store_fold("jobs.db");
    }
    copy_file("old-log", "jobs.db-wal");
    expect_refusal("another time of this one");
    CHECK_INT(unlink("jobs.db-wal"), ==, 0);
    expect_jobs(104);
}

TEST(shrunk, "a copy from before a shrink is refused beside the log after it")
{
    make_store("jobs.db");
    copy_file("jobs.db", "backup");
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        weir_broker *broker = jobs_store_open("jobs.db", &wall);
        CHECK_STATUS(weir_broker_shrink(broker, NULL, NULL, NULL), WEIR_OK);
        (void)jobs_put(broker, "t", "x", NULL);
        _exit(0);
    }
    expect_exit(child);
    copy_file("backup", "jobs.db");
    expect_refusal("another time of this one");
}

TEST(missing, "a log that is missing after a crash is noticed, with the way to go on without it")
{
    make_store("jobs.db");
    put_and_die("jobs.db", 3, 4000);
    CHECK_INT(rename("jobs.db-wal", "kept"), ==, 0);
    CHECK_INT(unlink("jobs.db-shm"), ==, 0);
    expect_refusal("is missing, with commits of its own");
    CHECK_INT(rename("kept", "jobs.db-wal"), ==, 0);
    expect_jobs(4);
    put_and_die("jobs.db", 3, 4000);
    CHECK_INT(unlink("jobs.db-wal"), ==, 0);
    expect_refusal("remove ");
    CHECK_INT(unlink("jobs.db.lock"), ==, 0);
    expect_jobs(4);
}

/* Returns the stamp of the put. pages: as put_and_die() has them. */
static uint32_t put_once(weir_broker *broker, int pages)
{
    struct weiri_store *store = broker->store;
    store->checkpoint_pages = pages;
    store->checkpoint_at = pages;
    (void)jobs_put(broker, "t", "x", NULL);
    return store->stamp;
}

TEST(once, "the first commit of a log and the first after a checkpoint have a stamp of their own, "
           "and no other writes one")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    uint32_t first = put_once(broker, 4000);
    CHECK_INT(put_once(broker, 4000), ==, first);
    CHECK_INT(put_once(broker, 1), ==, first);
    CHECK_INT(put_once(broker, 4000), !=, first);
    weir_broker_close(broker);
}

/* A read transaction of another connection. */
static sqlite3 *start_reader(void)
{
    sqlite3 *reader;
    CHECK_INT(sqlite3_open("jobs.db", &reader), ==, SQLITE_OK);
    CHECK_INT(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM jobs", NULL, NULL, NULL), ==,
              SQLITE_OK);
    return reader;
}

/* A process puts so many jobs before a reader begins and after, with a checkpoint at the last of
 * these, then others, and is killed. The log is removed. */
static void lose_log(int before, int after, int others)
{
    make_store("jobs.db");
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        weir_broker *broker = jobs_store_open("jobs.db", &wall);
        for (int i = 0; i < before; i++) {
            (void)put_once(broker, 4000);
        }
        (void)start_reader();
        for (int i = 1; i < after; i++) {
            (void)put_once(broker, 4000);
        }
        (void)put_once(broker, 1);
        for (int i = 0; i < others; i++) {
            (void)put_once(broker, 4000);
        }
        _exit(0);
    }
    expect_exit(child);
    CHECK_INT(unlink("jobs.db-wal"), ==, 0);
    CHECK_INT(unlink("jobs.db-shm"), ==, 0);
}

TEST(written_on, "a log that is missing is noticed where it was folded in part and written on")
{
    lose_log(2, 1, 5);
    expect_refusal("is missing");
}

TEST(held_up, "a log that is missing is noticed where a reader held up its last checkpoint")
{
    lose_log(2, 3, 0);
    expect_refusal("is missing");
}

TEST(held_up_at_open, "and where a reader held up that of an open, which changed nothing else")
{
    make_store("jobs.db");
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        weir_broker *broker = jobs_store_open("jobs.db", &wall);
        for (int i = 0; i < 250; i++) {
            (void)put_once(broker, 4000);
        }
        (void)start_reader();
        (void)put_once(broker, 4000);
        weir_broker_close(broker);
        (void)jobs_store_open("jobs.db", &wall);
        _exit(0);
    }
    expect_exit(child);
    CHECK_INT(unlink("jobs.db-wal"), ==, 0);
    CHECK_INT(unlink("jobs.db-shm"), ==, 0);
    expect_refusal("is missing");
}

TEST(killed, "a store that was killed after any number of commits and checkpoints is accepted")
{
    make_store("jobs.db");
    int count = 1;
    for (int i = 0; i < 40; i++) {
        int puts = (int)test_random_below(20);
        put_and_die("jobs.db", puts, 5 + (int)test_random_below(40));
        count += puts;
        if (test_random_below(3) == 0) {
            expect_jobs(count);
        }
    }
    expect_jobs(count);
}

TEST(unchanged, "a reservation that finds nothing writes nothing")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    (void)jobs_put(broker, "t", "x", NULL);
    struct weiri_store *store = broker->store;
    uint32_t stamp = store->stamp;
    int pages = store->wal_pages;
    struct weiri_list list;
    (void)jobs_reserve(broker, "empty", 1, 25, &list);
    CHECK_INT(store->stamp, ==, stamp);
    CHECK_INT(store->wal_pages, ==, pages);
    weir_broker_close(broker);
}

static void fail_after_a_write(struct weiri_store *store, void *ignored)
{
    (void)ignored;
    weiri_sql_run(&store->writer, WEIRI_SQL_ADD_TUBE, WEIRI_VALUES("u"));
    weiri_sql_fail(&store->writer, SQLITE_TOOBIG);
}

TEST(failed, "a flush after a transaction that failed notes the commit before it, so that the log "
             "is not taken for one that lacks commits")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    (void)jobs_put(broker, "t", "x", NULL);
    struct weiri_store *store = broker->store;
    uint32_t stamp = store->stamp;
    CHECK_STATUS(weiri_commit(store, fail_after_a_write, NULL, NULL), WEIR_ETOOBIG);
    CHECK_INT(store->stamp, ==, stamp);
    weir_broker_close(broker);
}

TEST(noted_again, "the lock file has the stamp after each put, whatever was written there before")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weiri_store *store = broker->store;
    uint32_t stamp = put_once(broker, 4000);
    const uint32_t others[] = {0, stamp - 1, stamp + 1, UINT32_MAX};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        weiri_lock_file_note(&store->lock_file, others[i]);
        CHECK_INT(put_once(broker, 4000), ==, stamp);
        CHECK_INT(weiri_lock_file_noted(store->lock_file.fd), ==, stamp);
    }
    CHECK_INT(unlink("jobs.db.lock"), ==, 0);
    CHECK_INT(put_once(broker, 4000), ==, stamp);
    CHECK_INT(weiri_lock_file_noted(store->lock_file.fd), ==, stamp);
    CHECK_INT(truncate("jobs.db.lock", 10), ==, 0);
    CHECK_INT(put_once(broker, 4000), ==, stamp);
    CHECK_INT(weiri_lock_file_noted(store->lock_file.fd), ==, stamp);
    weir_broker_close(broker);
}

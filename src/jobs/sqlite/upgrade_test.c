/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Stores of earlier schemas are converted, whole or not at all. */
#include "jobs/sqlite/store.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weir/admin.h>

#include "jobs/sqlite/checksum.h"
#include "jobs/sqlite/schema.h"
#include "support/faulty_vfs.h"
#include "support/jobs.h"

static struct jobs_clocks clocks = {{JOBS_WALL_START}, {WEIR_SECONDS(1000)}};

/* A store of version 1 with jobs in each state; the leases end in 10 s, and ended long ago. */
static const char version_1[] =
    "PRAGMA journal_mode = WAL;"
    "CREATE TABLE tubes(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, "
    "delayed INTEGER NOT NULL DEFAULT 0, ready INTEGER NOT NULL DEFAULT 0, "
    "reserved INTEGER NOT NULL DEFAULT 0, buried INTEGER NOT NULL DEFAULT 0, "
    "put INTEGER NOT NULL DEFAULT 0, done INTEGER NOT NULL DEFAULT 0, "
    "retried INTEGER NOT NULL DEFAULT 0, expired INTEGER NOT NULL DEFAULT 0) STRICT;"
    "CREATE TABLE jobs(id INTEGER PRIMARY KEY AUTOINCREMENT, tube INTEGER NOT NULL, "
    "state INTEGER NOT NULL, priority INTEGER NOT NULL, run_at INTEGER NOT NULL, "
    "ttr INTEGER NOT NULL, attempts INTEGER NOT NULL, created INTEGER NOT NULL, "
    "lease INTEGER NOT NULL, token INTEGER NOT NULL, owner INTEGER NOT NULL, "
    "reason TEXT NOT NULL) STRICT;"
    "CREATE TABLE bodies(id INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, "
    "body BLOB NOT NULL) STRICT;"
    "CREATE INDEX jobs_delayed ON jobs(tube, run_at, state) WHERE state = 1;"
    "CREATE INDEX jobs_ready ON jobs(tube, priority, run_at) WHERE state = 2;"
    "CREATE INDEX jobs_reserved ON jobs(tube, lease) WHERE state = 3;"
    "CREATE INDEX jobs_buried ON jobs(tube) WHERE state = 4;"
    "INSERT INTO tubes VALUES(1, 't', 1, 1, 2, 1, 9, 4, 3, 2);"
    "INSERT INTO jobs VALUES(1, 1, 1, 0, 1880000000000000000, 60000000000, 0, 1, 0, 0, 0, '');"
    "INSERT INTO jobs VALUES(2, 1, 2, 0, 2, 60000000000, 0, 2, 0, 0, 0, '');"
    "INSERT INTO jobs VALUES(3, 1, 3, 0, 3, 60000000000, 1, 3, 1780000010000000000, 1, 7, '');"
    "INSERT INTO jobs VALUES(4, 1, 3, 0, 4, 60000000000, 1, 4, 1700000000000000000, 1, 7, '');"
    "INSERT INTO jobs VALUES(5, 1, 4, 0, 5, 60000000000, 3, 5, 0, 3, 0, 'why');"
    "INSERT INTO bodies SELECT id, 0, x'' FROM jobs;"
    "PRAGMA application_id = 0x77656972; PRAGMA user_version = 1;";

static void remove_files(void)
{
    static const char *const files[] = {"jobs.db", "jobs.db-wal", "jobs.db-shm", "jobs.db-journal",
                                        "jobs.db.lock"};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        (void)unlink(files[i]);
    }
}

static void make_version_1(void)
{
    remove_files();
    sqlite3 *db;
    CHECK_INT(sqlite3_open("jobs.db", &db), ==, SQLITE_OK);
    CHECK_INT(sqlite3_exec(db, version_1, NULL, NULL, NULL), ==, SQLITE_OK);
    char sql[80];
    (void)snprintf(sql, sizeof(sql), "UPDATE bodies SET checksum = %lld",
                   (long long)weiri_checksum("", 0));
    CHECK_INT(sqlite3_exec(db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
    CHECK_INT(sqlite3_close(db), ==, SQLITE_OK);
}

static int note_reason(const struct weir_job *job, void *arg)
{
    (void)arg;
    CHECK_STRING(job->reason, "why");
    CHECK_INT(job->attempts, ==, 3);
    return 0;
}

static int expect_end(const struct weir_job *job, void *arg)
{
    (void)arg;
    CHECK_INT(job->state, ==, WEIR_JOB_RESERVED);
    CHECK_INT(job->reserved_until_ns, ==, 1780000010000000000);
    return 0;
}

static int count_attempt(const struct weir_attempt *attempt, void *arg)
{
    CHECK_INT(attempt->number, ==, ++*(int *)arg);
    return 0;
}

/* Opens a store that may have been converted, and finds all that version 1 had. */
static void expect_converted(void)
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    CHECK_COUNTS(broker, "t", 1, 1, 2, 1);
    struct weir_tube_counts counts = jobs_counts(broker, "t");
    CHECK_INT(counts.put, ==, 9);
    CHECK_INT(counts.expired, ==, 2);
    CHECK_STATUS(weir_broker_peek_id(broker, "5", note_reason, NULL, NULL), WEIR_OK);
    CHECK_STATUS(weir_broker_peek_id(broker, "3", expect_end, NULL, NULL), WEIR_OK);
    CHECK_INT(jobs_put(broker, "t", "new", NULL), ==, 6);
    CHECK_STATUS(weir_broker_pause(broker, "t", WEIR_SECONDS(1), NULL), WEIR_OK);
    CHECK_INT(jobs_counts(broker, "t").paused_until_ns, ==, JOBS_WALL_START + WEIR_SECONDS(1));
    CHECK_STATUS(weir_broker_resume(broker, "t", NULL), WEIR_OK);
    int attempts = 0;
    CHECK_STATUS(weir_broker_attempts(broker, "5", count_attempt, &attempts, NULL), WEIR_OK);
    CHECK_INT(attempts, ==, 0);
    weir_broker_close(broker);
}

TEST(converted, "a store of version 1 is converted, and what is left of its leases stays")
{
    make_version_1();
    expect_converted();
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    /* The lease that had ended. */
    struct weiri_list list;
    (void)jobs_reserve(broker, "t", 10, 1000, &list);
    jobs_free(broker, &list);
    CHECK_INT(jobs_counts(broker, "t").expired, ==, 3);
    jobs_wall_step(&clocks.lease, WEIR_SECONDS(9));
    (void)jobs_reserve(broker, "t", 10, 1000, &list);
    jobs_free(broker, &list);
    CHECK_INT(jobs_counts(broker, "t").expired, ==, 3);
    jobs_wall_step(&clocks.lease, WEIR_SECONDS(1));
    (void)jobs_reserve(broker, "t", 10, 1000, &list);
    jobs_free(broker, &list);
    CHECK_INT(jobs_counts(broker, "t").expired, ==, 4);
    weir_broker_close(broker);
}

TEST(in_use, "a store of version 1 is read but not converted while a process uses it")
{
    make_version_1();
    sqlite3 *db;
    CHECK_INT(sqlite3_open("jobs.db", &db), ==, SQLITE_OK);
    CHECK_INT(sqlite3_exec(db, "SELECT * FROM jobs", NULL, NULL, NULL), ==, SQLITE_OK);
    struct weir_broker_options options = WEIR_BROKER_OPTIONS_INIT;
    options.busy_ns = WEIR_MS(1);
    weir_broker *broker;
    struct weir_error error;
    CHECK_STATUS(weir_broker_open("sqlite:jobs.db", &options, &broker, &error), WEIR_ETIMEDOUT);
    CHECK(strstr(error.text, "of an earlier version and in use") != NULL);
    options.flags = WEIR_BROKER_READ_ONLY;
    CHECK_STATUS(weir_broker_open("sqlite:jobs.db", &options, &broker, &error), WEIR_OK);
    CHECK_COUNTS(broker, "t", 1, 1, 2, 1);
    CHECK_STATUS(weir_broker_peek_id(broker, "3", expect_end, NULL, NULL), WEIR_OK);
    weir_broker_close(broker);
    CHECK_INT(sqlite3_exec(db,
                           "INSERT INTO jobs SELECT 9, tube, state, priority, run_at, ttr, "
                           "attempts, created, lease, token, owner, reason FROM jobs WHERE "
                           "id = 1; DELETE FROM jobs WHERE id = 9; "
                           "UPDATE sqlite_sequence SET seq = 5",
                           NULL, NULL, NULL),
              ==, SQLITE_OK);
    CHECK_INT(sqlite3_close(db), ==, SQLITE_OK);
    expect_converted();
}

/* A store of version 2 with a job that failed once, and its log, if that is to stay. */
static void make_version_2(bool has_log)
{
    remove_files();
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    struct weiri_store *store = broker->store;
    sqlite3 *reader = NULL;
    (void)jobs_put(broker, "t", "x", NULL);
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_RELEASE, 0, "once"), WEIR_OK);
    jobs_free_one(broker, job);
    CHECK_INT(sqlite3_exec(store->writer.db, JOBS_TABLES_2, NULL, NULL, NULL), ==, SQLITE_OK);
    int user_version = 0;
    CHECK_INT(weiri_schema_read_user_version(store->writer.db, &user_version), ==, SQLITE_OK);
    char sql[64];
    (void)snprintf(sql, sizeof(sql), "PRAGMA user_version = %d",
                   weiri_schema_user_version(2, weiri_schema_stamp_of(user_version)));
    CHECK_INT(sqlite3_exec(store->writer.db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
    if (has_log) {
        /* Another connection keeps the log from being removed. */
        CHECK_INT(sqlite3_open("jobs.db", &reader), ==, SQLITE_OK);
        CHECK_INT(sqlite3_exec(reader, "SELECT * FROM jobs", NULL, NULL, NULL), ==, SQLITE_OK);
        (void)sqlite3_db_config(reader, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    }
    weir_broker_close(broker);
    (void)sqlite3_close(reader);
}

static int expect_failed_once(const struct weir_job *job, void *arg)
{
    (void)arg;
    CHECK_STRING(job->reason, "once");
    CHECK_INT(job->attempts, ==, 1);
    return 0;
}

/* Opens a store that may have been converted, twice, and finds all that version 2 had. */
static void expect_converted_2(void)
{
    weir_broker *broker;
    for (int i = 0; i < 2; i++) {
        broker = jobs_store_open_on("jobs.db", &clocks, "a");
        CHECK_COUNTS(broker, "t", 0, 1, 0, 0);
        CHECK_STATUS(weir_broker_peek_id(broker, "1", expect_failed_once, NULL, NULL), WEIR_OK);
        weir_broker_close(broker);
    }
}

TEST(version_2, "a store of version 2 is read as it is, and keeps attempts once it is converted")
{
    make_version_2(false);
    struct weir_broker_options options = WEIR_BROKER_OPTIONS_INIT;
    options.flags = WEIR_BROKER_READ_ONLY;
    weir_broker *broker;
    CHECK_STATUS(weir_broker_open("sqlite:jobs.db", &options, &broker, NULL), WEIR_OK);
    int attempts = 0;
    CHECK_STATUS(weir_broker_attempts(broker, "1", count_attempt, &attempts, NULL), WEIR_OK);
    CHECK_INT(attempts, ==, 0);
    CHECK_STATUS(weir_broker_peek_id(broker, "1", expect_failed_once, NULL, NULL), WEIR_OK);
    weir_broker_close(broker);
    expect_converted_2();
    broker = jobs_store_open_on("jobs.db", &clocks, "a");
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    CHECK_INT(job->job.attempts, ==, 2);
    const struct weiri_run_end end = {.outcome = WEIR_RUN_BURIED};
    CHECK_STATUS(jobs_fail(broker, job, WEIRI_JOB_BURY, "twice", &end), WEIR_OK);
    jobs_free_one(broker, job);
    attempts = 1;
    CHECK_STATUS(weir_broker_attempts(broker, "1", count_attempt, &attempts, NULL), WEIR_OK);
    CHECK_INT(attempts, ==, 2);
    weir_broker_close(broker);
}

/* Opens a store in a process that is killed at its nth call of some kinds. False: it ended. */
static bool kill_at(unsigned kinds, int nth)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        fault_install();
        fault_arm(kinds, nth, false, SQLITE_IOERR);
        fault.is_deadly = true;
        weir_broker_close(jobs_store_open_on("jobs.db", &clocks, "a"));
        _exit(0);
    }
    int status;
    CHECK_INT(waitpid(child, &status, 0), ==, child);
    CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

TEST(killed, "a process killed at any step of a conversion leaves a store that is converted later")
{
    int kills = 0;
    bool was_killed = true;
    for (int nth = 0; was_killed; nth++) {
        make_version_1();
        was_killed = kill_at(FAULT_WRITE | FAULT_SYNC | FAULT_TRUNCATE, nth);
        kills += was_killed;
        if (was_killed && nth % 3 == 0) {
            (void)kill_at(FAULT_WRITE | FAULT_SYNC | FAULT_TRUNCATE, nth / 2);
        }
        expect_converted();
    }
    CHECK_INT(kills, >, 8);
}

TEST(killed_2, "the same of version 2, whose log, file and lock file have stamps that must fit")
{
    for (int has_log = 0; has_log < 2; has_log++) {
        int kills = 0;
        bool was_killed = true;
        for (int nth = 0; was_killed; nth++) {
            make_version_2(has_log == 1);
            was_killed = kill_at(FAULT_WRITE | FAULT_SYNC | FAULT_TRUNCATE, nth);
            kills += was_killed;
            expect_converted_2();
        }
        CHECK_INT(kills, >, 5);
    }
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Tokens rise over everything that takes reservations from a store: power cuts, backups, copies and
 * clocks that are set. A job that takes its machine down ends. */
#define _GNU_SOURCE /* unshare, in support/small_disk.h */

#include <errno.h>

#include "jobs/sqlite/store.h"

#include "support/copy_file.h"
#include "support/faulty_vfs.h"
#include "support/jobs.h"
#include "support/small_disk.h"

#define DAY WEIR_SECONDS(86400)

static struct jobs_clocks clocks = {{JOBS_WALL_START}, {WEIR_SECONDS(1000)}};

/* The token of another reservation of the job, which is given back. */
static uint64_t reserve(weir_broker *broker)
{
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    uint64_t token = job->job.fence;
    CHECK_INT(token, <, INT64_C(1) << 53); /* exact in JSON */
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_RETURN, 0, NULL), WEIR_OK);
    jobs_free_one(broker, job);
    return token;
}

static uint64_t reserve_in(const char *path, const char *boot)
{
    weir_broker *broker = jobs_store_open_on(path, &clocks, boot);
    uint64_t token = reserve(broker);
    weir_broker_close(broker);
    return token;
}

static void change_store(const char *path, const char *sql)
{
    sqlite3 *db;
    CHECK_INT(sqlite3_open(path, &db), ==, SQLITE_OK);
    CHECK_INT(sqlite3_exec(db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
    CHECK_INT(sqlite3_close(db), ==, SQLITE_OK);
}

/* What a power cut makes of it that takes all reservations: the most that it can take. */
static void lose_reservations(const char *path)
{
    change_store(path, "UPDATE jobs SET token = 0");
}

static void make_store(void)
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    (void)jobs_put(broker, "t", "x", NULL);
    weir_broker_close(broker);
}

TEST(boots, "tokens rise over boots whose reservations were lost, whatever the clock says")
{
    static const int64_t steps[] = {DAY, 0, -DAY, -20 * 365 * DAY, 0, 80 * 365 * DAY, -DAY};
    uint64_t last = 0;
    make_store();
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        char boot[16];
        (void)snprintf(boot, sizeof(boot), "boot %zu", i);
        jobs_wall_step(&clocks.wall, steps[i]);
        for (int run = 0; run < 3; run++) {
            uint64_t token = reserve_in("jobs.db", boot);
            CHECK_INT(token, >, last);
            last = token;
        }
        lose_reservations("jobs.db");
    }
}

TEST(same_boot, "an era begins with a boot, and not with each open")
{
    make_store();
    uint64_t first = reserve_in("jobs.db", "a");
    jobs_wall_step(&clocks.wall, DAY);
    CHECK_INT(reserve_in("jobs.db", "a"), ==, first + 1);
    weir_broker *reader = NULL;
    CHECK_STATUS(jobs_store_try_open("jobs.db", &clocks.wall, WEIR_BROKER_READ_ONLY, &reader, NULL),
                 WEIR_OK);
    uint64_t second = reserve_in("jobs.db", "b");
    CHECK_INT(second, >=, first + DAY / WEIR_US(1));
    weir_broker_close(reader);
    CHECK_INT(reserve_in("jobs.db", "b"), ==, second + 1);
}

/* After the copy was made the original goes on, and its workers do even when the copy is used. */
static void put_copy_in_place(const char *copy, int64_t clock_step)
{
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    for (int i = 0; i < 100; i++) {
        jobs_wall_step(&clocks.wall, WEIR_MS(1));
        (void)reserve(broker);
    }
    jobs_wall_step(&clocks.wall, clock_step);
    CHECK_INT(rename(copy, "restored.db"), ==, 0);
    uint64_t token = reserve_in("restored.db", "a");
    CHECK_INT(token, >, reserve(broker));
    weir_broker_close(broker);
    CHECK_INT(reserve_in("restored.db", "a"), ==, token + 1);
    jobs_store_remove("restored.db");
}

TEST(backups, "what is restored, or is a copy, gives larger tokens than what it replaces")
{
    static const int64_t steps[] = {0, DAY, -DAY};
    make_store();
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
        CHECK_STATUS(weir_broker_backup(broker, "backup.db", NULL), WEIR_OK);
        weir_broker_close(broker);
        jobs_store_fold("jobs.db");
        copy_file("jobs.db", "copy.db");
        put_copy_in_place("backup.db", steps[i]);
        put_copy_in_place("copy.db", 0);
    }
}

TEST(restored_beside_lock, "a backup does so also beside the lock file of what it replaces")
{
    make_store();
    weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "a");
    CHECK_STATUS(weir_broker_backup(broker, "backup.db", NULL), WEIR_OK);
    uint64_t token = 0;
    for (int i = 0; i < 100; i++) {
        token = reserve(broker);
    }
    weir_broker_close(broker);
    jobs_store_fold("jobs.db");
    CHECK_INT(rename("backup.db", "jobs.db"), ==, 0);
    struct weiri_lock_file lock; /* of a stamp that is before the backup's random one */
    CHECK_INT(weiri_lock_file_open(&lock, "jobs.db.lock"), ==, 0);
    weiri_lock_file_note(&lock, 0);
    weiri_lock_file_close(&lock);
    CHECK_INT(reserve_in("jobs.db", "a"), >, token);
}

TEST(no_name, "where the boot has no name, each open that is alone may be the first")
{
    make_store();
    uint64_t last = 0;
    for (int i = 0; i < 3; i++) {
        weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, "unknown");
        uint64_t token = reserve(broker);
        CHECK_INT(token, >, last);
        weir_broker *other = jobs_store_open_on("jobs.db", &clocks, "unknown");
        last = reserve(other);
        CHECK_INT(last, ==, token + 1);
        weir_broker_close(broker);
        weir_broker_close(other);
        lose_reservations("jobs.db");
    }
}

TEST(damaged_note, "a store that has lost its note, or has one that is none, takes the time")
{
    static const char *const harms[] = {"DELETE FROM meta", "UPDATE meta SET era = -1 << 62"};
    make_store();
    for (size_t i = 0; i < sizeof(harms) / sizeof(harms[0]); i++) {
        uint64_t token = reserve_in("jobs.db", "a");
        change_store("jobs.db", harms[i]);
        lose_reservations("jobs.db");
        jobs_wall_step(&clocks.wall, WEIR_SECONDS(1));
        CHECK_INT(reserve_in("jobs.db", i == 0 ? "a" : "b"), >, token);
    }
}

TEST(full_disk, "a boot begins an era also where the disk is full")
{
    small_disk_mount((size_t)4 << 20);
    weir_broker *broker = jobs_store_open_on("disk/jobs.db", &clocks, "a");
    (void)jobs_put(broker, "t", "x", NULL);
    uint64_t token = reserve(broker);
    weir_broker_close(broker);
    static const char bytes[4096];
    int fd = open("disk/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    while (write(fd, bytes, sizeof(bytes)) > 0) {
    }
    CHECK_INT(close(fd), ==, 0);
    jobs_wall_step(&clocks.wall, DAY);
    CHECK_INT(reserve_in("disk/jobs.db", "b"), >=, token + DAY / WEIR_US(1));
}

/* --- power cuts --- */

static int flushes;

/* Keeps what is on the disk after a flush: all that was written before it, at least. */
static void keep_disk(enum fault_kind kind, bool is_log, sqlite3_int64 offset, const void *bytes,
                      int size)
{
    static const char *const names[][2] = {{"jobs.db", "kept.db"}, {"jobs.db-wal", "kept.db-wal"}};
    (void)is_log;
    (void)offset;
    (void)bytes;
    (void)size;
    if (kind != FAULT_SYNC) {
        return;
    }
    flushes++;
    for (int i = 0; i < 2; i++) {
        (void)unlink(names[i][1]);
        if (access(names[i][0], F_OK) == 0) {
            copy_file(names[i][0], names[i][1]);
        }
    }
}

/* The store as the last flush left it. */
static void cut_power(weir_broker *broker)
{
    fault.watch = NULL;
    weir_broker_close(broker);
    CHECK_INT(rename("kept.db", "jobs.db"), ==, 0);
    CHECK(rename("kept.db-wal", "jobs.db-wal") == 0 || errno == ENOENT);
}

TEST(killer, "a job that takes its machine down is buried, after a run more than it has attempts")
{
    enum {
        ATTEMPTS = 3
    };
    int runs = 0;
    bool is_buried = false;
    uint64_t last = 0;
    fault_install();
    make_store();
    for (int boot = 0; boot < 10; boot++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "boot %d", boot);
        fault.watch = keep_disk;
        weir_broker *broker = jobs_store_open_on("jobs.db", &clocks, name);
        if (boot == 0) { /* it is of this boot, and so may lose its first run */
            (void)jobs_put(broker, "killer", "x", NULL);
        }
        struct weiri_list list;
        (void)jobs_reserve(broker, "killer", 1, ATTEMPTS, &list);
        if (!weiri_list_is_empty(&list)) {
            CHECK_INT(jobs_first(&list)->job.fence, >, last);
            last = jobs_first(&list)->job.fence;
            runs++;
        }
        jobs_free(broker, &list);
        is_buried = jobs_counts(broker, "killer").buried == 1;
        cut_power(broker);
    }
    CHECK_INT(runs, ==, ATTEMPTS + 1);
    CHECK(is_buried);
}

/* The flushes of a reservation. */
static int flushes_of(weir_broker *broker, const char *tube)
{
    int before = flushes;
    jobs_free_one(broker, jobs_reserve_one(broker, tube));
    return flushes - before;
}

TEST(flushed, "a reservation is flushed of a job alone that was there when the boot began")
{
    static const char *const paths[] = {"jobs.db", "jobs.db?durability=normal"};
    fault_install();
    for (int i = 0; i < 2; i++) {
        weir_broker *broker = jobs_store_open_on(paths[i], &clocks, "a");
        (void)jobs_put(broker, "old", "x", NULL);
        weir_broker_close(broker);
        fault.watch = keep_disk;
        broker = jobs_store_open_on(paths[i], &clocks, i == 0 ? "b" : "c");
        (void)jobs_put(broker, "new", "x", NULL);
        CHECK_INT(flushes_of(broker, "old"), ==, i == 0 ? 1 : 0);
        CHECK_INT(flushes_of(broker, "new"), ==, 0);
        fault.watch = NULL;
        weir_broker_close(broker);
    }
}

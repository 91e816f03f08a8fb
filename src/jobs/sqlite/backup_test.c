/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* unshare */

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jobs/sqlite/store.h"
#include "support/faulty_vfs.h"
#include "support/jobs.h"
#include "support/small_disk.h"
#include "support/store_query.h"

static struct jobs_wall wall = {JOBS_WALL_START};

static _Atomic bool is_over;

/* Puts two jobs of one transaction, and settles one of an earlier put. */
static void work(void *arg)
{
    weir_broker *broker = arg;
    const struct weir_body bodies[] = {{"left", 4, NULL}, {"right", 5, NULL}};
    while (!is_over) {
        CHECK_STATUS(weir_broker_put(broker, "t", bodies, 2, NULL, NULL, NULL), WEIR_OK);
        struct weiri_reservation *job = jobs_reserve_one(broker, "t");
        CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
        jobs_free_one(broker, job);
    }
}

/* Checks a copy and empties it. */
static void drain(const char *path)
{
    struct weiri_list list;
    weir_broker *copy = jobs_store_open(path, &wall);
    struct weir_tube_counts counts = jobs_counts(copy, "t");
    CHECK_INT(counts.reserved, ==, query(copy, "SELECT count(*) FROM jobs WHERE state = 3"));
    CHECK_INT(counts.ready, ==, query(copy, "SELECT count(*) FROM jobs WHERE state = 2"));
    CHECK_INT(counts.put, ==, counts.ready + counts.reserved + counts.done);
    CHECK_INT(counts.put % 2, ==, 0);
    CHECK_INT(query(copy, "SELECT count(*) FROM pragma_integrity_check "
                          "WHERE integrity_check = 'ok'"),
              ==, 1);
    struct weiri_exchange exchange = jobs_reserve(copy, "t", SIZE_MAX / 2, 1000, &list);
    CHECK_INT(exchange.reserved_count, ==, counts.ready + counts.reserved);
    jobs_free(copy, &list);
    weir_broker_close(copy);
}

TEST(live, "copies made during puts and work are whole, of one moment, and private")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    ((struct weiri_store *)broker->store)->checkpoint_pages = 20;
    (void)jobs_put(broker, "t", "first", NULL);
    (void)jobs_put(broker, "t", "second", NULL);
    struct test_thread *thread = test_start(work, broker);
    for (int i = 0; i < 20; i++) {
        char path[20];
        (void)snprintf(path, sizeof(path), "copy-%d.db", i);
        struct weir_error error = {0};
        CHECK_STATUS(weir_broker_backup(broker, path, &error), WEIR_OK);
    }
    is_over = true;
    test_join(thread);
    for (int i = 0; i < 20; i++) {
        char path[40];
        struct stat facts;
        (void)snprintf(path, sizeof(path), "copy-%d.db-wal", i);
        CHECK_INT(access(path, F_OK), ==, -1);
        (void)snprintf(path, sizeof(path), "copy-%d.db", i);
        CHECK_INT(stat(path, &facts), ==, 0);
        CHECK_INT(facts.st_mode & 0777, ==, 0600);
        drain(path);
    }
    weir_broker_close(broker);
}

TEST(leases, "what is reserved runs again from the copy at once, and goes on in the original")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    (void)jobs_put(broker, "t", "x", NULL);
    struct weiri_reservation *job = jobs_reserve_one(broker, "t");
    CHECK_STATUS(weir_broker_backup(broker, "copy.db", NULL), WEIR_OK);
    weir_broker *copy = jobs_store_open("copy.db", &wall);
    struct weiri_reservation *again = jobs_reserve_one(copy, "t");
    CHECK_STRING(again->job.id, job->job.id);
    CHECK_STATUS(jobs_settle(broker, job, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
    CHECK_STATUS(jobs_settle(copy, again, WEIRI_JOB_DONE, 0, NULL), WEIR_OK);
    jobs_free_one(broker, job);
    jobs_free_one(copy, again);
    weir_broker_close(copy);
    weir_broker_close(broker);
}

TEST(own_stamp, "a log of the original beside the copy is refused")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    (void)jobs_put(broker, "t", "x", NULL);
    CHECK_STATUS(weir_broker_backup(broker, "copy.db", NULL), WEIR_OK);
    CHECK_INT(link("jobs.db-wal", "copy.db-wal"), ==, 0);
    weir_broker *copy;
    CHECK_STATUS(jobs_store_try_open("copy.db", &wall, 0, &copy, NULL), WEIR_ECORRUPT);
    CHECK_INT(unlink("copy.db-wal"), ==, 0);
    weir_broker_close(broker);
}

TEST(failing, "a copy whose writes or flushes fail leaves nothing, and the store goes on")
{
    fault_install();
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    (void)jobs_put(broker, "t", "x", NULL);
    (void)jobs_put(broker, "t", "y", NULL);
    bool has_failed = true;
    int failures = 0;
    for (int nth = 0; has_failed; nth++) {
        fault_arm(FAULT_WRITE | FAULT_SYNC, nth, false, SQLITE_IOERR_WRITE);
        enum weir_status status = weir_broker_backup(broker, "copy.db", NULL);
        has_failed = fault.failed > 0;
        fault_disarm();
        failures += status != WEIR_OK;
        if (status == WEIR_OK) {
            drain("copy.db");
            CHECK_INT(unlink("copy.db"), ==, 0);
        } else {
            CHECK_STATUS(status, WEIR_EIO);
        }
        CHECK_INT(access("copy.db", F_OK), ==, -1);
        CHECK_INT(access("copy.db.weir-new", F_OK), ==, -1);
        CHECK_INT(access("copy.db.weir-new-wal", F_OK), ==, -1);
        CHECK_INT(access("copy.db.weir-new-shm", F_OK), ==, -1);
        CHECK_INT(access("copy.db.weir-new-journal", F_OK), ==, -1);
        (void)unlink("copy.db.lock");
    }
    CHECK_INT(failures, >, 5);
    CHECK_COUNTS(broker, "t", 0, 2, 0, 0);
    weir_broker_close(broker);
}

static void expect_nothing(const char *folder)
{
    DIR *entries = opendir(folder);
    CHECK(entries != NULL);
    for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        if (entry->d_name[0] != '.') {
            test_fail(__FILE__, __LINE__, "%s is left", entry->d_name);
        }
    }
    (void)closedir(entries);
}

TEST(full, "a copy that its disk cannot hold leaves nothing there, wherever the space ends")
{
    static char bytes[40000];
    const struct weir_body bodies[] = {{bytes, sizeof(bytes), NULL}, {bytes, sizeof(bytes), NULL}};
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    CHECK_STATUS(weir_broker_put(broker, "t", bodies, 2, NULL, NULL, NULL), WEIR_OK);
    small_disk_mount(4096);
    int failures = 0;
    enum weir_status status = WEIR_ENOSPACE;
    for (size_t pages = 1; status != WEIR_OK; pages++) {
        CHECK_INT(pages, <, 1000);
        small_disk_resize(pages * 4096);
        status = weir_broker_backup(broker, "disk/copy.db", NULL);
        if (status != WEIR_OK) {
            CHECK_STATUS(status, WEIR_ENOSPACE);
            expect_nothing("disk");
            failures++;
        }
    }
    CHECK_INT(failures, >, 20);
    small_disk_resize((size_t)4 << 20);
    drain("disk/copy.db");
    weir_broker_close(broker);
}

TEST(read_only, "a broker that only looks makes copies too")
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    (void)jobs_put(broker, "t", "x", NULL);
    (void)jobs_put(broker, "t", "y", NULL);
    weir_broker_close(broker);
    CHECK_STATUS(jobs_store_try_open("jobs.db", &wall, WEIR_BROKER_READ_ONLY, &broker, NULL),
                 WEIR_OK);
    CHECK_STATUS(weir_broker_backup(broker, "copy.db", NULL), WEIR_OK);
    weir_broker_close(broker);
    drain("copy.db");
}

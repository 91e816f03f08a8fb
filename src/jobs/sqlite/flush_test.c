/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A flush that fails once ends the acknowledgements of its handle: for those who shared the commit,
 * for those who waited behind it, and for all who come later, though the disk would take them. */
#include <errno.h>

#include "jobs/sqlite/store.h"
#include "support/faulty_vfs.h"
#include "support/jobs.h"

static struct jobs_wall wall = {JOBS_WALL_START};

enum {
    PUTTERS = 4
};

/* One thread's put, and what came of it. */
struct putter {
    weir_broker *broker;
    size_t size;
    enum weir_status status;
    struct weir_error error;
};

static char bytes[200000];

static void put_one(void *arg)
{
    struct putter *putter = arg;
    const struct weir_body body = {bytes, putter->size};
    putter->status = weir_broker_put(putter->broker, "t", &body, 1, NULL, NULL, &putter->error);
}

static int note_size(const struct weir_job *job, void *arg)
{
    bool *is_there = arg;
    CHECK_INT(job->body_size, <=, PUTTERS);
    is_there[job->body_size] = true;
    return 0;
}

/* Four puts of which the first leads alone and the others gather behind it; then the nth flush
 * fails, once. What was acknowledged must be there. */
static void put_together(struct putter putters[PUTTERS], int nth)
{
    fault_install();
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weiri_store *store = broker->store;
    (void)jobs_put(broker, "t", "", NULL);
    (void)sqlite3_limit(store->writer.db, SQLITE_LIMIT_LENGTH, 100000);
    struct weiri_lock_file other;
    CHECK_INT(weiri_lock_file_open(&other, "jobs.db.lock"), ==, 0);
    CHECK_INT(weiri_lock_file_lock(&other, INT64_MAX), ==, 0);
    struct test_thread *threads[PUTTERS];
    for (int i = 0; i < PUTTERS; i++) {
        putters[i].broker = broker;
        threads[i] = test_start(put_one, &putters[i]);
        test_wait_asleep(threads[i]);
    }
    fault_arm(FAULT_SYNC, nth, false, SQLITE_IOERR_FSYNC);
    weiri_lock_file_unlock(&other);
    for (int i = 0; i < PUTTERS; i++) {
        test_join(threads[i]);
    }
    CHECK_INT(fault.failed, ==, 1);
    uint64_t transactions = store->transactions;
    const struct weir_body body = {"x", 1};
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, NULL, NULL, NULL), WEIR_EIO);
    CHECK_INT(store->transactions, ==, transactions);
    weiri_lock_file_close(&other);
    weir_broker_close(broker);

    bool is_there[PUTTERS + 1] = {false};
    broker = jobs_store_open("jobs.db", &wall);
    CHECK_STATUS(weir_broker_peek(broker, "t", 0, SIZE_MAX, note_size, is_there, NULL), WEIR_OK);
    CHECK(is_there[0]);
    for (int i = 0; i < PUTTERS; i++) {
        CHECK(putters[i].status != WEIR_OK || is_there[putters[i].size]);
    }
    weir_broker_close(broker);
}

static void expect_refusal(const struct putter *putter)
{
    CHECK_STATUS(putter->status, WEIR_EIO);
    CHECK(strstr(putter->error.text, "reopen") != NULL);
}

TEST(behind, "who waited behind a commit whose flush failed is refused")
{
    struct putter putters[PUTTERS] = {{.size = 1}, {.size = 2}, {.size = 3}, {.size = 4}};
    put_together(putters, 0);
    CHECK_STATUS(putters[0].status, WEIR_EIO);
    for (int i = 1; i < PUTTERS; i++) {
        expect_refusal(&putters[i]);
    }
}

TEST(together, "all who shared a commit whose flush failed are told so, and none before it")
{
    struct putter putters[PUTTERS] = {{.size = 1}, {.size = 2}, {.size = 3}, {.size = 4}};
    put_together(putters, 1);
    CHECK_STATUS(putters[0].status, WEIR_OK);
    for (int i = 1; i < PUTTERS; i++) {
        CHECK_STATUS(putters[i].status, WEIR_EIO);
        CHECK(strstr(putters[i].error.text, "SQLite") != NULL);
    }
}

TEST(one_by_one, "where a batch is run one by one, those after a failed flush are refused unrun")
{
    /* The second cannot be put, so that it and the two after it are run again, each alone. */
    struct putter putters[PUTTERS] = {
        {.size = 1}, {.size = sizeof(bytes)}, {.size = 3}, {.size = 4}};
    put_together(putters, 1);
    CHECK_STATUS(putters[0].status, WEIR_OK);
    CHECK_STATUS(putters[1].status, WEIR_ETOOBIG);
    CHECK_STATUS(putters[2].status, WEIR_EIO);
    expect_refusal(&putters[3]);
}

TEST(full_at_flush, "a disk that is found full by a flush ends acknowledgements as any other")
{
    fault_install();
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    (void)jobs_put(broker, "t", "x", NULL);
    fault_arm(FAULT_SYNC, 0, false, SQLITE_IOERR_FSYNC);
    fault.error = ENOSPC;
    const struct weir_body body = {"y", 1};
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, NULL, NULL, NULL), WEIR_EIO);
    CHECK_INT(fault.failed, ==, 1);
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, NULL, NULL, NULL), WEIR_EIO);
    weir_broker_close(broker);
}

TEST(over_quota, "a write over a quota is a full disk: waited for; one that fails otherwise is not")
{
    fault_install();
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    const struct weir_body body = {"y", 1};
    fault_arm(FAULT_WRITE, 0, false, SQLITE_IOERR_WRITE);
    fault.error = EDQUOT;
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, NULL, NULL, NULL), WEIR_ENOSPACE);
    CHECK_INT(fault.failed, ==, 1);
    (void)jobs_put(broker, "t", "y", NULL);
    CHECK_COUNTS(broker, "t", 0, 1, 0, 0);
    fault_arm(FAULT_WRITE, 0, false, SQLITE_IOERR_WRITE);
    fault.error = EIO;
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, NULL, NULL, NULL), WEIR_EIO);
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, NULL, NULL, NULL), WEIR_EIO);
    weir_broker_close(broker);
}

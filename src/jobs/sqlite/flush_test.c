/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A flush that fails once ends the acknowledgements of its handle: for the requests of that commit,
 * for those that waited behind it, and for all later ones, though the disk would store them. */
#include <errno.h>

#include "jobs/sqlite/store.h"
#include "support/faulty_vfs.h"
#include "support/jobs.h"

static struct jobs_wall wall = {JOBS_WALL_START};

enum {
    PUTTERS = 4
};

/* One thread's put, and its result. */
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
    const struct weir_body body = {bytes, putter->size, NULL};
    putter->status = weir_broker_put(putter->broker, "t", &body, 1, NULL, NULL, &putter->error);
}

static int note_size(const struct weir_job *job, void *arg)
{
    bool *is_there = arg;
    CHECK_INT(job->body_size, <=, PUTTERS);
    is_there[job->body_size] = true;
    return 0;
}

/* Four puts: the first leads alone, and the others wait for the next transaction; then the nth
 * flush fails, once. Acknowledged jobs must be there. */
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
    const struct weir_body body = {"x", 1, NULL};
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

TEST(behind, "a request that waited behind a commit with a failed flush is refused")
{
    struct putter putters[PUTTERS] = {{.size = 1}, {.size = 2}, {.size = 3}, {.size = 4}};
    put_together(putters, 0);
    CHECK_STATUS(putters[0].status, WEIR_EIO);
    for (int i = 1; i < PUTTERS; i++) {
        expect_refusal(&putters[i]);
    }
}

TEST(together, "all requests of a commit with a failed flush get the error, and none before it")
{
    struct putter putters[PUTTERS] = {{.size = 1}, {.size = 2}, {.size = 3}, {.size = 4}};
    put_together(putters, 1);
    CHECK_STATUS(putters[0].status, WEIR_OK);
    for (int i = 1; i < PUTTERS; i++) {
        CHECK_STATUS(putters[i].status, WEIR_EIO);
        CHECK(strstr(putters[i].error.text, "SQLite") != NULL);
    }
}

TEST(one_by_one, "where a batch is run one by one, one flush is for all, and fails all")
{
    /* The second cannot be put, so that it and the two after it are run again, each alone. */
    struct putter putters[PUTTERS] = {
        {.size = 1}, {.size = sizeof(bytes)}, {.size = 3}, {.size = 4}};
    put_together(putters, 1);
    CHECK_STATUS(putters[0].status, WEIR_OK);
    CHECK_STATUS(putters[1].status, WEIR_ETOOBIG);
    CHECK_STATUS(putters[2].status, WEIR_EIO);
    CHECK_STATUS(putters[3].status, WEIR_EIO);
    CHECK(strstr(putters[3].error.text, "SQLite") != NULL);
}

TEST(full_at_flush, "a disk that is found full by a flush ends acknowledgements as any other")
{
    fault_install();
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    (void)jobs_put(broker, "t", "x", NULL);
    fault_arm(FAULT_SYNC, 0, false, SQLITE_IOERR_FSYNC);
    fault.error = ENOSPC;
    const struct weir_body body = {"y", 1, NULL};
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, NULL, NULL, NULL), WEIR_EIO);
    CHECK_INT(fault.failed, ==, 1);
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, NULL, NULL, NULL), WEIR_EIO);
    weir_broker_close(broker);
}

TEST(over_quota, "a write over a quota is a full disk: waited for; one that fails otherwise is not")
{
    fault_install();
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    const struct weir_body body = {"y", 1, NULL};
    fault_arm(FAULT_WRITE, 0, true, SQLITE_IOERR_WRITE);
    fault.error = EDQUOT;
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, NULL, NULL, NULL), WEIR_ENOSPACE);
    CHECK_INT(fault.failed, >=, 1);
    fault_disarm();
    (void)jobs_put(broker, "t", "y", NULL);
    CHECK_COUNTS(broker, "t", 0, 1, 0, 0);
    fault_arm(FAULT_WRITE, 0, false, SQLITE_IOERR_WRITE);
    fault.error = EIO;
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, NULL, NULL, NULL), WEIR_EIO);
    CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, NULL, NULL, NULL), WEIR_EIO);
    weir_broker_close(broker);
}

TEST(extension,
     "a store that cannot be extended says why: a full disk, a limit, or a device that fails")
{
    static const struct {
        int error; /* 0: SQLite keeps none */
        enum weir_status status;
    } rows[] = {{0, WEIR_ENOSPACE},
                {ENOSPC, WEIR_ENOSPACE},
                {EDQUOT, WEIR_ENOSPACE},
                {EFBIG, WEIR_ENOSPACE},
                {EIO, WEIR_EIO}};
    fault_install();
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    const struct weir_body body = {"y", 1, NULL};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        fault_arm(FAULT_EXTEND, 0, true, SQLITE_IOERR_WRITE);
        fault.error = rows[i].error;
        CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, NULL, NULL, NULL), rows[i].status);
        fault_disarm();
        fault.error = 0;
        enum weir_status after = weir_broker_put(broker, "t", &body, 1, NULL, NULL, NULL);
        CHECK_STATUS(after, rows[i].status == WEIR_EIO ? WEIR_EIO : WEIR_OK);
    }
    weir_broker_close(broker);
}

/* A log callback may take long: other threads go on meanwhile. */
struct listener {
    struct weiri_store *store;
    int messages[5]; /* by level */
};

static void listen(enum weir_log_level level, const char *message, void *arg)
{
    struct listener *listener = arg;
    listener->messages[level]++;
    CHECK(strstr(message, "jobs.db") != NULL);
    fault_disarm();
    struct weiri_lock_file other;
    CHECK_INT(weiri_lock_file_open(&other, "jobs.db.lock"), ==, 0);
    CHECK_INT(weiri_lock_file_lock(&other, 0), ==, 0);
    weiri_lock_file_unlock(&other);
    weiri_lock_file_close(&other);
    weiri_mutex_lock(&listener->store->mutex);
    CHECK(!listener->store->is_led);
    weiri_mutex_unlock(&listener->store->mutex);
}

/* Fails each write in turn until one of a checkpoint did. */
static void fail_checkpoint(int code, enum weir_log_level level)
{
    fault_install();
    struct listener listener = {NULL, {0}};
    for (int nth = 0; listener.messages[level] == 0; nth++) {
        CHECK_INT(nth, <, 50);
        struct weir_broker_options options = {0};
        options.log = listen;
        options.log_arg = &listener;
        weir_broker *broker;
        CHECK_STATUS(jobs_open_at("sqlite:jobs.db", &options, jobs_wall_now, &wall, &broker, NULL),
                     WEIR_OK);
        listener.store = broker->store;
        listener.store->checkpoint_pages = 1;
        listener.store->checkpoint_at = 1;
        fault_arm(FAULT_WRITE, nth, false, code);
        const struct weir_body body = {"x", 1, NULL};
        enum weir_status status = weir_broker_put(broker, "t", &body, 1, NULL, NULL, NULL);
        /* That of a checkpoint comes after the commit. */
        CHECK(status == WEIR_OK || listener.messages[WEIR_LOG_WARNING] == 0);
        fault_disarm();
        weir_broker_close(broker);
    }
}

TEST(checkpoint, "a put whose checkpoint cannot flush is not acknowledged, though its flush could")
{
    fault_install();
    int nth = 0;
    for (bool has_failed = true; has_failed; nth++) {
        weir_broker *broker = jobs_store_open("jobs.db", &wall);
        struct weiri_store *store = broker->store;
        const struct weir_body body = {"x", 1, NULL};
        store->checkpoint_pages = 1;
        store->checkpoint_at = 1;
        fault_arm(FAULT_SYNC, nth, false, SQLITE_IOERR_FSYNC);
        enum weir_status status = weir_broker_put(broker, "t", &body, 1, NULL, NULL, NULL);
        has_failed = fault.failed > 0;
        fault_disarm();
        CHECK_STATUS(status, has_failed ? WEIR_EIO : WEIR_OK);
        weir_broker_close(broker);
    }
    CHECK_INT(nth, >, 3); /* the log and the file for the checkpoint, then the log */
}

TEST(logged_when_put_off, "a postponed checkpoint is logged with no lock held")
{
    fail_checkpoint(SQLITE_FULL, WEIR_LOG_WARNING);
}

TEST(logged_when_failed, "a write that failed for good is logged with no lock held")
{
    fail_checkpoint(SQLITE_IOERR_WRITE, WEIR_LOG_ERROR);
}

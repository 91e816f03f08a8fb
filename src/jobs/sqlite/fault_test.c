/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Jobs on a disk that fails. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <weir/consumer.h>
#include <weir/policy.h>

#include "base/time.h"
#include "jobs/sqlite/store.h"
#include "support/faulty_vfs.h"
#include "support/jobs.h"

static struct jobs_wall wall = {JOBS_WALL_START};

enum {
    PUTS = 5,
    STEP = 4000
};

/* Puts jobs, each with its name as the body. ret_acked[i] is the status of the ith. Returns the
 * number of calls that failed. */
static int put_all(weir_broker *broker, enum weir_status *ret_statuses)
{
    static char large[20000];
    int failures = 0;
    for (int i = 0; i < PUTS; i++) {
        const struct weir_body body = {large, (size_t)(1 + i * STEP), NULL};
        struct weir_error error = {0};
        ret_statuses[i] = weir_broker_put(broker, "t", &body, 1, NULL, NULL, &error);
        CHECK((ret_statuses[i] == WEIR_OK) == (error.text[0] == '\0'));
        failures += ret_statuses[i] != WEIR_OK;
    }
    return failures;
}

static int note_size(const struct weir_job *job, void *arg)
{
    bool *is_there = arg;
    is_there[(job->body_size - 1) / STEP] = true;
    CHECK_STRING(job->reason, "");
    return 0;
}

/* Checks that acknowledged jobs are in the reopened store. */
static void expect_acknowledged(const enum weir_status *statuses)
{
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    bool is_there[PUTS] = {false};
    CHECK_STATUS(weir_broker_peek(broker, "t", 0, SIZE_MAX, note_size, is_there, NULL), WEIR_OK);
    for (int i = 0; i < PUTS; i++) {
        CHECK(is_there[i] || statuses[i] != WEIR_OK);
    }
    (void)jobs_put(broker, "t", "x", NULL);
    const char *id = "1";
    (void)jobs_remove(broker, &id, 1);
    weir_broker_close(broker);
}

static void remove_store(void)
{
    static const char *const files[] = {"jobs.db", "jobs.db-wal", "jobs.db-shm", "jobs.db.lock"};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        (void)unlink(files[i]);
    }
}

/* Fails each call of a kind in turn. After the first failure nothing may be acknowledged. */
static void fail_each(unsigned kinds, int code)
{
    int told = 0;
    for (int nth = 0;; nth++) {
        remove_store();
        weir_broker *broker = jobs_store_open("jobs.db", &wall);
        struct weiri_store *store = broker->store;
        store->checkpoint_pages = 6;
        store->checkpoint_at = 6;
        store->checkpoint_at = 6;
        fault_arm(kinds, nth, false, code);
        enum weir_status statuses[PUTS];
        int failures = put_all(broker, statuses);
        bool was_failed = fault.failed > 0;
        fault_disarm();
        if (failures > 0) {
            CHECK(was_failed);
            for (int i = PUTS - failures; i < PUTS; i++) {
                CHECK_STATUS(statuses[i], WEIR_EIO);
            }
            const struct weir_body body = {"x", 1, NULL};
            struct weir_error error;
            CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, NULL, NULL, &error), WEIR_EIO);
            CHECK(strstr(error.text, "reopen") != NULL);
            told++;
        }
        weir_broker_close(broker);
        expect_acknowledged(statuses);
        if (!was_failed) {
            CHECK_INT(told, >=, PUTS);
            return;
        }
    }
}

TEST(sync_fails, "after any failed fsync the handle acknowledges nothing; what it had is there")
{
    fault_install();
    fail_each(FAULT_SYNC, SQLITE_IOERR_FSYNC);
}

TEST(write_fails, "after any failed write the handle acknowledges nothing; what it had is there")
{
    fault_install();
    fail_each(FAULT_WRITE, SQLITE_IOERR_WRITE);
}

TEST(disk_full, "a full disk refuses puts at whichever write, and they go on once there is space")
{
    fault_install();
    for (int nth = 0; nth < 15; nth++) {
        remove_store();
        weir_broker *broker = jobs_store_open("jobs.db", &wall);
        fault_arm(FAULT_WRITE, nth, true, SQLITE_FULL);
        enum weir_status statuses[PUTS];
        int failures = put_all(broker, statuses);
        CHECK_INT(failures, >, 0);
        for (int i = PUTS - failures; i < PUTS; i++) {
            CHECK_STATUS(statuses[i], WEIR_ENOSPACE);
        }
        fault_disarm();
        CHECK_COUNTS(broker, "t", 0, PUTS - failures, 0, 0);
        (void)jobs_put(broker, "t", "again", NULL);
        CHECK_COUNTS(broker, "t", 0, PUTS - failures + 1, 0, 0);
        weir_broker_close(broker);
        expect_acknowledged(statuses);
    }
}

TEST(cut_put_stays, "a put that was cut, fails, and cannot be taken back is WEIR_EIO, and says so")
{
    enum {
        COUNT = 300
    };
    fault_install();
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    struct weiri_store *store = broker->store;
    store->put_ns = 0;
    struct weir_body bodies[COUNT];
    for (int i = 0; i < COUNT; i++) {
        bodies[i] = (struct weir_body){"x", 1, NULL};
    }
    uint64_t before = store->transactions;
    enum weir_status status;
    struct weir_error error;
    int nth = -1;
    do { /* until the disk is full after the first of three transactions, and before the last */
        fault_arm(FAULT_WRITE, ++nth, true, SQLITE_FULL);
        status = weir_broker_put(broker, "t", bodies, COUNT, NULL, NULL, &error);
        fault_disarm();
        CHECK(status == WEIR_ENOSPACE || status == WEIR_EIO);
    } while (status == WEIR_ENOSPACE);
    CHECK_INT(store->transactions - before, ==, 1);
    CHECK(strstr(error.text, "first 100 jobs") != NULL);
    CHECK_COUNTS(broker, "t", 0, 100, 0, 0);
    weir_broker_close(broker);
}

/* Fails the nth read with the error of a bad sector. SQLite reports that as a damaged file. */
static void break_read(int nth)
{
    fault_arm(FAULT_READ, nth, true, SQLITE_IOERR_CORRUPTFS);
    fault.error = EIO;
}

static void expect_read_error(enum weir_status status, const struct weir_error *error, int *count)
{
    if (status != WEIR_OK) {
        CHECK_STATUS(status, WEIR_EIO);
        CHECK(strstr(error->text, "malformed") == NULL);
        ++*count;
    }
}

TEST(read_fails,
     "a failed read is an input error, no damage; the handle goes on where reads succeed")
{
    fault_install();
    int failed = 0;
    for (int nth = 0; nth < 12; nth++) {
        remove_store();
        weir_broker *broker = jobs_store_open("jobs.db", &wall);
        (void)jobs_put(broker, "t", "x", NULL);
        weir_broker_close(broker);
        break_read(nth);
        struct weir_error error;
        enum weir_status status = jobs_store_try_open("jobs.db", &wall, 0, &broker, &error);
        expect_read_error(status, &error, &failed);
        if (status != WEIR_OK) {
            fault_disarm();
            continue;
        }
        const struct weir_body body = {"y", 1, NULL};
        struct weir_tube_counts counts;
        status = weir_broker_put(broker, "t", &body, 1, NULL, NULL, &error);
        expect_read_error(status, &error, &failed);
        status = weir_broker_tubes(broker, NULL, jobs_keep_counts, &counts, &error);
        expect_read_error(status, &error, &failed);
        fault_disarm();
        (void)jobs_put(broker, "t", "z", NULL);
        weir_broker_close(broker);
    }
    CHECK_INT(failed, >=, 12);
}

TEST(half_way,
     "an exchange that fails after it settled says so; one that fails before settled nothing")
{
    fault_install();
    int early = 0;
    int late = 0;
    for (int nth = 0; early == 0 || late == 0 || nth < 40; nth++) {
        CHECK_INT(nth, <, 200);
        remove_store();
        weir_broker *broker = jobs_store_open("jobs.db", &wall);
        struct weiri_store *store = broker->store;
        store->promote_max = 3;
        (void)jobs_put(broker, "t", "x", NULL);
        struct weiri_reservation *job = jobs_reserve_one(broker, "t");
        /* More than a transaction drops are late, and one is not. */
        const struct weir_tube_policy policy = {.late_ns = 1, .late = WEIR_LATE_DROP};
        CHECK_STATUS(weir_broker_set_policy(broker, "t", &policy, NULL), WEIR_OK);
        struct weir_put_options put = {0};
        put.delay_ns = 10;
        for (int i = 0; i < 10; i++) {
            (void)jobs_put(broker, "t", "later", &put);
        }
        jobs_wall_step(&wall, 20);
        (void)jobs_put(broker, "t", "in time", NULL);
        struct weiri_settlement settlement = {.reservation = job, .event = WEIRI_JOB_DONE};
        struct weiri_exchange exchange = {.tube = "t",
                                          .settlements = &settlement,
                                          .wanted = 1,
                                          .attempts_max = 25,
                                          .is_keeping = true};
        struct weir_error error;
        fault_arm(FAULT_WRITE, nth, true, SQLITE_FULL);
        enum weir_status status = broker->ops->exchange(store, &exchange, &error);
        bool was_failed = fault.failed > 0;
        fault_disarm();
        bool is_done = jobs_counts(broker, "t").done == 1;
        if (status == WEIR_OK) {
            CHECK_STATUS(settlement.status, WEIR_OK);
            CHECK(is_done);
            if (was_failed) {
                CHECK_STRING(error.text, "");
            }
            CHECK_INT(exchange.reserved_count, ==, was_failed ? 0 : 1);
            CHECK(!was_failed || exchange.next_in_ns == 0);
            late += was_failed;
        } else {
            CHECK_STATUS(status, WEIR_ENOSPACE);
            CHECK(!is_done);
            CHECK(weiri_list_is_empty(&exchange.reserved));
            early++;
        }
        if (!weiri_list_is_empty(&exchange.reserved)) {
            broker->ops->let_go(store, jobs_first(&exchange.reserved));
        }
        CHECK(weiri_list_is_empty(&store->kept));
        jobs_free(broker, &exchange.reserved);
        jobs_free_one(broker, job);
        weir_broker_close(broker);
    }
}

static int succeed(weir_context *context, const struct weir_job *job, void *arg)
{
    (void)context;
    (void)job;
    (void)arg;
    return WEIR_OK;
}

/* Breaks the disk as soon as a handler runs. */
static int break_disk(weir_context *context, const struct weir_job *job, void *arg)
{
    (void)context;
    (void)job;
    (void)arg;
    fault_arm(FAULT_SYNC, 0, true, SQLITE_IOERR_FSYNC);
    return WEIR_OK;
}

static void count_lost(const struct weir_job *job, enum weir_run_outcome outcome, int status,
                       int64_t run_ns, int64_t delay_ns, void *arg)
{
    (void)job;
    (void)status;
    (void)run_ns;
    (void)delay_ns;
    CHECK_INT(outcome, ==, WEIR_RUN_LOST);
    ++*(int *)arg;
}

TEST(consumer_ends, "a consumer ends with its store's error, and its jobs run again")
{
    fault_install();
    weir_broker *broker = jobs_store_open("jobs.db", &wall);
    (void)jobs_put(broker, "t", "x", NULL);
    (void)jobs_put(broker, "t", "y", NULL);
    int lost = 0;
    struct weir_consumer_options options = {0};
    options.handler = break_disk;
    options.after_run = count_lost;
    options.arg = &lost;
    weir_consumer *consumer;
    struct weir_error error;
    CHECK_STATUS(weir_consumer_new(broker, "t", &options, &consumer, NULL), WEIR_OK);
    CHECK_STATUS(weir_consumer_start(consumer, NULL), WEIR_OK);
    CHECK_STATUS(weir_consumer_wait(consumer, WEIR_FOREVER, &error), WEIR_EIO);
    CHECK(strstr(error.text, "jobs.db") != NULL);
    /* A drain did not run the other job, and why is known; what a finish and a stop ask for is so.
     */
    CHECK_STATUS(weir_consumer_end(consumer, WEIR_END_DRAIN, 0, &error), WEIR_EIO);
    CHECK(strstr(error.text, "jobs.db") != NULL);
    CHECK_STATUS(weir_consumer_end(consumer, WEIR_END_FINISH, 0, NULL), WEIR_OK);
    CHECK_STATUS(weir_consumer_end(consumer, WEIR_END_STOP, 0, NULL), WEIR_OK);
    weir_consumer_free(consumer);
    fault_disarm();
    weir_broker_close(broker);
    CHECK_INT(lost, ==, 1);

    jobs_wall_step(&wall, WEIR_SECONDS(3600));
    broker = jobs_store_open("jobs.db", &wall);
    options.handler = succeed;
    options.after_run = NULL;
    options.flags = WEIR_CONSUMER_UNTIL_EMPTY;
    CHECK_STATUS(weir_consumer_new(broker, "t", &options, &consumer, NULL), WEIR_OK);
    CHECK_STATUS(weir_consumer_start(consumer, NULL), WEIR_OK);
    CHECK_STATUS(weir_consumer_wait(consumer, WEIR_FOREVER, &error), WEIR_OK);
    CHECK_INT(jobs_counts(broker, "t").done, ==, 2);
    weir_consumer_free(consumer);
    weir_broker_close(broker);
}

/* The disk is full from now on. */
static int fill_disk(weir_context *context, const struct weir_job *job, void *arg)
{
    (void)context;
    (void)job;
    if ((*(int *)arg)++ == 0) {
        fault_arm(FAULT_WRITE, 0, true, SQLITE_FULL);
    }
    return WEIR_OK;
}

/* The tries of one job to be settled. */
struct tries {
    int count;
    int64_t last_ns;
};

/* Each try comes after a pause that doubles, less a quarter at most. After some tries the disk has
 * space again. */
static void make_room(enum weir_log_level level, const char *message, void *arg)
{
    struct tries *tries = arg;
    if (level != WEIR_LOG_WARNING || strstr(message, "job 1 ended and cannot be settled") == NULL) {
        return;
    }
    int64_t now = weiri_monotonic_now();
    CHECK(tries->count == 0 || now - tries->last_ns >= (WEIR_MS(50) << (tries->count - 1)) / 4 * 3);
    tries->last_ns = now;
    tries->count++;
    if (tries->count >= 2) {
        fault_disarm();
    }
}

TEST(consumer_waits,
     "a consumer whose disk is full tries again until there is room, and loses nothing")
{
    fault_install();
    weir_broker *broker;
    struct weir_broker_options broker_options = {0};
    struct tries tries = {0, 0};
    broker_options.log = make_room;
    broker_options.log_arg = &tries;
    CHECK_STATUS(
        jobs_open_at("sqlite:jobs.db", &broker_options, jobs_wall_now, &wall, &broker, NULL),
        WEIR_OK);
    (void)jobs_put(broker, "t", "x", NULL);
    (void)jobs_put(broker, "t", "y", NULL);
    int runs = 0;
    struct weir_consumer_options options = {0};
    options.handler = fill_disk;
    options.arg = &runs;
    options.flags = WEIR_CONSUMER_UNTIL_EMPTY;
    weir_consumer *consumer;
    CHECK_STATUS(weir_consumer_new(broker, "t", &options, &consumer, NULL), WEIR_OK);
    CHECK_STATUS(weir_consumer_start(consumer, NULL), WEIR_OK);
    CHECK_STATUS(weir_consumer_wait(consumer, WEIR_FOREVER, NULL), WEIR_OK);
    CHECK_INT(runs, ==, 2);
    CHECK_INT(fault.failed, >=, 2);
    CHECK_INT(tries.count, >=, 2);
    CHECK_INT(jobs_counts(broker, "t").done, ==, 2);
    weir_consumer_free(consumer);
    weir_broker_close(broker);
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* MAP_ANONYMOUS */

#include <weir/transaction.h>

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"
#include "jobs/sqlite/store.h"
#include "support/faulty_vfs.h"
#include "support/jobs.h"
#include "support/store_query.h"

static struct jobs_wall wall = {JOBS_WALL_START};

/* A store, a connection of the program's with a table of its own, and both together. */
struct outbox {
    weir_broker *broker;
    sqlite3 *db;
    weir_transaction *transaction;
};

static void run(sqlite3 *db, const char *sql)
{
    char *text = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &text) != SQLITE_OK) {
        test_fail(__FILE__, __LINE__, "%s: %s", sql, text);
    }
}

static struct outbox open_outbox(void)
{
    struct outbox outbox = {.broker = jobs_store_open("jobs.db?shared=1", &wall)};
    struct weir_error error = {0};
    CHECK_INT(sqlite3_open("jobs.db", &outbox.db), ==, SQLITE_OK);
    enum weir_status status =
        weir_transaction_new(outbox.broker, outbox.db, &outbox.transaction, &error);
    if (status != WEIR_OK) {
        test_fail(__FILE__, __LINE__, "%s", error.text);
    }
    CHECK_STATUS(weir_transaction_begin(outbox.transaction, NULL), WEIR_OK);
    run(outbox.db, "CREATE TABLE IF NOT EXISTS orders(id INTEGER PRIMARY KEY, item TEXT)");
    CHECK_STATUS(weir_transaction_commit(outbox.transaction, NULL), WEIR_OK);
    return outbox;
}

static void close_outbox(struct outbox *outbox)
{
    CHECK_STATUS(weir_broker_close(outbox->broker), WEIR_EBUSY);
    weir_transaction_free(outbox->transaction);
    CHECK_INT(sqlite3_close(outbox->db), ==, SQLITE_OK);
    CHECK_STATUS(weir_broker_close(outbox->broker), WEIR_OK);
}

static enum weir_status put(struct outbox *outbox, const char *text,
                            const struct weir_put_options *options, struct weir_error *ret_error)
{
    struct weir_body body = {text, strlen(text), NULL};
    return weir_transaction_put(outbox->transaction, "t", &body, 1, options, NULL, ret_error);
}

static void begin(struct outbox *outbox)
{
    CHECK_STATUS(weir_transaction_begin(outbox->transaction, NULL), WEIR_OK);
    run(outbox->db, "INSERT INTO orders(item) VALUES('x')");
}

static void check_both(struct outbox *outbox, int64_t count)
{
    CHECK_INT(query_file(outbox->db, "SELECT count(*) FROM orders"), ==, count);
    CHECK_COUNTS(outbox->broker, "t", 0, count, 0, 0);
}

TEST(both, "after a commit both are there, after a rollback or a free neither")
{
    struct outbox outbox = open_outbox();
    begin(&outbox);
    CHECK_STATUS(put(&outbox, "first", NULL, NULL), WEIR_OK);
    CHECK_COUNTS(outbox.broker, "t", 0, 0, 0, 0);
    CHECK_STATUS(weir_transaction_commit(outbox.transaction, NULL), WEIR_OK);
    check_both(&outbox, 1);
    begin(&outbox);
    CHECK_STATUS(put(&outbox, "second", NULL, NULL), WEIR_OK);
    weir_transaction_rollback(outbox.transaction);
    check_both(&outbox, 1);
    begin(&outbox);
    CHECK_STATUS(put(&outbox, "third", NULL, NULL), WEIR_OK);
    weir_transaction_free(outbox.transaction);
    check_both(&outbox, 1);
    CHECK_STATUS(weir_transaction_new(outbox.broker, outbox.db, &outbox.transaction, NULL),
                 WEIR_OK);
    begin(&outbox);
    CHECK_STATUS(weir_transaction_commit(outbox.transaction, NULL), WEIR_OK);
    (void)jobs_put(outbox.broker, "t", "by the broker", NULL);
    check_both(&outbox, 2);
    close_outbox(&outbox);
}

TEST(many, "a put of many jobs is not cut, and tells their ids; a key and a delay are as always")
{
    struct outbox outbox = open_outbox();
    static struct weir_body bodies[1000];
    static struct weir_job_id ids[1000];
    ((struct weiri_store *)outbox.broker->store)->put_ns = 0;
    begin(&outbox);
    CHECK_STATUS(weir_transaction_put(outbox.transaction, "t", bodies, 1000, NULL, ids, NULL),
                 WEIR_OK);
    CHECK_STRING(ids[999].text, "1000");
    struct weir_put_options options = {0};
    options.delay_ns = WEIR_SECONDS(5);
    options.key = "k";
    CHECK_STATUS(put(&outbox, "x", &options, NULL), WEIR_OK);
    struct weir_error error;
    CHECK_STATUS(put(&outbox, "y", &options, &error), WEIR_EBUSY);
    CHECK_STRING(error.text, "job 1001 has the key \"k\"");
    CHECK_STATUS(weir_transaction_put(outbox.transaction, "t", NULL, 0, NULL, NULL, NULL), WEIR_OK);
    CHECK_STATUS(weir_transaction_commit(outbox.transaction, NULL), WEIR_OK);
    CHECK_COUNTS(outbox.broker, "t", 1, 1000, 0, 0);
    CHECK_INT(jobs_counts(outbox.broker, "t").put, ==, 1001);
    close_outbox(&outbox);
}

TEST(wakes, "a commit notifies consumers of the tube, a rollback does not")
{
    struct outbox outbox = open_outbox();
    struct weiri_mark mark = jobs_mark(outbox.broker, "t");
    begin(&outbox);
    CHECK_STATUS(put(&outbox, "x", NULL, NULL), WEIR_OK);
    weir_transaction_rollback(outbox.transaction);
    CHECK(!jobs_has_news(outbox.broker, mark));
    begin(&outbox);
    CHECK_STATUS(put(&outbox, "x", NULL, NULL), WEIR_OK);
    CHECK(!jobs_has_news(outbox.broker, mark));
    CHECK_STATUS(weir_transaction_commit(outbox.transaction, NULL), WEIR_OK);
    CHECK(jobs_has_news(outbox.broker, mark));
    close_outbox(&outbox);
}

TEST(excludes, "while one is open other writers wait, to their limit; readers do not")
{
    struct outbox outbox = open_outbox();
    struct weir_broker_options options = {0};
    options.allocator = *test_allocator();
    options.busy_ns = WEIR_MS(20);
    weir_broker *other;
    CHECK_STATUS(weir_broker_open("sqlite:jobs.db?shared=1", &options, &other, NULL), WEIR_OK);
    begin(&outbox);
    struct weir_body body = {"x", 1, NULL};
    struct weir_error error;
    CHECK_STATUS(weir_broker_put(other, "t", &body, 1, NULL, NULL, &error), WEIR_ETIMEDOUT);
    CHECK(strstr(error.text, "jobs.db.lock was held by process") != NULL);
    CHECK_COUNTS(other, "t", 0, 0, 0, 0);
    CHECK_STATUS(weir_transaction_commit(outbox.transaction, NULL), WEIR_OK);
    CHECK_STATUS(weir_broker_put(other, "t", &body, 1, NULL, NULL, &error), WEIR_OK);
    weir_broker_close(other);
    close_outbox(&outbox);
}

TEST(states, "calls out of their order change nothing and say why")
{
    struct outbox outbox = open_outbox();
    struct weir_error error;
    CHECK_STATUS(put(&outbox, "x", NULL, &error), WEIR_ESTATE);
    CHECK(strstr(error.text, "expected weir_transaction_begin()") != NULL);
    CHECK_STATUS(weir_transaction_commit(outbox.transaction, &error), WEIR_ESTATE);
    weir_transaction_rollback(outbox.transaction);
    run(outbox.db, "BEGIN");
    CHECK_STATUS(weir_transaction_begin(outbox.transaction, &error), WEIR_ESTATE);
    run(outbox.db, "ROLLBACK");
    begin(&outbox);
    CHECK_STATUS(weir_transaction_begin(outbox.transaction, &error), WEIR_ESTATE);
    CHECK_STATUS(put(&outbox, "x", NULL, NULL), WEIR_OK);
    run(outbox.db, "ROLLBACK");
    CHECK_STATUS(put(&outbox, "x", NULL, &error), WEIR_ESTATE);
    CHECK(strstr(error.text, "was ended by a statement") != NULL);
    CHECK_STATUS(weir_transaction_commit(outbox.transaction, &error), WEIR_ESTATE);
    check_both(&outbox, 0);
    begin(&outbox);
    run(outbox.db, "CREATE TEMP TABLE Jobs(x)");
    CHECK_STATUS(put(&outbox, "x", NULL, &error), WEIR_ESTATE);
    CHECK(strstr(error.text, "a temporary table") != NULL);
    run(outbox.db, "DROP TABLE temp.jobs");
    CHECK_STATUS(put(&outbox, "x", NULL, &error), WEIR_OK);
    CHECK_STATUS(weir_transaction_commit(outbox.transaction, NULL), WEIR_OK);
    check_both(&outbox, 1);
    begin(&outbox);
    run(outbox.db, "COMMIT; BEGIN");
    CHECK_STATUS(weir_transaction_commit(outbox.transaction, &error), WEIR_ESTATE);
    CHECK(strstr(error.text, "was ended by a statement") != NULL);
    close_outbox(&outbox);
}

TEST(deferred, "a commit that the program's own constraints refuse leaves neither")
{
    struct outbox outbox = open_outbox();
    run(outbox.db, "PRAGMA foreign_keys = ON");
    begin(&outbox);
    run(outbox.db, "CREATE TABLE lines(o INTEGER REFERENCES orders(id) DEFERRABLE INITIALLY "
                   "DEFERRED)");
    run(outbox.db, "INSERT INTO lines VALUES(77)");
    CHECK_STATUS(put(&outbox, "x", NULL, NULL), WEIR_OK);
    struct weir_error error;
    CHECK_STATUS(weir_transaction_commit(outbox.transaction, &error), WEIR_ESTATE);
    CHECK(strstr(error.text, "FOREIGN KEY") != NULL);
    check_both(&outbox, 0);
    begin(&outbox);
    sqlite3_stmt *statement;
    CHECK_INT(sqlite3_prepare_v2(outbox.db, "INSERT INTO orders(item) VALUES('y') RETURNING id", -1,
                                 &statement, NULL),
              ==, SQLITE_OK);
    CHECK_INT(sqlite3_step(statement), ==, SQLITE_ROW);
    CHECK_STATUS(weir_transaction_commit(outbox.transaction, &error), WEIR_ETIMEDOUT);
    CHECK_INT(sqlite3_finalize(statement), !=, SQLITE_ROW);
    check_both(&outbox, 0);
    close_outbox(&outbox);
}

static void expect_refusal(const char *url, const char *says)
{
    weir_broker *broker;
    struct weir_error error = {0};
    CHECK_STATUS(jobs_store_try_open(url, &wall, 0, &broker, &error), WEIR_ESCHEMA);
    CHECK(strstr(error.text, says) != NULL);
}

TEST(shared, "tables of the program's need the option, and nothing of its may be on weir's")
{
    struct outbox outbox = open_outbox();
    begin(&outbox);
    run(outbox.db, "CREATE VIEW v AS SELECT * FROM orders; CREATE INDEX i ON orders(item); "
                   "CREATE TRIGGER g AFTER DELETE ON orders BEGIN SELECT 1; END; ANALYZE");
    CHECK_STATUS(weir_transaction_commit(outbox.transaction, NULL), WEIR_OK);
    expect_refusal("jobs.db", "\"orders\" is not as a weir store");
    static const char *const rows[] = {"CREATE INDEX j ON jobs(ttr)", "DROP INDEX j",
                                       "CREATE TRIGGER h AFTER INSERT ON jobs BEGIN SELECT 1; END",
                                       "DROP TRIGGER h"};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i += 2) {
        struct weir_error error = {0};
        begin(&outbox);
        run(outbox.db, rows[i]);
        CHECK_STATUS(weir_transaction_commit(outbox.transaction, &error), WEIR_ESCHEMA);
        CHECK(strstr(error.text, "is not as a weir store") != NULL);
        CHECK_INT(sqlite3_get_autocommit(outbox.db), !=, 0);
        CHECK_INT(query_file(outbox.db, "SELECT count(*) FROM orders"), ==, 1);
        /* Another program's, which weir does not see before. */
        run(outbox.db, rows[i]);
        expect_refusal("jobs.db?shared=1", "is not as a weir store");
        CHECK_STATUS(weir_transaction_begin(outbox.transaction, NULL), WEIR_OK);
        CHECK_STATUS(weir_transaction_commit(outbox.transaction, NULL), WEIR_ESCHEMA);
        CHECK_STATUS(weir_transaction_begin(outbox.transaction, NULL), WEIR_OK);
        run(outbox.db, rows[i + 1]);
        CHECK_STATUS(weir_transaction_commit(outbox.transaction, NULL), WEIR_OK);
    }
    run(outbox.db, "CREATE TEMP TRIGGER h AFTER INSERT ON main.jobs BEGIN SELECT 1; END");
    begin(&outbox);
    CHECK_STATUS(put(&outbox, "x", NULL, NULL), WEIR_ESTATE);
    weir_transaction_rollback(outbox.transaction);
    run(outbox.db, "DROP TRIGGER temp.h");
    begin(&outbox);
    CHECK_STATUS(put(&outbox, "x", NULL, NULL), WEIR_OK);
    CHECK_STATUS(weir_transaction_commit(outbox.transaction, NULL), WEIR_OK);
    /* Repairs keep the program's indexes, and copies have all. */
    struct weiri_store *store = outbox.broker->store;
    CHECK_STATUS(weiri_repair_indexes(store, NULL), WEIR_OK);
    CHECK_STATUS(weir_broker_backup(outbox.broker, "copy.db", NULL), WEIR_OK);
    weir_broker *copy = jobs_store_open("copy.db?shared=1", &wall);
    store = copy->store;
    CHECK_INT(query_file(store->writer.db, "SELECT count(*) FROM sqlite_schema WHERE name = 'i'"),
              ==, 1);
    CHECK_INT(query_file(store->writer.db, "SELECT count(*) FROM orders"), ==, 2);
    CHECK_COUNTS(copy, "t", 0, 1, 0, 0);
    weir_broker_close(copy);
    close_outbox(&outbox);
}

/* A program that writes without weir. */
static sqlite3 *begin_plain(void)
{
    sqlite3 *db;
    CHECK_INT(sqlite3_open("jobs.db", &db), ==, SQLITE_OK);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    run(db, "BEGIN IMMEDIATE");
    return db;
}

static int count_call(void *arg, int calls)
{
    (void)calls;
    ++*(int *)arg;
    return 0;
}

static void try_begin(void *arg)
{
    struct weir_error error = {.text = "untouched"};
    CHECK_STATUS(weir_transaction_begin(arg, &error), WEIR_OK);
    CHECK_STRING(error.text, ""); /* of the tries before neither */
    weir_transaction_rollback(arg);
}

TEST(beside_plain, "a transaction waits for a plain writer, without the lock and any busy handler")
{
    int calls = 0;
    struct outbox outbox = open_outbox();
    CHECK_INT(sqlite3_busy_handler(outbox.db, count_call, &calls), ==, SQLITE_OK);
    sqlite3 *plain = begin_plain();
    struct test_thread *thread = test_start(try_begin, outbox.transaction);
    test_wait_asleep(thread);
    struct weiri_lock_file lock;
    CHECK_INT(weiri_lock_file_open(&lock, "jobs.db.lock"), ==, 0);
    CHECK_INT(weiri_lock_file_lock(&lock, INT64_MAX), ==, 0);
    weiri_lock_file_unlock(&lock);
    weiri_lock_file_close(&lock);
    run(plain, "COMMIT");
    test_join(thread);
    CHECK_INT(calls, ==, 0);
    CHECK_INT(sqlite3_close(plain), ==, SQLITE_OK);
    close_outbox(&outbox);
}

TEST(plain_limit, "a plain writer that does not end is waited for to the broker's limit")
{
    struct outbox outbox = open_outbox();
    struct weiri_store *store = outbox.broker->store;
    struct weiri_broker_config *config = (struct weiri_broker_config *)(uintptr_t)store->config;
    config->busy_ns = WEIR_MS(50);
    sqlite3 *plain = begin_plain();
    struct weir_error error;
    int64_t start = weiri_monotonic_now();
    CHECK_STATUS(weir_transaction_begin(outbox.transaction, &error), WEIR_ETIMEDOUT);
    CHECK(strstr(error.text, "database is locked") != NULL);
    CHECK_INT(weiri_monotonic_now() - start, >=, WEIR_MS(50));
    run(plain, "COMMIT");
    begin(&outbox);
    CHECK_STATUS(weir_transaction_commit(outbox.transaction, NULL), WEIR_OK);
    CHECK_INT(sqlite3_close(plain), ==, SQLITE_OK);
    close_outbox(&outbox);
}

TEST(beside_log, "a transaction that does not begin beside a plain writer leaves the log to that")
{
    struct outbox outbox = open_outbox();
    struct weiri_store *store = outbox.broker->store;
    struct weiri_broker_config *config = (struct weiri_broker_config *)(uintptr_t)store->config;
    config->busy_ns = WEIR_MS(1);
    for (int i = 0; i < 100; i++) { /* the log grows by steps meanwhile */
        struct stat before;
        struct stat after;
        begin(&outbox);
        CHECK_STATUS(weir_transaction_commit(outbox.transaction, NULL), WEIR_OK);
        sqlite3 *plain = begin_plain();
        CHECK_INT(stat("jobs.db-wal", &before), ==, 0);
        CHECK_STATUS(weir_transaction_begin(outbox.transaction, NULL), WEIR_ETIMEDOUT);
        CHECK_INT(stat("jobs.db-wal", &after), ==, 0);
        CHECK_INT(after.st_size, ==, before.st_size);
        run(plain, "COMMIT");
        CHECK_INT(sqlite3_close(plain), ==, SQLITE_OK);
    }
    close_outbox(&outbox);
}

TEST(busy_handler, "a checkpoint after a commit leaves the program's busy handler as it was")
{
    int calls = 0;
    struct outbox outbox = open_outbox();
    CHECK_INT(sqlite3_busy_handler(outbox.db, count_call, &calls), ==, SQLITE_OK);
    size_t size = (size_t)10 << 20;
    char *bytes = calloc(1, size); /* more pages than a log may have without a checkpoint */
    const struct weir_body bodies[] = {{bytes, size, NULL}, {bytes, size, NULL}};
    begin(&outbox);
    CHECK_STATUS(weir_transaction_put(outbox.transaction, "t", bodies, 2, NULL, NULL, NULL),
                 WEIR_OK);
    CHECK_STATUS(weir_transaction_commit(outbox.transaction, NULL), WEIR_OK);
    free(bytes);
    sqlite3 *plain = begin_plain();
    CHECK_INT(sqlite3_exec(outbox.db, "BEGIN IMMEDIATE", NULL, NULL, NULL), ==, SQLITE_BUSY);
    CHECK_INT(calls, ==, 1);
    run(plain, "COMMIT");
    CHECK_INT(sqlite3_close(plain), ==, SQLITE_OK);
    close_outbox(&outbox);
}

static int flushes; /* of the log */
static int writes;  /* to the database */

static void count_flushes(enum fault_kind kind, bool is_log, sqlite3_int64 offset,
                          const void *bytes, int size)
{
    (void)offset;
    (void)bytes;
    (void)size;
    flushes += kind == FAULT_SYNC && is_log;
    writes += kind == FAULT_WRITE && !is_log;
}

TEST(flushed, "a commit is flushed once, that of a table too; a rollback is not")
{
    fault_install();
    struct outbox outbox = open_outbox();
    fault.watch = count_flushes;
    CHECK_STATUS(weir_transaction_begin(outbox.transaction, NULL), WEIR_OK);
    run(outbox.db, "CREATE TABLE more(x)");
    CHECK_INT(flushes, ==, 0);
    CHECK_STATUS(weir_transaction_commit(outbox.transaction, NULL), WEIR_OK);
    CHECK_INT(flushes, ==, 1);
    begin(&outbox);
    CHECK_STATUS(put(&outbox, "x", NULL, NULL), WEIR_OK);
    CHECK_STATUS(weir_transaction_commit(outbox.transaction, NULL), WEIR_OK);
    CHECK_INT(flushes, ==, 2);
    begin(&outbox);
    weir_transaction_rollback(outbox.transaction);
    CHECK_INT(flushes, ==, 2);
    fault.watch = NULL;
    close_outbox(&outbox);
}

TEST(unflushed, "with durability memory neither a commit nor its checkpoint flushes")
{
    fault_install();
    weir_broker *broker = jobs_store_open("jobs.db?shared=1&durability=memory", &wall);
    weir_transaction *transaction;
    sqlite3 *db;
    size_t size = (size_t)10 << 20;
    char *bytes = calloc(1, size); /* more pages than a log may have without a checkpoint */
    const struct weir_body bodies[] = {{bytes, size, NULL}, {bytes, size, NULL}};
    CHECK_INT(sqlite3_open("jobs.db", &db), ==, SQLITE_OK);
    CHECK_STATUS(weir_transaction_new(broker, db, &transaction, NULL), WEIR_OK);
    fault.watch = count_flushes;
    CHECK_STATUS(weir_transaction_begin(transaction, NULL), WEIR_OK);
    CHECK_STATUS(weir_transaction_put(transaction, "t", bodies, 2, NULL, NULL, NULL), WEIR_OK);
    CHECK_STATUS(weir_transaction_commit(transaction, NULL), WEIR_OK);
    fault.watch = NULL;
    CHECK_INT(writes, >, 4000);
    CHECK_INT(flushes, ==, 0);
    free(bytes);
    weir_transaction_free(transaction);
    CHECK_INT(sqlite3_close(db), ==, SQLITE_OK);
    weir_broker_close(broker);
}

TEST(failing,
     "whichever write or flush fails, both are there or neither, and what was told is true")
{
    fault_install();
    bool has_failed = true;
    int failures = 0;
    int64_t told = 0;
    for (int nth = 0; has_failed; nth++) {
        struct outbox outbox = open_outbox();
        struct weiri_store *store = outbox.broker->store;
        int64_t before = query_file(store->writer.db, "SELECT count(*) FROM orders");
        fault_arm(FAULT_WRITE | FAULT_SYNC, nth, false, SQLITE_IOERR_WRITE);
        enum weir_status status = WEIR_OK;
        for (int i = 0; i < 3 && status == WEIR_OK; i++) {
            begin(&outbox);
            status = put(&outbox, "x", NULL, NULL);
            if (status == WEIR_OK) {
                status = weir_transaction_commit(outbox.transaction, NULL);
            } else {
                weir_transaction_rollback(outbox.transaction);
            }
            told += status == WEIR_OK;
        }
        has_failed = fault.failed > 0;
        fault_disarm();
        failures += status != WEIR_OK;
        if (status != WEIR_OK) {
            CHECK_STATUS(status, WEIR_EIO);
            CHECK_STATUS(weir_transaction_begin(outbox.transaction, NULL), WEIR_EIO);
        }
        close_outbox(&outbox);
        outbox.broker = jobs_store_open("jobs.db?shared=1", &wall);
        store = outbox.broker->store;
        int64_t rows = query_file(store->writer.db, "SELECT count(*) FROM orders");
        CHECK_INT(rows - before, <=, 3);
        CHECK_INT(rows, >=, told);
        CHECK_INT(jobs_counts(outbox.broker, "t").ready, ==, rows);
        CHECK_INT(query_file(store->writer.db, "SELECT count(body) FROM jobs"), ==, rows);
        told = rows;
        weir_broker_close(outbox.broker);
    }
    CHECK_INT(failures, >, 3);
}

TEST(killed, "a process that is killed leaves both or neither")
{
    _Atomic int *acknowledged = mmap(NULL, sizeof(*acknowledged), PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(acknowledged != MAP_FAILED);
    uint64_t rounds = test_scaled(20);
    for (uint64_t round = 0; round < rounds; round++) {
        int until = *acknowledged + 1 + (int)test_random_below(20);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            struct outbox outbox = open_outbox();
            for (;;) {
                begin(&outbox);
                CHECK_STATUS(put(&outbox, "x", NULL, NULL), WEIR_OK);
                CHECK_STATUS(weir_transaction_commit(outbox.transaction, NULL), WEIR_OK);
                (*acknowledged)++;
            }
        }
        while (*acknowledged < until) {
            (void)sched_yield();
        }
        CHECK_INT(kill(child, SIGKILL), ==, 0);
        int status;
        CHECK_INT(waitpid(child, &status, 0), ==, child);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        struct outbox outbox = open_outbox();
        int64_t rows = query_file(outbox.db, "SELECT count(*) FROM orders");
        CHECK_INT(rows, >=, *acknowledged);
        CHECK_INT(rows, <=, *acknowledged + 1);
        check_both(&outbox, rows);
        *acknowledged = (int)rows;
        close_outbox(&outbox);
    }
    CHECK_INT(munmap(acknowledged, sizeof(*acknowledged)), ==, 0);
}

TEST_OOM(memory, "every allocation that fails leaves nothing behind")
{
    weir_broker *broker = NULL;
    struct weir_error error;
    if (CHECK_OR_OOM(jobs_store_try_open("jobs.db?shared=1", &wall, 0, &broker, &error))) {
        return;
    }
    sqlite3 *db;
    weir_transaction *transaction = NULL;
    CHECK_INT(sqlite3_open("jobs.db", &db), ==, SQLITE_OK);
    enum weir_status status = weir_transaction_new(broker, db, &transaction, &error);
    struct weir_body body = {"x", 1, NULL};
    if (status == WEIR_OK) {
        CHECK_STATUS(weir_transaction_begin(transaction, &error), WEIR_OK);
        status = weir_transaction_put(transaction, "t", &body, 1, NULL, NULL, &error);
        CHECK_STATUS(weir_transaction_commit(transaction, &error), WEIR_OK);
    }
    (void)CHECK_OR_OOM(status);
    weir_transaction_free(transaction);
    CHECK_INT(sqlite3_close(db), ==, SQLITE_OK);
    weir_broker_close(broker);
}

TEST(no_file, "a connection without a file is not one to a store that was removed")
{
    weir_broker *broker;
    sqlite3 *db;
    weir_transaction *transaction = NULL;
    CHECK_STATUS(jobs_store_try_open("jobs.db", &wall, WEIR_BROKER_SHARED, &broker, NULL), WEIR_OK);
    CHECK_INT(sqlite3_open(":memory:", &db), ==, SQLITE_OK);
    CHECK_INT(unlink("jobs.db"), ==, 0);
    CHECK_STATUS(weir_transaction_new(broker, db, &transaction, NULL), WEIR_EINVAL);
    CHECK_INT(sqlite3_close(db), ==, SQLITE_OK);
    CHECK_STATUS(weir_broker_close(broker), WEIR_OK);
}

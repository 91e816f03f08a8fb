/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Jobs where SQLite gets no memory. */
#include <weir/admin.h>
#include <weir/transaction.h>

#include <unistd.h>

#include "jobs/sqlite/store.h"
#include "support/jobs.h"
#include "support/store_query.h"

static struct jobs_wall wall = {JOBS_WALL_START};

/* While it is armed, SQLite's allocations from the first to the last fail. */
static struct {
    sqlite3_mem_methods system;
    bool is_armed;
    int count;
    int first;
    int last;
} memory;

static bool fails(void)
{
    int nth = memory.is_armed ? memory.count++ : -1;
    return nth >= memory.first && nth <= memory.last && memory.is_armed;
}

static void *allocate(int size)
{
    return fails() ? NULL : memory.system.xMalloc(size);
}

static void *resize(void *old, int size)
{
    return fails() ? NULL : memory.system.xRealloc(old, size);
}

static void install(void)
{
    CHECK_INT(sqlite3_shutdown(), ==, SQLITE_OK);
    CHECK_INT(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &memory.system), ==, SQLITE_OK);
    sqlite3_mem_methods methods = memory.system;
    methods.xMalloc = allocate;
    methods.xRealloc = resize;
    CHECK_INT(sqlite3_config(SQLITE_CONFIG_MALLOC, &methods), ==, SQLITE_OK);
    CHECK_INT(sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0), ==, SQLITE_OK);
}

static void arm(int first, int number)
{
    memory.is_armed = true;
    memory.count = 0;
    memory.first = first;
    memory.last = first + number - 1;
}

/* Whether any failed. */
static bool disarm(void)
{
    memory.is_armed = false;
    return memory.count > memory.first;
}

static void remove_store(void)
{
    static const char *const files[] = {"jobs.db", "jobs.db-wal", "jobs.db-shm", "jobs.db.lock"};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        (void)unlink(files[i]);
    }
}

/* So many in a row. */
static const int numbers[] = {1, 20, 1000};

TEST(put,
     "a put that gets no memory leaves no transaction: the next one is done, by this handle and "
     "by others")
{
    install();
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        for (int first = 0, has_failed = 1; has_failed != 0; first += 5) {
            remove_store();
            weir_broker *broker = jobs_store_open("jobs.db?durability=memory", &wall);
            const struct weiri_store *store = broker->store;
            const struct weir_body body = {"x", 1, NULL};
            arm(first, numbers[i]);
            enum weir_status status = weir_broker_put(broker, "t", &body, 1, NULL, NULL, NULL);
            has_failed = disarm();
            CHECK(status == WEIR_OK || status == WEIR_ENOMEM);
            CHECK_INT(sqlite3_get_autocommit(store->writer.db), ==, 1);
            CHECK_STATUS(weir_broker_put(broker, "t", &body, 1, NULL, NULL, NULL), WEIR_OK);
            CHECK_COUNTS(broker, "t", 0, status == WEIR_OK ? 2 : 1, 0, 0);
            CHECK_STATUS(weir_broker_close(broker), WEIR_OK);
        }
    }
}

static void ignore(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    (void)values;
    sqlite3_result_null(context);
}

/* Has SQLite prepare all statements anew at their next run, as it does where a function of theirs
 * may have changed. */
static void expire_statements(sqlite3 *db)
{
    for (int i = 0; i < 2; i++) {
        CHECK_INT(sqlite3_create_function(db, "f", 0, SQLITE_UTF8, NULL, ignore, NULL, NULL), ==,
                  SQLITE_OK);
    }
}

TEST(lasting, "where a transaction cannot be rolled back the handle acknowledges nothing more, and "
              "its close ends the transaction")
{
    int told = 0;
    install();
    for (int first = 0, has_failed = 1; has_failed != 0; first += 5) {
        remove_store();
        weir_broker *broker = jobs_store_open("jobs.db?durability=memory", &wall);
        const struct weiri_store *store = broker->store;
        const struct weir_body body = {"x", 1, NULL};
        expire_statements(store->writer.db);
        arm(first, 1000);
        enum weir_status status = weir_broker_put(broker, "t", &body, 1, NULL, NULL, NULL);
        has_failed = disarm();
        struct weir_error error = {0};
        enum weir_status next = weir_broker_put(broker, "t", &body, 1, NULL, NULL, &error);
        if (next != WEIR_OK) {
            CHECK_STATUS(status, WEIR_ENOMEM);
            CHECK_STATUS(next, WEIR_EIO);
            CHECK(strstr(error.text, "reopen") != NULL);
            told++;
        }
        CHECK_STATUS(weir_broker_close(broker), WEIR_OK);
        broker = jobs_store_open("jobs.db?durability=memory", &wall);
        (void)jobs_put(broker, "t", "x", NULL);
        CHECK_COUNTS(broker, "t", 0, 1 + (status == WEIR_OK) + (next == WEIR_OK), 0, 0);
        CHECK_STATUS(weir_broker_close(broker), WEIR_OK);
    }
    CHECK_INT(told, >, 0);
}

TEST(transaction,
     "a put in a transaction of the program's that gets no memory is there whole or not "
     "at all")
{
    install();
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        for (int first = 0, has_failed = 1; has_failed != 0; first += 5) {
            static char large[9000];
            const struct weir_body bodies[] = {{large, sizeof(large), NULL},
                                               {large, sizeof(large), NULL}};
            remove_store();
            weir_broker *broker = jobs_store_open("jobs.db?shared=1&durability=memory", &wall);
            sqlite3 *db;
            weir_transaction *transaction;
            CHECK_INT(sqlite3_open("jobs.db", &db), ==, SQLITE_OK);
            CHECK_STATUS(weir_transaction_new(broker, db, &transaction, NULL), WEIR_OK);
            CHECK_STATUS(weir_transaction_begin(transaction, NULL), WEIR_OK);
            arm(first, numbers[i]);
            enum weir_status status =
                weir_transaction_put(transaction, "t", bodies, 2, NULL, NULL, NULL);
            has_failed = disarm();
            CHECK(status == WEIR_OK || status == WEIR_ENOMEM);
            enum weir_status end = weir_transaction_commit(transaction, NULL);
            CHECK(end == WEIR_OK || (status != WEIR_OK && end == WEIR_ESTATE));
            int64_t count = status == WEIR_OK ? 2 : 0;
            CHECK_INT(query_file(db, "SELECT count(*) FROM jobs"), ==, count);
            CHECK_INT(query_file(db, "SELECT count(*) FROM bodies"), ==, count);
            CHECK_INT(query_file(db, "SELECT count(*) FROM jobs WHERE state = 2"), ==, count);
            weir_transaction_free(transaction);
            CHECK_INT(sqlite3_close(db), ==, SQLITE_OK);
            CHECK_STATUS(weir_broker_close(broker), WEIR_OK);
        }
    }
}

/* Has the next transaction of the broker's reader fail. */
static int arm_reader(const struct weir_job *job, void *db)
{
    (void)job;
    if (!memory.is_armed) {
        expire_statements(db);
        arm(0, 1000);
    }
    return 0;
}

TEST(peek, "a peek that gets no memory for its second job has told the first one, once")
{
    install();
    weir_broker *broker = jobs_store_open("jobs.db?durability=memory", &wall);
    const struct weiri_store *store = broker->store;
    for (int i = 0; i < 3; i++) {
        (void)jobs_put(broker, "t", "a body", NULL);
    }
    CHECK_COUNTS(broker, "t", 0, 3, 0, 0); /* the reader is open */
    CHECK_STATUS(weir_broker_peek(broker, "t", 0, 3, arm_reader, store->idle_reader->db, NULL),
                 WEIR_ENOMEM);
    CHECK(disarm());
    weir_broker_close(broker);
}

TEST(backup, "a copy of a store that gets no memory fails, wherever that is")
{
    install();
    weir_broker *broker = jobs_store_open("jobs.db?durability=memory", &wall);
    (void)jobs_put(broker, "t", "a body", NULL);
    for (int first = 0, has_failed = 1; has_failed != 0; first += 3) {
        arm(first, 1000);
        enum weir_status status = weir_broker_backup(broker, "copy.db", NULL);
        has_failed = disarm();
        CHECK_INT(status == WEIR_OK, ==, has_failed == 0);
        CHECK_INT(access("copy.db", F_OK) == 0, ==, has_failed == 0);
    }
    CHECK_STATUS(weir_broker_close(broker), WEIR_OK);
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <sqlite3.h>

#include <weir/transaction.h>

#include "conformance/store/bad_put.h"

/* Bad input to the functions of weir/transaction.h. */

#define TRIGGER "CREATE TRIGGER theirs AFTER INSERT ON jobs BEGIN SELECT 1; END"
#define TO_WRITE SQLITE_OPEN_READWRITE

/* The world's store, opened to be shared, and a connection of the program's. */
struct outbox {
    weir_broker *broker;
    sqlite3 *db;
    weir_transaction *transaction;
};

static void run(sqlite3 *db, const char *sql)
{
    CHECK_INT(sqlite3_exec(db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
}

static struct outbox open_outbox(struct world *w)
{
    struct outbox outbox = {0};
    CHECK_STATUS(jobs_store_try_open(w->path, &w->wall, WEIR_BROKER_SHARED, &outbox.broker, NULL),
                 WEIR_OK);
    CHECK_INT(sqlite3_open(w->path, &outbox.db), ==, SQLITE_OK);
    CHECK_STATUS(weir_transaction_new(outbox.broker, outbox.db, &outbox.transaction, NULL),
                 WEIR_OK);
    return outbox;
}

static void close_outbox(struct outbox *outbox)
{
    weir_transaction_free(outbox->transaction);
    CHECK_INT(sqlite3_close(outbox->db), ==, SQLITE_OK);
    CHECK_STATUS(weir_broker_close(outbox->broker), WEIR_OK);
}

static enum weir_status make(weir_broker *broker, sqlite3 *db)
{
    weir_transaction *untouched = (weir_transaction *)&rows;
    weir_transaction *transaction = untouched;
    enum weir_status status = tell(weir_transaction_new(broker, db, &transaction, told));
    CHECK((transaction == untouched) == (status != WEIR_OK));
    if (status == WEIR_OK) {
        weir_transaction_free(transaction);
    }
    return status;
}

/* A connection that no refusal looks at. */
static enum weir_status make_on(struct world *w, weir_broker *broker)
{
    (void)w;
    return make(broker, (sqlite3 *)&rows);
}

WRITER_ROWS(weir_transaction_new, make_on)
CLUSTER_ROWS(weir_transaction_new, make_on)

ROW(weir_transaction_new, broker, unshared, WEIR_EINVAL)
{
    return make_on(w, w->broker);
}

/* A connection to a file. */
struct connection {
    const char *path;
    int flags;
    const char *before; /* a statement before the call */
    const char *after;
    bool is_starved; /* no memory is left */
};

static enum weir_status make_to(struct world *w, const struct connection *to)
{
    weir_broker *broker;
    sqlite3 *db;
    CHECK_STATUS(jobs_store_try_open(w->path, &w->wall, WEIR_BROKER_SHARED, &broker, NULL),
                 WEIR_OK);
    CHECK_INT(sqlite3_open_v2(to->path, &db, to->flags, NULL), ==, SQLITE_OK);
    run(db, to->before);
    test_fail_allocation(to->is_starved ? 1 : 0, true);
    enum weir_status status = make(broker, db);
    test_fail_allocation(0, false);
    run(db, to->after);
    CHECK_INT(sqlite3_close(db), ==, SQLITE_OK);
    CHECK_STATUS(weir_broker_close(broker), WEIR_OK);
    return status;
}

ROW(weir_transaction_new, connection, null, WEIR_EINVAL)
{
    return make(w->broker, NULL);
}

ROW(weir_transaction_new, connection, other_file, WEIR_EINVAL)
{
    CHECK_STATUS(make_to(w, &(struct connection){.path = ":memory:", .flags = TO_WRITE}),
                 WEIR_EINVAL);
    enum weir_status status =
        make_to(w, &(struct connection){"other.db", TO_WRITE | SQLITE_OPEN_CREATE,
                                        "CREATE TABLE t(x)", "", false});
    check_says("expected the broker's store");
    CHECK_INT(unlink("other.db"), ==, 0);
    return status;
}

ROW(weir_transaction_new, connection, read_only, WEIR_EACCESS)
{
    return make_to(w, &(struct connection){.path = w->path, .flags = SQLITE_OPEN_READONLY});
}

ROW(weir_transaction_new, connection, open_transaction, WEIR_ESTATE)
{
    return make_to(w, &(struct connection){w->path, TO_WRITE, "BEGIN", "COMMIT", false});
}

ROW(weir_transaction_new, connection, trigger, WEIR_ESCHEMA)
{
    return make_to(w,
                   &(struct connection){w->path, TO_WRITE, TRIGGER, "DROP TRIGGER theirs", false});
}

ROW(weir_transaction_new, ret_transaction, null, WEIR_EINVAL)
{
    return tell(weir_transaction_new(w->broker, (sqlite3 *)&rows, NULL, told));
}

ROW(weir_transaction_new, memory, none, WEIR_ENOMEM)
{
    return make_to(w, &(struct connection){.path = w->path, .flags = TO_WRITE, .is_starved = true});
}

/* A call in a transaction that has begun, which goes on where the call is refused. */
typedef enum weir_status call_fn(struct world *w, weir_transaction *transaction);

static enum weir_status in_outbox(struct world *w, call_fn *call, const char *sql, bool is_begun)
{
    struct outbox outbox = open_outbox(w);
    if (is_begun) {
        CHECK_STATUS(weir_transaction_begin(outbox.transaction, NULL), WEIR_OK);
    }
    run(outbox.db, sql);
    enum weir_status status = call(w, outbox.transaction);
    close_outbox(&outbox);
    return status;
}

/* In a child of this row's own, since the transaction is to be its parent's. */
static enum weir_status in_child(struct world *w, call_fn *call)
{
    struct outbox outbox = open_outbox(w);
    pid_t child = fork();
    if (child == 0) {
        CHECK_STATUS(call(w, outbox.transaction), WEIR_EFORKED);
        test_end_child();
    }
    wait_for(child);
    close_outbox(&outbox);
    return WEIR_EFORKED;
}

#define TRANSACTION_ROWS(function, call)                                                           \
    ROW(function, transaction, null, WEIR_EINVAL)                                                  \
    {                                                                                              \
        return call(w, NULL);                                                                      \
    }                                                                                              \
    ROW(function, transaction, parents, WEIR_EFORKED)                                              \
    {                                                                                              \
        return in_child(w, call);                                                                  \
    }

static enum weir_status begin(struct world *w, weir_transaction *transaction)
{
    (void)w;
    return tell(weir_transaction_begin(transaction, told));
}

static enum weir_status commit(struct world *w, weir_transaction *transaction)
{
    (void)w;
    return tell(weir_transaction_commit(transaction, told));
}

static enum weir_status put_one(struct world *w, weir_transaction *transaction)
{
    return tell(weir_transaction_put(transaction, TUBE, &body, 1, NULL, &w->id, told));
}

TRANSACTION_ROWS(weir_transaction_begin, begin)
TRANSACTION_ROWS(weir_transaction_put, put_one)
TRANSACTION_ROWS(weir_transaction_commit, commit)

ROW(weir_transaction_begin, transaction, begun, WEIR_ESTATE)
{
    CHECK_STATUS(in_outbox(w, begin, "BEGIN", false), WEIR_ESTATE);
    return in_outbox(w, begin, "", true);
}

ROW(weir_transaction_commit, transaction, not_begun, WEIR_ESTATE)
{
    CHECK_STATUS(in_outbox(w, commit, "", false), WEIR_ESTATE);
    check_says("expected weir_transaction_begin()");
    CHECK_STATUS(in_outbox(w, commit, "ROLLBACK", true), WEIR_ESTATE);
    check_says("was ended by a statement");
    return WEIR_ESTATE;
}

ROW(weir_transaction_commit, transaction, trigger, WEIR_ESCHEMA)
{
    return in_outbox(w, commit, TRIGGER, true);
}

ROW(weir_transaction_put, transaction, not_begun, WEIR_ESTATE)
{
    CHECK_STATUS(in_outbox(w, put_one, "", false), WEIR_ESTATE);
    check_says("expected weir_transaction_begin()");
    return in_outbox(w, put_one, "ROLLBACK", true);
}

ROW(weir_transaction_put, transaction, shadowed, WEIR_ESTATE)
{
    CHECK_STATUS(in_outbox(w, put_one, "CREATE TEMP TABLE Jobs(x)", true), WEIR_ESTATE);
    return in_outbox(w, put_one,
                     "CREATE TEMP TRIGGER h AFTER INSERT ON main.jobs BEGIN SELECT 1; END", true);
}

/* The arguments of a put, which is rolled back. */
struct put {
    const char *tube;
    const struct weir_body *bodies;
    size_t count;
    const struct weir_put_options *options;
    struct weir_job_id *ret_ids;
    bool is_starved; /* no memory is left */
};

static enum weir_status put(struct world *w, const struct put *put)
{
    struct outbox outbox = open_outbox(w);
    CHECK_STATUS(weir_transaction_begin(outbox.transaction, NULL), WEIR_OK);
    test_fail_allocation(put->is_starved ? 1 : 0, true);
    enum weir_status status = tell(weir_transaction_put(
        outbox.transaction, put->tube, put->bodies, put->count, put->options, put->ret_ids, told));
    test_fail_allocation(0, false);
    CHECK_STATUS(weir_transaction_put(outbox.transaction, TUBE, &body, 1, NULL, NULL, NULL),
                 WEIR_OK); /* it goes on */
    close_outbox(&outbox);
    check_unchanged_but_ids(w);
    return status;
}

static enum weir_status put_into(struct world *w, const char *tube)
{
    return put(w, &(struct put){.tube = tube, .bodies = &body, .count = 1, .ret_ids = &w->id});
}

static enum weir_status put_bodies(struct world *w, const struct weir_body *bodies, size_t count,
                                   const struct weir_put_options *options)
{
    return put(w, &(struct put){TUBE, bodies, count, options, &w->id, false});
}

static enum weir_status put_with(struct world *w, const struct weir_put_options *options)
{
    return put_bodies(w, &body, 1, options);
}

TUBE_ROWS(weir_transaction_put, put_into)
OPTION_ROWS(weir_transaction_put, put_with)
JOB_OPTION_ROWS(weir_transaction_put, put_with)
BODIES_ROWS(weir_transaction_put, put_bodies)

ROW(weir_transaction_put, options, key_taken, WEIR_EBUSY)
{
    const struct weir_put_options options = {.key = KEY};
    struct weir_job_id id; /* of the job that has it */
    return put(w, &(struct put){TUBE, &body, 1, &options, &id, false});
}

ROW(weir_transaction_put, options, put_id_taken, WEIR_ESTATE)
{
    const struct weir_put_options options = {.put_id = PUT_ID};
    struct weir_job_id id; /* of the job that has it */
    return put(w, &(struct put){TUBE, &body, 1, &options, &id, false});
}

ROW(weir_transaction_put, ret_ids, null, WEIR_OK)
{
    return put(w, &(struct put){.tube = TUBE, .bodies = &body, .count = 1});
}

ROW(weir_transaction_put, memory, none, WEIR_ENOMEM)
{
    return put(w, &(struct put){TUBE, &body, 1, NULL, &w->id, true});
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Jobs in transactions of the program, on its own connection.
 *
 * The connection becomes the writer of a store of its own, beside the broker's: both exclude each
 * other by the lock file, as two processes do. Another connection, of weir's, does what would need
 * another busy handler than the program's: it looks whether another program writes, and
 * checkpoints. */

#include <poll.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/time.h"
#include "jobs/sqlite/file.h"
#include "jobs/sqlite/put.h"
#include "jobs/sqlite/schema.h"
#include "jobs/sqlite/space.h"
#include "jobs/sqlite/store.h"
#include "jobs/sqlite/write.h"

struct transaction {
    struct weiri_store store;     /* its writer is the program's connection */
    struct weiri_connection weir; /* the other connection */
    bool is_open;                 /* it has the lock */
};

static enum weir_status check_connection(sqlite3 *db, const struct weiri_store *store,
                                         struct weir_error *ret_error)
{
    const char *name = sqlite3_db_filename(db, "main");
    uint64_t identity = name == NULL ? 0 : weiri_file_identify(name);
    if (identity == 0 || identity != weiri_file_identify(store->path)) {
        return weiri_fail(ret_error, WEIR_EINVAL,
                          "the connection is to \"%.200s\": expected the broker's store, %s",
                          name == NULL ? "" : name, store->path);
    }
    if (sqlite3_db_readonly(db, "main") != 0) {
        return weiri_fail(ret_error, WEIR_EACCESS, "the connection to %s is read-only",
                          store->path);
    }
    return sqlite3_get_autocommit(db) != 0
               ? WEIR_OK
               : weiri_fail(ret_error, WEIR_ESTATE,
                            "the connection has an open transaction: expected none");
}

static void close_weir(struct transaction *transaction)
{
    weiri_connection_finalize(&transaction->store.writer);
    weiri_connection_close(&transaction->weir, false);
}

/* Checks that nothing of the program's is on weir's tables. */
static enum weir_status check_schema(struct weiri_store *store, struct weir_error *ret_error)
{
    return weiri_schema_check(&store->writer, store->path, store->config->flags, ret_error);
}

static enum weir_status prepare(struct weiri_store *store, void *arg, struct weir_error *ret_error)
{
    struct transaction *transaction = arg;
    sqlite3 *db = store->writer.db;
    enum weir_status status = check_schema(store, ret_error);
    if (status == WEIR_OK) {
        status =
            weiri_connection_open(&transaction->weir, store->path, false, store->config, ret_error);
        store->checkpointer = transaction->weir.db;
    }
    if (status == WEIR_OK) {
        (void)sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        weiri_space_set_chunk(db, WEIRI_CHUNK_SIZE);
        weiri_sql_prepare_ends(&store->writer);
        status = weiri_sql_end(&store->writer, store->path, ret_error);
    }
    if (status == WEIR_OK) {
        status = weiri_write_prepare(store, ret_error);
        store->put_ns = INT64_MAX; /* a put is never cut */
    }
    if (status != WEIR_OK) {
        close_weir(transaction);
    }
    return status;
}

static enum weir_status open_beside(struct weiri_store *store, void *arg,
                                    struct weir_error *ret_error)
{
    return weiri_store_open_locked(store, prepare, arg, ret_error);
}

enum weir_status weiri_transaction_open(void *broker_store, void *connection,
                                        void **ret_transaction, struct weir_error *ret_error)
{
    const struct weiri_store *parent = broker_store;
    if ((parent->config->flags & WEIR_BROKER_SHARED) == 0) {
        return weiri_fail(ret_error, WEIR_EINVAL,
                          "the broker is not shared: expected sqlite:PATH?shared=1, or "
                          "WEIR_BROKER_SHARED");
    }
    enum weir_status status = check_connection(connection, parent, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    const struct weir_allocator *allocator = &parent->config->allocator;
    struct transaction *transaction = weiri_alloc_zero(allocator, 1, sizeof(*transaction));
    if (transaction == NULL) {
        return weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    struct weiri_store *store = &transaction->store;
    store->config = parent->config;
    store->writer.db = connection;
    memcpy(store->path, parent->path, sizeof(store->path));
    status = weiri_store_open(store, open_beside, transaction, ret_error);
    if (status != WEIR_OK) {
        weiri_release(allocator, transaction, sizeof(*transaction));
        return status;
    }
    *ret_transaction = transaction;
    return WEIR_OK;
}

/* Ends what the lock was taken for. */
static void leave(struct transaction *transaction)
{
    transaction->is_open = false;
    weiri_lock_file_unlock(&transaction->store.lock_file);
}

/* SQLITE_BUSY: another program writes. That is found on weir's connection, which does not wait, and
 * at once let go. Only where another one comes in between, the program's busy handler waits under
 * the store's lock. */
static int try_begin(struct transaction *transaction)
{
    (void)sqlite3_busy_timeout(transaction->weir.db, 0);
    int code = weiri_sql_run(&transaction->weir, WEIRI_SQL_BEGIN, NULL);
    if (code == SQLITE_OK) {
        code = weiri_write_rollback(&transaction->store, &transaction->weir);
    }
    return code == SQLITE_OK ? weiri_write_begin(&transaction->store) : code;
}

/* Begins under the store's lock, which is released while another program writes, since that may
 * take long: until the broker's time limit. */
static enum weir_status begin(struct transaction *transaction, struct weir_error *ret_error)
{
    struct weiri_store *store = &transaction->store;
    int64_t limit = weiri_write_limit(store);
    enum weir_status status = weiri_write_lock(store, limit, ret_error);
    while (status == WEIR_OK) {
        int code = try_begin(transaction);
        if (code == SQLITE_OK) {
            transaction->is_open = true;
            store->changes_before = -1;     /* SQLite counts no changes of the schema */
            store->follow_left = INT64_MAX; /* it is one for all */
            weiri_error_clear(ret_error);
            return WEIR_OK;
        }
        weiri_sql_fail(&store->writer, code);
        status = weiri_write_end(store, false, ret_error);
        weiri_lock_file_unlock(&store->lock_file);
        if (status == WEIR_ETIMEDOUT && weiri_monotonic_now() < limit) {
            (void)poll(NULL, 0, 10); /* ms: nothing notifies of the end of a plain writer */
            status = weiri_write_lock(store, limit, ret_error);
        }
    }
    return status;
}

static enum weir_status begin_step(struct transaction *transaction, struct weir_error *ret_error)
{
    struct weiri_store *store = &transaction->store;
    if (transaction->is_open || sqlite3_get_autocommit(store->writer.db) == 0) {
        return weiri_fail(ret_error, WEIR_ESTATE,
                          "the connection has an open transaction: expected none");
    }
    store->remark.after = NULL;
    store->must_flush = false;
    enum weir_status status = begin(transaction, ret_error);
    weiri_write_say(store, &store->remark);
    return status;
}

/* Whether SQLite or the program ended the transaction. */
static enum weir_status check_open(struct transaction *transaction, struct weir_error *ret_error)
{
    if (!transaction->is_open) {
        return weiri_fail(ret_error, WEIR_ESTATE,
                          "there is no transaction: expected weir_transaction_begin() before");
    }
    if (weiri_write_has_failed(&transaction->store)) {
        return weiri_write_refuse(&transaction->store, ret_error);
    }
    return sqlite3_txn_state(transaction->store.writer.db, "main") == SQLITE_TXN_WRITE
               ? WEIR_OK
               : weiri_fail(ret_error, WEIR_ESTATE,
                            "the transaction was ended by a statement, or by SQLite after a "
                            "failure: expected weir_transaction_rollback() or _commit()");
}

/* Statements of weir's would use a temporary table of the same name. */
static enum weir_status check_names(struct weiri_store *store, struct weir_error *ret_error)
{
    int64_t ignored;
    if (weiri_sql_find(&store->writer, WEIRI_SQL_SHADOW, NULL, &ignored)) {
        return weiri_fail(ret_error, WEIR_ESTATE,
                          "a temporary table has the name of one of weir's: expected another");
    }
    return weiri_sql_end(&store->writer, store->path, ret_error);
}

static enum weir_status put(struct transaction *transaction, const struct weiri_put *put,
                            struct weir_job_id *ret_ids, struct weir_error *ret_error)
{
    struct weiri_store *store = &transaction->store;
    enum weir_status status = check_names(store, ret_error);
    if (status != WEIR_OK || put->count == 0) {
        return status;
    }
    const struct weir_allocator *allocator = &store->config->allocator;
    struct weiri_put_request request = {
        .put = put, .numbers = weiri_alloc_array(allocator, put->count, sizeof(*request.numbers))};
    if (request.numbers == NULL) {
        return weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    weiri_put_run_whole(store, &request);
    /* What the program does next may succeed. */
    status = weiri_sql_end(&store->writer, store->path, ret_error);
    if (status == WEIR_OK) {
        status = weiri_put_finish(&request, ret_ids, ret_error);
    }
    weiri_release(allocator, request.numbers, put->count * sizeof(*request.numbers));
    return status;
}

static void rollback(struct transaction *transaction)
{
    struct weiri_store *store = &transaction->store;
    if (transaction->is_open) {
        (void)weiri_write_rollback(store, &store->writer);
        leave(transaction);
        weiri_write_say(store, &store->remark);
    }
}

static enum weir_status commit(struct transaction *transaction, struct weir_error *ret_error)
{
    struct weiri_store *store = &transaction->store;
    enum weir_status status = check_schema(store, ret_error);
    if (status != WEIR_OK) {
        rollback(transaction);
        return status;
    }
    status = weiri_write_end(store, true, ret_error);
    if (status == WEIR_OK) {
        weiri_write_checkpoint_if_due(store);
    }
    leave(transaction);
    if (status == WEIR_OK && store->must_flush) {
        status = weiri_write_flush(store, ret_error);
    }
    weiri_write_say(store, &store->remark);
    return status;
}

static void release(struct transaction *transaction)
{
    struct weiri_store *store = &transaction->store;
    const struct weir_allocator *allocator = &store->config->allocator;
    rollback(transaction);
    close_weir(transaction);
    /* Without a hook there are no checkpoints either. */
    (void)sqlite3_wal_hook(store->writer.db, NULL, NULL);
    weiri_lock_file_close(&store->lock_file);
    weiri_store_fini(store);
    weiri_release(allocator, transaction, sizeof(*transaction));
}

enum weir_status weiri_transaction_step(void *own, enum weiri_transaction_step step,
                                        const struct weiri_put *bodies, struct weir_job_id *ret_ids,
                                        struct weir_error *ret_error)
{
    struct transaction *transaction = own;
    enum weir_status status = WEIR_OK;
    switch (step) {
    case WEIRI_TRANSACTION_BEGIN:
        return begin_step(transaction, ret_error);
    case WEIRI_TRANSACTION_CHECK:
        return check_open(transaction, ret_error);
    case WEIRI_TRANSACTION_PUT:
        return put(transaction, bodies, ret_ids, ret_error);
    case WEIRI_TRANSACTION_COMMIT:
        status = check_open(transaction, ret_error);
        if (status == WEIR_OK) {
            return commit(transaction, ret_error);
        }
        break;
    case WEIRI_TRANSACTION_ROLLBACK:
        break;
    case WEIRI_TRANSACTION_FREE:
        release(transaction);
        return WEIR_OK;
    }
    rollback(transaction);
    return status;
}

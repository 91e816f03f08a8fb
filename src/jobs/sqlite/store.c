/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Opening and closing a store, and its channels. */
#include "jobs/sqlite/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/panic.h"
#include "base/time.h"
#include "jobs/core/fields.h"
#include "jobs/sqlite/body.h"
#include "jobs/sqlite/file.h"
#include "jobs/sqlite/read.h"
#include "jobs/sqlite/schema.h"
#include "jobs/sqlite/stamp.h"
#include "jobs/sqlite/worker.h"
#include "jobs/sqlite/write.h"

/* Eras are microseconds from 2020 on: so their tokens are exact as numbers of JSON. */
#define ERA_START_NS WEIR_SECONDS(1577836800)

unsigned weiri_store_channel(int64_t tube)
{
    bool has_own = tube > 0 && tube < WEIRI_CHANNEL_SHARED - WEIRI_CHANNEL_CONTROL;
    return has_own ? WEIRI_CHANNEL_CONTROL + (unsigned)tube : WEIRI_CHANNEL_SHARED;
}

enum weir_status weiri_number_parse(const char *name, const char *text, int64_t *ret_number,
                                    struct weir_error *ret_error)
{
    uint64_t number;
    if (text[0] == '0' || !weiri_number_read(text, strlen(text), &number) || number > INT64_MAX) {
        return weiri_fail(ret_error, WEIR_EINVAL, "%s \"%.40s\" is no decimal number from 1 on",
                          name, text);
    }
    *ret_number = (int64_t)number;
    return WEIR_OK;
}

void weiri_number_format(int64_t number, struct weir_job_id *ret_id)
{
    (void)snprintf(ret_id->text, sizeof(ret_id->text), "%" PRId64, number);
}

enum weir_status weiri_store_refuse_lock(const struct weiri_store *store, int error,
                                         struct weir_error *ret_error)
{
    return error == EBADMSG
               ? weiri_fail(
                     ret_error, WEIR_ESCHEMA,
                     "%s is not the lock file of a store: expected none, or one that weir made",
                     store->lock.path)
               : weiri_file_fail(ret_error, error, store->lock.path, "");
}

enum weir_status weiri_store_lock(struct weiri_store *store, int64_t limit_ns,
                                  struct weir_error *ret_error)
{
    int error = weiri_lock_file_lock(&store->lock_file, limit_ns);
    if (error == 0) {
        return WEIR_OK;
    }
    if (error == ETIMEDOUT) {
        char text[64];
        return weiri_fail(ret_error, WEIR_ETIMEDOUT,
                          "%s was held by %s for %lld ms, the time limit", store->lock.path,
                          weiri_lock_holder_name(weiri_lock_holder_find(store->lock.path), text),
                          (long long)(store->config->busy_ns / WEIR_MS(1)));
    }
    return weiri_store_refuse_lock(store, error, ret_error);
}

/* Reads the store's era, and first, at an open that is alone in writing, begins one where the boot
 * has none of the store, or where the lock file is new, as beside a copy that was put in the
 * store's place. An earlier boot's leases end: their holders are gone, and their times are of no
 * use. Under the store's lock; not beside others, since two containers of a host may name its boot
 * differently. Where the boot has no name, each open that is alone begins an era, and a lease is of
 * another boot if it ends later than its job's TTR from now. */
static enum weir_status begin_boot(struct weiri_store *store, struct weir_error *ret_error)
{
    struct weiri_connection *writer = &store->writer;
    const struct weiri_value *boot =
        WEIRI_VALUES(store->config->clocks.boot_name, weiri_store_lease_now(store));
    int64_t era = weiri_time_since(ERA_START_NS, weiri_store_now(store)) / WEIR_US(1);
    sqlite3_stmt *statement;
    int64_t ignored;
    bool is_begun =
        weiri_lock_is_shared(store->lock_file.fd) ||
        (!store->lock_file.is_made && weiri_sql_find(writer, WEIRI_SQL_IS_BEGUN, boot, &ignored));
    if (!is_begun && writer->code == SQLITE_OK) {
        weiri_sql_run(writer, WEIRI_SQL_BEGIN, NULL);
        weiri_sql_run(writer, WEIRI_SQL_END_LEASES, boot);
        weiri_sql_run(writer, WEIRI_SQL_END_WORKERS, NULL);
        weiri_sql_run(writer, WEIRI_SQL_BEGIN_ERA,
                      WEIRI_VALUES(store->config->clocks.boot_name, era));
        weiri_sql_run(writer, WEIRI_SQL_COMMIT, NULL);
    }
    bool is_there = weiri_sql_first(writer, WEIRI_SQL_ERA, NULL, &statement);
    store->era = is_there ? sqlite3_column_int64(statement, 0) : era;
    store->older = is_there ? sqlite3_column_int64(statement, 1) : INT64_MAX;
    weiri_sql_leave(statement);
    int code = weiri_sql_forget(writer);
    enum weir_status status = WEIR_OK;
    /* Damage is left to the first commit, which can repair it, and to the next open. Until then the
     * handle has an era of its own. */
    if (code != SQLITE_OK && (code & 0xff) != SQLITE_CORRUPT) {
        code = weiri_sqlite_refine(writer->db, SQLITE_FCNTL_JOURNAL_POINTER, code);
        status = weiri_sqlite_fail(ret_error, writer->db, code, store->path);
    }
    if (sqlite3_get_autocommit(writer->db) == 0) {
        weiri_sql_run(writer, WEIRI_SQL_ROLLBACK, NULL);
    }
    return status;
}

static enum weir_status open_connection(struct weiri_store *store, struct weir_error *ret_error)
{
    bool has_log = weiri_place_size(store->path, "-wal") >= 0;
    enum weir_status status =
        weiri_connection_open(&store->writer, store->path, false, store->config, ret_error);
    if (status == WEIR_OK) {
        status = begin_boot(store, ret_error);
    }
    if (status == WEIR_OK) {
        status = weiri_write_prepare(store, ret_error);
    }
    if (status != WEIR_OK) {
        bool may_fold = !has_log && !weiri_lock_is_shared(store->lock_file.fd);
        weiri_connection_close(&store->writer, may_fold);
    }
    return status;
}

static enum weir_status open_file(struct weiri_store *store, void *arg,
                                  struct weir_error *ret_error)
{
    bool must_exist = *(const bool *)arg;
    bool exists = false;
    enum weir_status status = weiri_place_inspect(store->path, must_exist, &exists, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    status = exists ? weiri_stamp_check(store->path, weiri_lock_file_noted(store->lock_file.fd),
                                        ret_error)
                    : weiri_place_make(store->path, weiri_schema_make, NULL, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    status = open_connection(store, ret_error);
    if (status == WEIR_ENOSPACE && exists) {
        weiri_lock_file_release_reserve(&store->lock_file);
        weiri_error_clear(ret_error);
        status = open_connection(store, ret_error);
    }
    if (status != WEIR_OK && !exists) {
        weiri_place_remove(store->path);
    }
    return status;
}

enum weir_status weiri_store_open_locked(struct weiri_store *store, weiri_open_fn *fn, void *arg,
                                         struct weir_error *ret_error)
{
    int error = weiri_lock_file_open(&store->lock_file, store->lock.path);
    if (error != 0) {
        return weiri_store_refuse_lock(store, error, ret_error);
    }
    enum weir_status status = weiri_store_lock(store, weiri_write_limit(store), ret_error);
    if (status == WEIR_OK) {
        status = fn(store, arg, ret_error);
        if (status != WEIR_OK && store->lock_file.is_made) {
            (void)unlink(store->lock.path);
        }
        weiri_lock_file_unlock(&store->lock_file);
    }
    if (status != WEIR_OK) {
        weiri_lock_file_close(&store->lock_file);
    }
    return status;
}

enum weir_status weiri_store_open_writer(struct weiri_store *store, void *arg,
                                         struct weir_error *ret_error)
{
    bool must_exist = *(const bool *)arg;
    bool exists = false;
    enum weir_status status = weiri_place_inspect(store->path, must_exist, &exists, ret_error);
    int ignored;
    if (status == WEIR_OK && exists) { /* before any file is made beside it */
        status = weiri_schema_peek(store->path, false, &ignored, ret_error);
    }
    return status == WEIR_OK ? weiri_store_open_locked(store, open_file, arg, ret_error) : status;
}

/* A process that has the lock has checked the stamps, and they may change meanwhile. */
static enum weir_status check_stamps(const struct weiri_store *store, struct weir_error *ret_error)
{
    int fd = -1;
    int error = weiri_lock_file_try(store->lock.path, &fd);
    if (error != 0 && error != ENOENT) {
        return WEIR_OK;
    }
    enum weir_status status =
        weiri_stamp_check(store->path, fd < 0 ? 0 : weiri_lock_file_noted(fd), ret_error);
    if (fd >= 0) {
        (void)close(fd);
    }
    return status;
}

static enum weir_status open_reader(struct weiri_store *store, void *unused,
                                    struct weir_error *ret_error)
{
    bool exists = false;
    (void)unused;
    enum weir_status status = weiri_place_inspect(store->path, true, &exists, ret_error);
    struct weiri_reading reading;
    if (status == WEIR_OK) {
        status = check_stamps(store, ret_error);
    }
    if (status == WEIR_OK) {
        status = weiri_reading_open(store, &reading, ret_error);
    }
    if (status == WEIR_OK) {
        weiri_reading_close(&reading);
    }
    return status;
}

/* The stores that this process has open, or that its parent had at the fork. */
static _Atomic int open_stores;
static _Atomic int64_t opener;

enum weir_status weiri_store_open(struct weiri_store *store, weiri_open_fn *fn, void *arg,
                                  struct weir_error *ret_error)
{
    store->owner = (int64_t)getpid();
    if (open_stores > 0 && opener != store->owner) {
        return weiri_fail(
            ret_error, WEIR_EFORKED,
            "%s: this process was forked while a store was open, and its SQLite takes "
            "the locks of its parent for its own: fork before you open a store, or "
            "exec",
            store->path);
    }
    weiri_mutex_init(&store->mutex);
    store->lock = weiri_place_beside(store->path, ".lock");
    weiri_list_init(&store->requests);
    weiri_list_init(&store->kept);
    weiri_worker_space(store->space);
    const char *boot = store->config->clocks.boot_name;
    const char *time = store->space + strcspn(store->space, " ");
    store->clock = (int64_t)(weiri_checksum(boot, strlen(boot)) ^
                             weiri_checksum(time, strlen(time)) * UINT64_C(3));
    opener = store->owner;
    open_stores++;
    enum weir_status status = fn(store, arg, ret_error);
    if (status != WEIR_OK) {
        weiri_store_fini(store);
    }
    return status;
}

void weiri_store_fini(struct weiri_store *store)
{
    weiri_mutex_fini(&store->mutex);
    open_stores--;
}

static enum weir_status open_store(const char *location, struct weiri_broker_config *config,
                                   void **ret_store, struct weir_error *ret_error)
{
    char given[PATH_MAX];
    struct weiri_store *store = weiri_alloc_zero(&config->allocator, 1, sizeof(*store));
    if (store == NULL) {
        return weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    store->config = config;
    enum weir_status status = weiri_url_parse(location, given, config, ret_error);
    if (status == WEIR_OK) {
        status = weiri_place_resolve(given, store->path, sizeof(store->path), ret_error);
    }
    if (status == WEIR_OK) {
        bool must_exist = (config->flags & WEIR_BROKER_EXISTING) != 0;
        store->is_read_only = (config->flags & WEIR_BROKER_READ_ONLY) != 0;
        status =
            weiri_store_open(store, store->is_read_only ? open_reader : weiri_store_open_writer,
                             &must_exist, ret_error);
    }
    if (status != WEIR_OK) {
        weiri_release(&config->allocator, store, sizeof(*store));
        return status;
    }
    *ret_store = store;
    return WEIR_OK;
}

static void close_store(void *arg)
{
    struct weiri_store *store = arg;
    weiri_mutex_lock(&store->mutex);
    struct weiri_connection *reader = store->idle_reader;
    store->idle_reader = NULL;
    weiri_mutex_unlock(&store->mutex);
    if (reader != NULL) {
        weiri_reader_close(store, reader);
    }
    WEIRI_ASSERT(weiri_list_is_empty(&store->kept) && "its consumers are gone");
    if (!store->is_read_only) {
        weiri_write_close(store);
    }
    const struct weir_allocator *allocator = &store->config->allocator;
    weiri_store_fini(store);
    weiri_release(allocator, store, sizeof(*store));
}

uint32_t weiri_store_mark(void *arg, const struct weiri_mark *mark)
{
    struct weiri_store *store = arg;
    return weiri_channel_mark(&store->lock_file,
                              mark == NULL ? WEIRI_CHANNEL_CONTROL : mark->channel);
}

static bool wait_for_jobs(void *arg, const struct weiri_mark *marks, size_t count, int64_t limit_ns)
{
    struct weiri_store *store = arg;
    WEIRI_ASSERT(count <= WEIRI_MARKS_MAX);
    return weiri_channel_wait(&store->lock_file, marks, count, limit_ns);
}

static void wake_waits(void *arg, const struct weiri_mark *mark, int count)
{
    struct weiri_store *store = arg;
    weiri_channel_notify(&store->lock_file, mark->channel, count);
}

#define ENTRY(name) .name = weiri_store_##name,
const struct weiri_broker_ops weiri_sqlite_ops = {
    .scheme = "sqlite",
    .can = WEIRI_CAN(KEYS) | WEIRI_CAN(GROUPS) | WEIRI_CAN(HEADERS) | WEIRI_CAN(PUT_ID) |
           WEIRI_CAN(SCHEDULES) | WEIRI_CAN(POLICIES) | WEIRI_CAN(TRANSACTIONS) | WEIRI_CAN(LIST) |
           WEIRI_CAN(RESERVED) | WEIRI_CAN(MOVE_IDS) | WEIRI_CAN(ATTEMPTS) | WEIRI_CAN(WAS_PUT) |
           WEIRI_CAN(DURABILITY) | WEIRI_CAN(BACKUP) | WEIRI_CAN(REPAIR) | WEIRI_CAN(PRIORITIES) |
           WEIRI_CAN(REASONS) | WEIRI_CAN(CONTROL) | WEIRI_CAN(SINGLE_RUNS),
    .open = open_store,
    .close = close_store,
    .now = weiri_store_now,
    .transaction_open = weiri_transaction_open,
    .transaction_step = weiri_transaction_step,
    .wait = wait_for_jobs,
    .wake = wake_waits,
    WEIRI_STORE_WRITES(ENTRY) WEIRI_STORE_READS(ENTRY)};

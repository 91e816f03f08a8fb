/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/read.h"

#include <errno.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"

enum weir_status weiri_reading_open(struct weiri_store *store, struct weiri_reading *ret_reading,
                                    struct weir_error *ret_error)
{
    weiri_mutex_lock(&store->mutex);
    struct weiri_connection *reader = store->idle_reader;
    store->idle_reader = NULL;
    weiri_mutex_unlock(&store->mutex);
    if (reader == NULL) {
        const struct weir_allocator *allocator = &store->config->allocator;
        reader = weiri_alloc(allocator, sizeof(*reader));
        if (reader == NULL) {
            (void)weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
            return WEIR_ENOMEM;
        }
        enum weir_status status =
            weiri_connection_open(reader, store->path, true, store->config, ret_error);
        if (status != WEIR_OK) {
            weiri_reader_close(store, reader);
            return status;
        }
    }
    *ret_reading = (struct weiri_reading){.store = store, .reader = reader, .is_good = true};
    return WEIR_OK;
}

/* To read a store without a log, SQLite makes an empty one, and removes it at the end if it may
 * checkpoint. That is safe while the log is empty, whoever made it, and under the lock it stays
 * empty. If another process has the lock, or the store open, the log stays. If there is no lock
 * file, no writer of weir is there, and SQLite's own locks suffice. */
void weiri_reader_close(struct weiri_store *store, struct weiri_connection *reader)
{
    bool may_tidy = store->is_read_only && weiri_place_size(store->path, "-wal") == 0;
    int lock = -1;
    if (may_tidy) {
        int error = weiri_lock_file_try(store->lock.path, &lock);
        bool is_unused = error == 0 ? !weiri_lock_is_shared(lock) : error == ENOENT;
        may_tidy = is_unused && weiri_place_size(store->path, "-wal") == 0;
    }
    weiri_connection_close(reader, may_tidy);
    if (lock >= 0) {
        (void)close(lock);
    }
    weiri_release(&store->config->allocator, reader, sizeof(*reader));
}

void weiri_reading_close(struct weiri_reading *reading)
{
    struct weiri_store *store = reading->store;
    struct weiri_connection *reader = reading->reader;
    weiri_mutex_lock(&store->mutex);
    bool is_kept = reading->is_good && !reader->is_for_one_call && store->idle_reader == NULL;
    if (is_kept) {
        store->idle_reader = reader;
    }
    weiri_mutex_unlock(&store->mutex);
    if (!is_kept) {
        weiri_reader_close(store, reader);
    }
}

enum weir_status weiri_reading_run(struct weiri_reading *reading, weiri_read_fn *run, void *arg,
                                   struct weir_error *ret_error)
{
    struct weiri_connection *reader = reading->reader;
    if (weiri_sql_run(reader, WEIRI_SQL_BEGIN_READ, NULL) == SQLITE_OK) {
        reading->now_ns = weiri_store_now(reading->store);
        run(reading, arg);
    }
    enum weir_status status = weiri_sql_end(reader, reading->store->path, ret_error);
    if (sqlite3_get_autocommit(reader->db) == 0) {
        weiri_sql_run(reader, WEIRI_SQL_ROLLBACK, NULL);
    }
    reading->is_good = reading->is_good && status == WEIR_OK && reader->code == SQLITE_OK;
    return status;
}

enum weir_status weiri_read(struct weiri_store *store, weiri_read_fn *run, void *arg,
                            struct weir_error *ret_error)
{
    struct weiri_reading reading;
    enum weir_status status = weiri_reading_open(store, &reading, ret_error);
    if (status == WEIR_OK) {
        status = weiri_reading_run(&reading, run, arg, ret_error);
        weiri_reading_close(&reading);
    }
    return status;
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/write.h"

#include <string.h>

#include "base/error.h"
#include "base/panic.h"
#include "base/time.h"
#include "jobs/sqlite/file.h"
#include "jobs/sqlite/space.h"
#include "jobs/sqlite/stamp.h"

/* Pages in the WAL above which it is checkpointed: by an open that finds nobody else, by others.
 * And above which its file is truncated too: only a long read lets it grow that far. The most jobs
 * that one transaction makes ready, and the time after which a put is cut, so that others can write
 * in between. */
enum {
    OPEN_PAGES = 500,
    CHECKPOINT_PAGES = 4000,
    TRUNCATE_PAGES = 64000,
    PROMOTE_MAX = 10000,
    FOLLOW_MAX = 1000 /* where that is before others go on */
};
#define PUT_NS WEIR_MS(50)

/* How long the close of who has run jobs waits for the lock, without which it leaves the log. */
#define CLOSE_NS WEIR_SECONDS(1)

/* Called by SQLite after each commit; as the only hook it replaces SQLite's own checkpoints. */
static int on_wal(void *arg, sqlite3 *db, const char *name, int pages)
{
    (void)db;
    (void)name;
    ((struct weiri_store *)arg)->wal_pages = pages;
    return SQLITE_OK;
}

/* The endings of the files that a writer has open. */
static const char *const endings[] = {"", "-wal", "-shm"};

#define FILES (sizeof(endings) / sizeof(endings[0]))

static uint64_t identify(const struct weiri_store *store, size_t which)
{
    return weiri_file_identify(weiri_place_beside(store->path, endings[which]).path);
}

/* The first of so many files whose path no longer names what the writer has open; NULL: none. All
 * that is written to it would be lost. Another SQLite in this process removes the log and its
 * index: for it the process' locks are none, so at its close it takes itself for the last user. */
static const char *find_moved(const struct weiri_store *store, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (identify(store, i) != store->files[i]) {
            return endings[i];
        }
    }
    return NULL;
}

static void fold(struct weiri_store *store)
{
    weiri_write_checkpoint(store, store->wal_pages < TRUNCATE_PAGES ? SQLITE_CHECKPOINT_PASSIVE
                                                                    : SQLITE_CHECKPOINT_TRUNCATE);
}

enum weir_status weiri_write_prepare(struct weiri_store *store, struct weir_error *ret_error)
{
    enum weir_status status = weiri_stamp_check_index(store, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    store->checkpoint_pages = CHECKPOINT_PAGES;
    store->checkpoint_at = CHECKPOINT_PAGES;
    store->promote_max = PROMOTE_MAX;
    store->put_ns = PUT_NS;
    weiri_stamp_forget(store);
    for (size_t i = 0; i < FILES; i++) {
        store->files[i] = identify(store, i);
        if (store->files[i] == 0) {
            return weiri_fail(ret_error, WEIR_ENOTSUP,
                              "%s%s: its number is not known: statx must be allowed", store->path,
                              endings[i]);
        }
    }
    (void)sqlite3_wal_hook(store->writer.db, on_wal, store);
    /* Commits do not flush the log; weiri_write_flush() does. Checkpoints and a restart of the log
     * still flush. */
    bool is_memory = store->config->durability == WEIR_DURABILITY_MEMORY;
    const char *pragma = is_memory ? "PRAGMA synchronous = OFF" : "PRAGMA synchronous = NORMAL";
    (void)sqlite3_exec(store->writer.db, pragma, NULL, NULL, NULL);
    store->checkpointer = store->checkpointer == NULL ? store->writer.db : store->checkpointer;
    (void)sqlite3_exec(store->checkpointer, pragma, NULL, NULL, NULL);
    /* Before the own commit, which then starts the log anew. */
    if (store->wal_pages > OPEN_PAGES && !weiri_lock_is_shared(store->lock_file.fd)) {
        fold(store);
    }
    if (weiri_write_has_failed(store)) {
        return weiri_fail(ret_error, WEIR_EIO, "%s", store->remark.error.text);
    }
    return store->must_flush ? weiri_write_flush(store, ret_error) : WEIR_OK;
}

void weiri_write_notify(struct weiri_store *store, unsigned channel, int count)
{
    int most = INT_MAX - store->wakes[channel];
    bool is_all = channel == WEIRI_CHANNEL_SHARED || count > most;
    store->wakes[channel] += is_all ? most : count;
    store->wakes_end = channel < store->wakes_end ? store->wakes_end : channel + 1;
}

static void notify_channels(struct weiri_store *store)
{
    for (unsigned channel = 0; channel < store->wakes_end; channel++) {
        if (store->wakes[channel] > 0) {
            weiri_channel_notify(&store->lock_file, channel, store->wakes[channel]);
        }
    }
}

/* After a failed write or fsync the kernel may have dropped what it could not store and
 * report success the next time: any later acknowledgement of this handle could be wrong. */
static void fail_for_good(struct weiri_store *store, const struct weir_error *error,
                          struct weir_error *ret_error)
{
    weiri_mutex_lock(&store->mutex);
    store->has_failed = true;
    weiri_mutex_unlock(&store->mutex);
    store->remark = (struct weiri_remark){
        WEIR_LOG_ERROR, "; nothing more is acknowledged: reopen the store", *error};
    if (ret_error != NULL) {
        *ret_error = *error;
    }
}

bool weiri_write_has_failed(struct weiri_store *store)
{
    weiri_mutex_lock(&store->mutex);
    bool failed = store->has_failed;
    weiri_mutex_unlock(&store->mutex);
    return failed;
}

enum weir_status weiri_write_refuse(const struct weiri_store *store, struct weir_error *ret_error)
{
    return weiri_fail(ret_error, WEIR_EIO, "%s: an earlier write failed: reopen the store to go on",
                      store->path);
}

void weiri_write_checkpoint(struct weiri_store *store, int mode)
{
    int pages = 0;
    int done = 0;
    sqlite3 *db = store->checkpointer;
    (void)sqlite3_busy_timeout(db, 0);
    int code = sqlite3_wal_checkpoint_v2(db, NULL, mode, &pages, &done);
    code = weiri_sqlite_refine(db, SQLITE_FCNTL_FILE_POINTER, code);
    (void)weiri_connection_set_busy(db, store->config->busy_ns);
    store->checkpoint_at =
        done >= pages ? store->checkpoint_pages : store->wal_pages + store->checkpoint_pages;
    if (done < pages) { /* a reader holds it up */
        weiri_stamp_advance(store);
        store->must_flush = store->must_flush || store->config->durability == WEIR_DURABILITY_FULL;
        int stamped = weiri_sql_forget(&store->writer);
        code = code == SQLITE_OK ? stamped : code;
    }
    if (code != SQLITE_OK && (code & 0xff) != SQLITE_BUSY && (code & 0xff) != SQLITE_LOCKED) {
        struct weir_error error;
        (void)weiri_sqlite_fail(&error, db, code, store->path);
        if (weiri_sqlite_is_lasting(code)) {
            fail_for_good(store, &error, NULL);
        } else {
            store->checkpoint_at = store->wal_pages + store->checkpoint_pages;
            store->remark =
                (struct weiri_remark){WEIR_LOG_WARNING, "; the checkpoint is put off", error};
        }
    }
}

void weiri_write_checkpoint_if_due(struct weiri_store *store)
{
    if (store->wal_pages < store->checkpoint_pages) {
        store->checkpoint_at = store->checkpoint_pages;
    }
    if (store->wal_pages >= store->checkpoint_at) {
        fold(store);
    }
}

int64_t weiri_write_limit(const struct weiri_store *store)
{
    return weiri_time_add(weiri_monotonic_now(), store->config->busy_ns);
}

enum weir_status weiri_write_lock(struct weiri_store *store, int64_t limit_ns,
                                  struct weir_error *ret_error)
{
    if (weiri_write_has_failed(store)) {
        return weiri_write_refuse(store, ret_error);
    }
    /* Before the lock file is made again beside it. */
    const char *moved = find_moved(store, 1);
    if (moved == NULL) {
        enum weir_status status = weiri_store_lock(store, limit_ns, ret_error);
        if (status != WEIR_OK) {
            return status;
        }
        moved = find_moved(store, FILES);
        if (moved == NULL) {
            return WEIR_OK;
        }
        weiri_lock_file_unlock(&store->lock_file);
    }
    struct weir_error error;
    enum weir_status status = weiri_fail(
        &error, WEIR_EIO,
        "%s%s is no longer there: it was removed, replaced or hidden by a mount or chroot",
        store->path, moved);
    fail_for_good(store, &error, ret_error);
    return status;
}

void weiri_write_close(struct weiri_store *store)
{
    int64_t limit = weiri_time_earlier(weiri_write_limit(store),
                                       weiri_time_add(weiri_monotonic_now(), CLOSE_NS));
    bool may_fold = store->worker != 0 && weiri_write_lock(store, limit, NULL) == WEIR_OK &&
                    !weiri_lock_is_shared(store->lock_file.fd);
    weiri_connection_close(&store->writer, may_fold);
    weiri_lock_file_close(&store->lock_file);
}

int weiri_write_begin(struct weiri_store *store)
{
    memset(store->wakes, 0, store->wakes_end * sizeof(store->wakes[0]));
    store->wakes_end = 0;
    store->has_new_worker = false;
    store->is_putting = false;
    store->has_trimmed = false;
    store->follow_left = FOLLOW_MAX;
    store->changes_before = sqlite3_total_changes(store->writer.db);
    return weiri_sql_run(&store->writer, WEIRI_SQL_BEGIN, NULL);
}

int weiri_write_rollback(struct weiri_store *store, struct weiri_connection *connection)
{
    sqlite3 *db = connection->db;
    bool is_open = sqlite3_get_autocommit(db) == 0;
    (void)weiri_sql_forget(connection);
    int code = is_open ? weiri_sql_run(connection, WEIRI_SQL_ROLLBACK, NULL) : SQLITE_OK;
    if (sqlite3_get_autocommit(db) == 0) {
        struct weir_error error;
        (void)weiri_sqlite_fail(&error, db, code, store->path);
        fail_for_good(store, &error, NULL);
    }
    return code;
}

enum weir_status weiri_write_end(struct weiri_store *store, bool is_lasting,
                                 struct weir_error *ret_error)
{
    struct weiri_connection *writer = &store->writer;
    uint32_t before = store->stamp;
    /* A transaction without changes writes nothing, and needs no space. It needs a flush as any
     * other: what its answer rests on may be of a process that has not flushed it yet, and may be
     * killed before it does. */
    bool is_writing =
        writer->code == SQLITE_OK && sqlite3_total_changes(writer->db) != store->changes_before;
    if (is_writing) {
        weiri_stamp_advance(store);
        weiri_space_claim(store);
    } else if (is_lasting) {
        weiri_stamp_load(store);
    }
    bool is_committing = writer->code == SQLITE_OK;
    int code = weiri_sql_run(writer, WEIRI_SQL_COMMIT, NULL);
    if (code == SQLITE_OK) {
        store->transactions++;
        bool is_full = store->config->durability == WEIR_DURABILITY_FULL;
        store->must_flush = store->must_flush || (is_lasting && is_full);
        notify_channels(store);
        return WEIR_OK;
    }
    store->worker = store->has_new_worker ? 0 : store->worker;
    code = weiri_sqlite_refine(writer->db, SQLITE_FCNTL_JOURNAL_POINTER, code);
    struct weir_error error;
    enum weir_status status = weiri_sqlite_fail(&error, writer->db, code, store->path);
    WEIRI_ASSERT(status != WEIR_OK);
    if (weiri_sqlite_is_lasting(code) || (is_committing && status == WEIR_EIO)) {
        fail_for_good(store, &error, NULL);
    }
    (void)weiri_write_rollback(store, writer);
    store->stamp = before; /* a flush notes that of a commit which is there */
    if (ret_error != NULL) {
        *ret_error = error;
    }
    return status;
}

enum weir_status weiri_write_flush(struct weiri_store *store, struct weir_error *ret_error)
{
    /* The kernel tells of a write that failed once: the checkpoint after the commit may know. */
    if (weiri_write_has_failed(store)) {
        return weiri_write_refuse(store, ret_error);
    }
    sqlite3 *db = store->writer.db;
    sqlite3_file *log = NULL;
    (void)sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    WEIRI_ASSERT(log != NULL && log->pMethods != NULL);
    int code = log->pMethods->xSync(log, SQLITE_SYNC_NORMAL);
    if (code == SQLITE_OK && store->lock_file.noted != store->stamp) {
        weiri_lock_file_note(&store->lock_file, store->stamp);
    }
    if (code == SQLITE_OK) {
        return WEIR_OK;
    }
    struct weir_error error;
    enum weir_status status = weiri_sqlite_fail(&error, db, code, store->path);
    fail_for_good(store, &error, ret_error);
    return status;
}

void weiri_write_say(const struct weiri_store *store, const struct weiri_remark *remark)
{
    if (remark->after != NULL) {
        weiri_broker_log(store->config, remark->level, "%s%s", remark->error.text, remark->after);
    }
}

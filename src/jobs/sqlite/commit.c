/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/commit.h"

#include "base/panic.h"
#include "base/time.h"
#include "jobs/error.h"
#include "jobs/sqlite/repair.h"
#include "jobs/sqlite/result.h"
#include "jobs/sqlite/space.h"
#include "jobs/sqlite/stamp.h"

/* Pages in the WAL above which it is checkpointed, and above which its file is truncated too. Only
 * a long read lets it grow that far. */
enum {
    CHECKPOINT_PAGES = 4000,
    TRUNCATE_PAGES = 64000
};

/* The time after which a put is cut, and the most jobs that one transaction makes ready, so that
 * others can write in between. */
#define PUT_NS WEIR_MS(50)

enum {
    PROMOTE_MAX = 10000,
    PROMOTE_FULL = 50 /* on a full disk: their changes fit in the reserve */
};

/* A message of a leader. It is logged after the leader has released the lock and the lead, since a
 * log callback may take long. */
struct remark {
    enum weir_log_level level;
    const char *after; /* the error's text; NULL: there is no message */
    struct weir_error error;
};

/* Lies on the stack of the thread that waits for the answer. */
struct request {
    struct weiri_list link;
    weiri_commit_fn *run;
    void *arg;
    struct weir_error *error;
    enum weir_status status;
    bool is_answered; /* guarded by the store's mutex */
};

static struct request *request_of(struct weiri_list *link)
{
    return WEIRI_CONTAINER(link, struct request, link);
}

static void move_all(struct weiri_list *from, struct weiri_list *to)
{
    while (!weiri_list_is_empty(from)) {
        struct weiri_list *first = from->next;
        weiri_list_remove(first);
        weiri_list_insert_before(to, first);
    }
}

/* Called by SQLite after each commit; as the only hook it also replaces SQLite's own checkpoints.
 */
static int on_wal(void *arg, sqlite3 *db, const char *name, int pages)
{
    (void)db;
    (void)name;
    ((struct weiri_store *)arg)->wal_pages = pages;
    return SQLITE_OK;
}

void weiri_commit_prepare(struct weiri_store *store)
{
    store->checkpoint_pages = CHECKPOINT_PAGES;
    store->checkpoint_at = CHECKPOINT_PAGES;
    store->promote_max = PROMOTE_MAX;
    store->put_ns = PUT_NS;
    weiri_stamp_forget(store);
    (void)sqlite3_wal_hook(store->writer.db, on_wal, store);
    /* Commits do not flush the log; flush() does. Checkpoints and the log's restart still flush. */
    bool is_memory = store->config->durability == WEIR_DURABILITY_MEMORY;
    const char *pragma = is_memory ? "PRAGMA synchronous = OFF" : "PRAGMA synchronous = NORMAL";
    (void)sqlite3_exec(store->writer.db, pragma, NULL, NULL, NULL);
}

void weiri_commit_notify(struct weiri_store *store, const char *tube, bool is_about_emptiness)
{
    uint64_t bit = UINT64_C(1) << weiri_store_channel(tube);
    if (is_about_emptiness) {
        store->empty_channels |= bit;
    } else {
        store->channels |= bit;
    }
}

static void notify_channels(struct weiri_store *store)
{
    for (unsigned channel = 0; channel < WEIRI_CHANNELS; channel++) {
        uint64_t bit = UINT64_C(1) << channel;
        if ((store->channels & bit) != 0 ||
            ((store->empty_channels & bit) != 0 &&
             weiri_channel_is_empty_watched(&store->lock_file, channel))) {
            weiri_channel_notify(&store->lock_file, channel);
        }
    }
}

/* After a failed write or fsync the kernel may have dropped what it could not store and
 * report success the next time: any later acknowledgement of this handle could be wrong. */
static void fail_for_good(struct weiri_store *store, const struct weir_error *error,
                          struct remark *ret_remark)
{
    weiri_mutex_lock(&store->mutex);
    store->has_failed = true;
    weiri_mutex_unlock(&store->mutex);
    *ret_remark =
        (struct remark){WEIR_LOG_ERROR, "; nothing more is acknowledged: reopen the store", *error};
}

/* Runs requests in one transaction. On failure ret_error says why, and nothing has changed, unless
 * a write failed: then the state is unknown, and the store has failed. */
static enum weir_status transact(struct weiri_store *store, struct weiri_list *requests,
                                 struct weir_error *ret_error, struct remark *ret_remark)
{
    struct weiri_connection *writer = &store->writer;
    store->channels = 0;
    store->empty_channels = 0;
    store->is_putting = false;
    int changes = sqlite3_total_changes(writer->db);
    bool is_lasting = false;
    int code = weiri_sql_run(writer, WEIRI_SQL_BEGIN, NULL, 0);
    for (struct weiri_list *link = requests->next; link != requests && code == SQLITE_OK;
         link = link->next) {
        store->is_fleeting = false;
        code = request_of(link)->run(store, request_of(link)->arg);
        is_lasting = is_lasting || !store->is_fleeting;
    }
    /* A transaction without changes writes nothing, and needs no space and no flush. */
    bool is_writing = sqlite3_total_changes(writer->db) != changes;
    if (code == SQLITE_OK && is_writing) {
        code = weiri_stamp_advance(store);
        if (code == SQLITE_OK) {
            code = weiri_space_claim(store);
        }
    }
    bool is_committing = code == SQLITE_OK;
    if (is_committing) {
        code = weiri_sql_run(writer, WEIRI_SQL_COMMIT, NULL, 0);
    }
    if (code == SQLITE_OK) {
        store->transactions++;
        bool is_full = store->config->durability == WEIR_DURABILITY_FULL;
        store->must_flush = store->must_flush || (is_writing && is_lasting && is_full);
        notify_channels(store);
        return WEIR_OK;
    }
    code = weiri_sqlite_refine(writer->db, SQLITE_FCNTL_JOURNAL_POINTER, code);
    enum weir_status status = weiri_sqlite_fail(ret_error, writer->db, code, store->path);
    WEIRI_ASSERT(status != WEIR_OK);
    if (weiri_sqlite_is_lasting(code) || (is_committing && status == WEIR_EIO)) {
        fail_for_good(store, ret_error, ret_remark);
    }
    if (sqlite3_get_autocommit(writer->db) == 0) {
        (void)weiri_sql_run(writer, WEIRI_SQL_ROLLBACK, NULL, 0);
    }
    return status;
}

static void say(const struct weiri_store *store, const struct remark *remark)
{
    if (remark->after != NULL) {
        weiri_broker_log(store->config, remark->level, "%s%s", remark->error.text, remark->after);
    }
}

/* Writes the result of all requests of a list, and moves them to those that are concluded. */
static void conclude(struct weiri_list *requests, enum weir_status status,
                     const struct weir_error *error, struct weiri_list *concluded)
{
    for (struct weiri_list *link = requests->next; link != requests; link = link->next) {
        struct request *request = request_of(link);
        request->status = status;
        if (status != WEIR_OK && request->error != NULL) {
            *request->error = *error;
        }
    }
    move_all(requests, concluded);
}

/* Answers all requests of a list. They may be freed once the mutex is released. */
static void answer(struct weiri_store *store, struct weiri_list *requests)
{
    weiri_mutex_lock(&store->mutex);
    while (!weiri_list_is_empty(requests)) {
        struct request *request = request_of(requests->next);
        weiri_list_remove(&request->link);
        request->is_answered = true;
    }
    weiri_cond_broadcast(&store->answered);
    weiri_mutex_unlock(&store->mutex);
}

static bool has_several(const struct weiri_list *requests)
{
    return requests->next->next != requests;
}

static bool has_failed(struct weiri_store *store)
{
    weiri_mutex_lock(&store->mutex);
    bool failed = store->has_failed;
    weiri_mutex_unlock(&store->mutex);
    return failed;
}

/* The error of requests after a write that failed for good. */
static enum weir_status refuse(const struct weiri_store *store, struct weir_error *ret_error)
{
    return weiri_fail(ret_error, WEIR_EIO, "%s: an earlier write failed: reopen the store to go on",
                      store->path);
}

/* Under the store's lock, so that no other process commits meanwhile (Debian's SQLite may corrupt
 * the file then). It never waits for readers: pages that they still need are left for the next
 * checkpoint. */
static void run_checkpoint(struct weiri_store *store, int mode, struct remark *ret_remark)
{
    int pages = 0;
    int done = 0;
    (void)sqlite3_busy_timeout(store->writer.db, 0);
    int code = sqlite3_wal_checkpoint_v2(store->writer.db, NULL, mode, &pages, &done);
    code = weiri_sqlite_refine(store->writer.db, SQLITE_FCNTL_FILE_POINTER, code);
    (void)weiri_connection_set_busy(store->writer.db, store->config->busy_ns);
    store->checkpoint_at =
        done >= pages ? store->checkpoint_pages : store->wal_pages + store->checkpoint_pages;
    if (code != SQLITE_OK && (code & 0xff) != SQLITE_BUSY && (code & 0xff) != SQLITE_LOCKED) {
        struct weir_error error;
        (void)weiri_sqlite_fail(&error, store->writer.db, code, store->path);
        if (weiri_sqlite_is_lasting(code)) {
            fail_for_good(store, &error, ret_remark);
        } else {
            store->checkpoint_at = store->wal_pages + store->checkpoint_pages;
            *ret_remark = (struct remark){WEIR_LOG_WARNING, "; the checkpoint is put off", error};
        }
    }
}

static void checkpoint_if_due(struct weiri_store *store, struct remark *ret_remark)
{
    if (store->wal_pages < store->checkpoint_pages) {
        store->checkpoint_at = store->checkpoint_pages;
    }
    if (store->wal_pages >= store->checkpoint_at) {
        run_checkpoint(store,
                       store->wal_pages < TRUNCATE_PAGES ? SQLITE_CHECKPOINT_PASSIVE
                                                         : SQLITE_CHECKPOINT_TRUNCATE,
                       ret_remark);
    }
}

/* Runs a request again on a full disk. After a checkpoint the log is written from its start, where
 * it has space already. If that is not enough, a request that puts nothing may use the reserve. */
static enum weir_status transact_when_full(struct weiri_store *store, struct weiri_list *alone,
                                           struct weir_error *ret_error, struct remark *ret_remark)
{
    enum weir_status status = WEIR_ENOSPACE;
    size_t promote_max = store->promote_max;
    store->is_full = true;
    for (int i = 0; i < 2 && status == WEIR_ENOSPACE && !has_failed(store); i++) {
        if (i == 1) {
            if (store->is_putting) {
                break;
            }
            weiri_lock_file_release_reserve(&store->lock_file);
            store->promote_max = promote_max < PROMOTE_FULL ? promote_max : PROMOTE_FULL;
        }
        run_checkpoint(store, SQLITE_CHECKPOINT_PASSIVE, ret_remark);
        if (!has_failed(store)) {
            status = transact(store, alone, ret_error, ret_remark);
        }
    }
    store->promote_max = promote_max;
    store->is_full = false;
    return status == WEIR_ENOSPACE && has_failed(store) ? refuse(store, ret_error) : status;
}

/* Runs a request again after its statements found damage. Each handle repairs once: damage that
 * comes again is of a failing disk. */
static enum weir_status transact_when_damaged(struct weiri_store *store, struct weiri_list *alone,
                                              struct weir_error *ret_error,
                                              struct remark *ret_remark)
{
    if (store->has_repaired || weiri_repair_indexes(store->writer.db) != SQLITE_OK) {
        return WEIR_ECORRUPT;
    }
    store->has_repaired = true;
    *ret_remark = (struct remark){WEIR_LOG_ERROR,
                                  "; its indexes were made anew from the jobs: "
                                  "check the disk",
                                  *ret_error};
    return transact(store, alone, ret_error, ret_remark);
}

static void run_batch(struct weiri_store *store, struct weiri_list *batch,
                      struct weiri_list *concluded, struct remark *ret_remark)
{
    struct weir_error error = {""};
    enum weir_status status = transact(store, batch, &error, ret_remark);
    if (status == WEIR_ENOSPACE && !has_several(batch)) {
        status = transact_when_full(store, batch, &error, ret_remark);
    }
    if (status == WEIR_ECORRUPT && !has_several(batch)) {
        status = transact_when_damaged(store, batch, &error, ret_remark);
    }
    if (status != WEIR_OK && has_several(batch) && !has_failed(store)) {
        while (!weiri_list_is_empty(batch)) {
            struct weiri_list alone;
            weiri_list_init(&alone);
            struct weiri_list *first = batch->next;
            weiri_list_remove(first);
            weiri_list_insert_before(&alone, first);
            if (has_failed(store)) {
                conclude(&alone, refuse(store, &error), &error, concluded);
            } else {
                run_batch(store, &alone, concluded, ret_remark);
            }
        }
        return;
    }
    conclude(batch, status, &error, concluded);
}

/* Whether the file was removed or replaced: all that is written to it is lost then. Called before
 * the lock file is made again beside it. A removal after this call has the same effect as one after
 * the commit. */
static bool has_moved(const struct weiri_store *store)
{
    int moved = 0;
    int code = sqlite3_file_control(store->writer.db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    return code == SQLITE_OK && moved != 0;
}

/* Flushes the log after the lock was released, so that other processes commit meanwhile, and their
 * flushes and this one become one of the disk. A commit that another one overtook is covered by
 * this flush as well; if a checkpoint has restarted the log, it has flushed it before. */
static void flush(struct weiri_store *store, struct weiri_list *concluded,
                  struct remark *ret_remark)
{
    sqlite3 *db = store->writer.db;
    sqlite3_file *log = NULL;
    (void)sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    WEIRI_ASSERT(log != NULL && log->pMethods != NULL);
    int code = log->pMethods->xSync(log, SQLITE_SYNC_NORMAL);
    if (code == SQLITE_OK) {
        weiri_stamp_note(store);
        return;
    }
    struct weir_error error;
    enum weir_status status = weiri_sqlite_fail(&error, db, code, store->path);
    fail_for_good(store, &error, ret_remark);
    for (struct weiri_list *link = concluded->next; link != concluded; link = link->next) {
        struct request *request = request_of(link);
        if (request->status == WEIR_OK) {
            request->status = status;
            if (request->error != NULL) {
                *request->error = error;
            }
        }
    }
}

/* Runs a batch under the store's lock. */
static void run_locked(struct weiri_store *store, struct weiri_list *batch,
                       struct weiri_list *concluded, struct remark *ret_remark)
{
    int64_t limit = weiri_time_add(weiri_monotonic_now(), store->config->busy_ns);
    struct weir_error error;
    if (has_moved(store)) {
        (void)weiri_fail(&error, WEIR_EIO, "%s is no longer there: it was removed or replaced",
                         store->path);
        fail_for_good(store, &error, ret_remark);
        conclude(batch, WEIR_EIO, &error, concluded);
        return;
    }
    enum weir_status status = weiri_store_lock(store, limit, &error);
    if (status != WEIR_OK) {
        conclude(batch, status, &error, concluded);
        return;
    }
    run_batch(store, batch, concluded, ret_remark);
    if (!has_failed(store)) {
        checkpoint_if_due(store, ret_remark);
    }
    weiri_lock_file_unlock(&store->lock_file);
}

static void lead(struct weiri_store *store, struct weiri_list *batch, struct remark *ret_remark)
{
    struct weiri_list concluded;
    weiri_list_init(&concluded);
    store->must_flush = false;
    run_locked(store, batch, &concluded, ret_remark);
    if (store->must_flush) {
        flush(store, &concluded, ret_remark);
    }
    answer(store, &concluded);
}

enum weir_status weiri_commit(struct weiri_store *store, weiri_commit_fn *run, void *arg,
                              struct weir_error *ret_error)
{
    struct request request = {.run = run, .arg = arg, .error = ret_error};
    struct remark remark = {.after = NULL};
    weiri_list_init(&request.link);
    weiri_mutex_lock(&store->mutex);
    weiri_list_insert_before(&store->requests, &request.link);
    while (!request.is_answered && store->is_led) {
        weiri_cond_wait(&store->answered);
    }
    if (!request.is_answered && store->has_failed) {
        weiri_list_remove(&request.link);
        weiri_mutex_unlock(&store->mutex);
        return refuse(store, ret_error);
    }
    if (!request.is_answered) {
        struct weiri_list batch;
        weiri_list_init(&batch);
        move_all(&store->requests, &batch);
        store->is_led = true;
        weiri_mutex_unlock(&store->mutex);
        lead(store, &batch, &remark);
        weiri_mutex_lock(&store->mutex);
        store->is_led = false;
        weiri_cond_broadcast(&store->answered);
    }
    weiri_mutex_unlock(&store->mutex);
    say(store, &remark);
    return request.status;
}

void weiri_commit_finish(struct weiri_store *store)
{
    weiri_mutex_lock(&store->mutex);
    bool has_failed = store->has_failed;
    weiri_mutex_unlock(&store->mutex);
    int64_t limit = weiri_time_add(weiri_monotonic_now(), store->config->busy_ns);
    bool is_locked = weiri_lock_file_lock(&store->lock_file, limit) == 0;
    weiri_connection_close(&store->writer, is_locked && !has_failed);
    if (is_locked) {
        weiri_lock_file_unlock(&store->lock_file);
    }
}

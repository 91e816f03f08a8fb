/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/store.h"

#include "jobs/sqlite/write.h"

/* The most jobs that a transaction makes ready on a full disk: their changes fit in the reserve. */
enum {
    PROMOTE_FULL = 50
};

/* Lies on the stack of the thread that waits for the answer. */
struct request {
    struct weiri_list link;
    weiri_commit_fn *run;
    void *arg;
    struct weir_error *error;
    enum weir_status status;
    bool is_answered;       /* guarded by the store's mutex */
    struct weiri_cond turn; /* it is answered, or its thread may lead */
};

static struct request *request_of(struct weiri_list *link)
{
    return WEIRI_CONTAINER(link, struct request, link);
}

/* Writes the result of all requests of a list that have not failed before. */
static void conclude(struct weiri_list *requests, enum weir_status status,
                     const struct weir_error *error)
{
    for (struct weiri_list *link = requests->next; link != requests; link = link->next) {
        struct request *request = request_of(link);
        bool has_failed = request->status == WEIR_OK && status != WEIR_OK;
        if (has_failed && request->error != NULL) {
            *request->error = *error;
        }
        request->status = has_failed ? status : request->status;
    }
}

/* Answers all requests of a list, which may be freed once the mutex is released, and lets another
 * thread lead. Who waits wakes for that alone: where all woke, most slept again. */
static void answer(struct weiri_store *store, struct weiri_list *requests)
{
    weiri_mutex_lock(&store->mutex);
    while (!weiri_list_is_empty(requests)) {
        struct request *request = request_of(requests->next);
        weiri_list_remove(&request->link);
        request->is_answered = true;
        weiri_cond_signal(&request->turn);
    }
    store->is_led = false;
    if (!weiri_list_is_empty(&store->requests)) {
        weiri_cond_signal(&request_of(store->requests.next)->turn);
    }
    weiri_mutex_unlock(&store->mutex);
}

/* Runs requests in one transaction. On failure ret_error says why, and nothing has changed, unless
 * a write failed: then the state is unknown, and the store has failed. */
static enum weir_status transact(struct weiri_store *store, struct weiri_list *requests,
                                 struct weir_error *ret_error)
{
    bool is_lasting = false;
    weiri_write_begin(store);
    for (struct weiri_list *link = requests->next;
         link != requests && store->writer.code == SQLITE_OK; link = link->next) {
        store->is_fleeting = false;
        request_of(link)->run(store, request_of(link)->arg);
        is_lasting = is_lasting || !store->is_fleeting;
    }
    return weiri_write_end(store, is_lasting, ret_error);
}

/* Runs a request again on a full disk. After a checkpoint the log is written from its start, where
 * it has space already. If that is not enough, a request that puts nothing may use the reserve, and
 * what the log has, into which the file may have to grow. */
static enum weir_status transact_when_full(struct weiri_store *store, struct weiri_list *alone,
                                           struct weir_error *ret_error)
{
    enum weir_status status = WEIR_ENOSPACE;
    size_t promote_max = store->promote_max;
    store->is_full = true;
    for (int i = 0; i < 2 && status == WEIR_ENOSPACE && !weiri_write_has_failed(store); i++) {
        if (i == 1) {
            if (store->is_putting) {
                break;
            }
            weiri_lock_file_release_reserve(&store->lock_file);
            store->promote_max = promote_max < PROMOTE_FULL ? promote_max : PROMOTE_FULL;
        }
        weiri_write_checkpoint(store,
                               i == 0 ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_TRUNCATE);
        if (!weiri_write_has_failed(store)) {
            status = transact(store, alone, ret_error);
        }
    }
    store->promote_max = promote_max;
    store->is_full = false;
    return status == WEIR_ENOSPACE && weiri_write_has_failed(store)
               ? weiri_write_refuse(store, ret_error)
               : status;
}

/* Runs a request again after its statements found damage. Each handle repairs once: damage that
 * comes again is of a failing disk. */
static enum weir_status transact_when_damaged(struct weiri_store *store, struct weiri_list *alone,
                                              struct weir_error *ret_error)
{
    const struct weir_error found = *ret_error;
    enum weir_status status =
        store->has_repaired ? WEIR_ECORRUPT : weiri_repair_indexes(store, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    store->has_repaired = true;
    store->remark = (struct weiri_remark){WEIR_LOG_ERROR,
                                          "; its indexes were made anew from the jobs: "
                                          "check the disk",
                                          found};
    return transact(store, alone, ret_error);
}

static void run_batch(struct weiri_store *store, struct weiri_list *batch,
                      struct weiri_list *concluded)
{
    bool is_alone = batch->next->next == batch;
    struct weir_error error = {0};
    enum weir_status status = weiri_write_has_failed(store) ? weiri_write_refuse(store, &error)
                                                            : transact(store, batch, &error);
    if (status == WEIR_ENOSPACE && is_alone) {
        status = transact_when_full(store, batch, &error);
    }
    if (status == WEIR_ECORRUPT && is_alone) {
        status = transact_when_damaged(store, batch, &error);
    }
    if (status != WEIR_OK && !is_alone && !weiri_write_has_failed(store)) {
        while (!weiri_list_is_empty(batch)) {
            struct weiri_list alone;
            weiri_list_init(&alone);
            struct weiri_list *first = batch->next;
            weiri_list_remove(first);
            weiri_list_insert_before(&alone, first);
            run_batch(store, &alone, concluded);
        }
        return;
    }
    conclude(batch, status, &error);
    weiri_list_move(batch, concluded);
}

/* Runs a batch under the store's lock. */
static void run_locked(struct weiri_store *store, struct weiri_list *batch,
                       struct weiri_list *concluded)
{
    struct weir_error error;
    enum weir_status status = weiri_write_lock(store, weiri_write_limit(store), &error);
    if (status != WEIR_OK) {
        conclude(batch, status, &error);
        weiri_list_move(batch, concluded);
        return;
    }
    run_batch(store, batch, concluded);
    if (!weiri_write_has_failed(store)) {
        weiri_write_checkpoint_if_due(store);
    }
    weiri_lock_file_unlock(&store->lock_file);
}

static void lead(struct weiri_store *store, struct weiri_list *batch,
                 struct weiri_remark *ret_remark)
{
    struct weiri_list concluded;
    weiri_list_init(&concluded);
    store->must_flush = false;
    store->remark.after = NULL;
    run_locked(store, batch, &concluded);
    /* After the lock was released, so that other processes commit meanwhile, and their flushes and
     * this one become one of the disk. A commit that another one overtook is covered by this flush
     * as well; if a checkpoint has restarted the log, it has flushed it before. */
    if (store->must_flush) {
        struct weir_error error;
        conclude(&concluded, weiri_write_flush(store, &error), &error);
    }
    *ret_remark = store->remark;
    answer(store, &concluded);
}

enum weir_status weiri_commit(struct weiri_store *store, weiri_commit_fn *run, void *arg,
                              struct weir_error *ret_error)
{
    struct request request = {.run = run, .arg = arg, .error = ret_error};
    weiri_list_init(&request.link);
    weiri_cond_init(&request.turn, &store->mutex);
    weiri_mutex_lock(&store->mutex);
    weiri_list_insert_before(&store->requests, &request.link);
    while (!request.is_answered && store->is_led) {
        weiri_cond_wait(&request.turn);
    }
    if (request.is_answered) {
        weiri_mutex_unlock(&store->mutex);
        return request.status;
    }
    struct weiri_list batch;
    struct weiri_remark remark;
    weiri_list_init(&batch);
    weiri_list_move(&store->requests, &batch);
    store->is_led = true;
    weiri_mutex_unlock(&store->mutex);
    lead(store, &batch, &remark);
    weiri_write_say(store, &remark);
    return request.status;
}

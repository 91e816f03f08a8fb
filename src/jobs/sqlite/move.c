/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A store as the source of a move. */
#include "jobs/core/move.h"

#include <errno.h>

#include "base/error.h"
#include "jobs/sqlite/file.h"
#include "jobs/sqlite/store.h"

static void run_name(struct weiri_store *store, void *ret_name)
{
    if (!weiri_sql_find(&store->writer, WEIRI_SQL_STORE, NULL, ret_name)) {
        weiri_sql_fail(&store->writer, SQLITE_CORRUPT); /* each store has one */
    }
}

static enum weir_status lock(struct weiri_store *store, bool is_source, int *ret_lock,
                             struct weir_error *ret_error)
{
    pid_t holder;
    char text[64];
    int error = weiri_lock_move_begin(store->lock.path, is_source, ret_lock, &holder);
    return error == 0        ? WEIR_OK
           : error != EAGAIN ? weiri_store_refuse_lock(store, error, ret_error)
                             : weiri_fail(ret_error, WEIR_EBUSY,
                                          "%s moves jobs %s %s: expected one move at a time",
                                          weiri_lock_holder_name(holder, text),
                                          is_source ? "out of or into" : "out of", store->path);
}

/* Another move out of the source would delete what this one has put into the target, and this one
 * would take that for a worker's deed, and take the only copy back. One from the target to the
 * source would find the job there that it is about to put, and both would delete theirs. */
enum weir_status weiri_store_move(void *arg, struct weiri_move *move, struct weir_error *ret_error)
{
    struct weiri_store *store = arg;
    struct weiri_store *to = move->to.ops == &weiri_sqlite_ops ? move->to.store : NULL;
    int source;
    int target = -1;
    int64_t name;
    if (to != NULL && weiri_file_identify(to->path) == weiri_file_identify(store->path)) {
        return weiri_fail(ret_error, WEIR_EINVAL, "from and to are one store, %s: expected two",
                          store->path);
    }
    enum weir_status status = lock(store, true, &source, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    if (to != NULL) {
        status = lock(to, false, &target, ret_error);
    }
    if (status == WEIR_OK) {
        status = weiri_commit(store, run_name, &name, ret_error);
    }
    if (status == WEIR_OK) {
        status = weiri_move_out(move, name, ret_error);
    }
    weiri_lock_move_end(source);
    if (target >= 0) {
        weiri_lock_move_end(target);
    }
    return status;
}

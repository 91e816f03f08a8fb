/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A store as the source of a move. */
#include "jobs/core/move.h"

#include <errno.h>

#include "base/error.h"
#include "jobs/sqlite/file.h"
#include "jobs/sqlite/lock_holder.h"
#include "jobs/sqlite/sqlite.h"
#include "jobs/sqlite/store.h"

static int run_name(struct weiri_store *store, void *ret_name)
{
    return weiri_sql_number(&store->writer, WEIRI_SQL_STORE, NULL, ret_name);
}

enum weir_status weiri_store_move(void *arg, struct weiri_move *move, struct weir_error *ret_error)
{
    struct weiri_store *store = arg;
    struct weiri_lock_holder holder;
    bool is_store = move->to.ops == &weiri_sqlite_ops;
    char text[64];
    int lock;
    int64_t name;
    /* Each job would be the one that was just put: it would be deleted. */
    if (is_store && weiri_file_identify(((struct weiri_store *)move->to.store)->path) ==
                        weiri_file_identify(store->path)) {
        return weiri_fail(ret_error, WEIR_EINVAL, "from and to are one store, %s: expected two",
                          store->path);
    }
    /* Another move would delete what this one has put into the target, and this one would take that
     * for a worker's deed, and take the only copy back. */
    int error = weiri_lock_move_begin(store->lock_path, &lock, &holder);
    if (error != 0) {
        return error != EAGAIN ? weiri_store_refuse_lock(store, error, ret_error)
                               : weiri_fail(ret_error, WEIR_EBUSY,
                                            "%s moves jobs out of %s: one move at a time",
                                            weiri_lock_holder_name(holder, text), store->path);
    }
    enum weir_status status = weiri_commit(store, run_name, &name, ret_error);
    if (status == WEIR_OK) {
        status = weiri_move_out(move, name, ret_error);
    }
    weiri_lock_move_end(lock);
    return status;
}

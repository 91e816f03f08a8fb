/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_COMMIT_H
#define WEIRI_SQLITE_COMMIT_H

#include "jobs/sqlite/store.h"

/* Group commit. A thread that writes adds a request to a list. If there is no leader, it becomes
 * the leader: it takes all requests, runs them in one transaction with one fsync under the store's
 * lock, and answers them. No request is answered with WEIR_OK before it is on stable storage.
 *
 * If a transaction of several requests fails, each is run again alone, so that a request that
 * cannot succeed makes no other fail. */

/* Changes the database inside a transaction. Returns one of SQLite's codes; any but SQLITE_OK
 * undoes the transaction. The function may be called again after that, so it first resets its
 * results. */
typedef int weiri_commit_fn(struct weiri_store *store, void *arg);

WEIR_NODISCARD enum weir_status weiri_commit(struct weiri_store *store, weiri_commit_fn *run,
                                             void *arg, struct weir_error *ret_error);

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_COMMIT_H
#define WEIRI_SQLITE_COMMIT_H

#include "jobs/sqlite/store.h"

/* Group commit. A thread that wants to write hands in a request; the first to find nobody leading
 * takes all that have gathered, runs them in one transaction with one fsync under the store's lock,
 * and answers them. No request is answered with WEIR_OK before it is on stable storage.
 *
 * Where a transaction of several fails, each is run again by itself, so that one request that
 * cannot succeed takes no other with it. */

/* Changes the database inside a transaction; returns one of SQLite's codes, anything but SQLITE_OK
 * undoes the transaction. May be called again after that: it resets its results first. */
typedef int weiri_commit_fn(struct weiri_store *store, void *arg);

WEIR_NODISCARD enum weir_status weiri_commit(struct weiri_store *store, weiri_commit_fn *run,
                                             void *arg, struct weir_error *ret_error);

/* After the writer was opened; before it is closed. */
void weiri_commit_prepare(struct weiri_store *store);
void weiri_commit_finish(struct weiri_store *store);

/* Inside a transaction: rings a tube's bell once it is committed. */
void weiri_commit_ring(struct weiri_store *store, const char *tube, bool is_about_emptiness);

#endif

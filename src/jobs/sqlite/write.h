/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_WRITE_H
#define WEIRI_SQLITE_WRITE_H

#include "jobs/sqlite/store.h"

/* One transaction that writes: lock, begin, changes, end, checkpoint, unlock, flush. Its user is
 * the leader of a group commit (commit.c), or one that the program itself opened (transaction.c).
 */

/* Logs a remark, after the lock is released, as a callback may take long. */
void weiri_write_say(const struct weiri_store *store, const struct weiri_remark *remark);

/* Prepares the store's writer, which has read, under the lock. Copies a long log to the database
 * where nobody else has the store open. */
WEIR_NODISCARD enum weir_status weiri_write_prepare(struct weiri_store *store,
                                                    struct weir_error *ret_error);

/* When a call that begins now ends its waits: after the broker's time limit. A reading of
 * weiri_monotonic_now(). */
int64_t weiri_write_limit(const struct weiri_store *store);

/* Takes the store's lock, until limit_ns. A file that was removed or replaced is WEIR_EIO, and so
 * are the log and its index, and all after a write that failed. The file is missed before the lock
 * file is made again beside it. A removal after this call is as one after the commit. */
WEIR_NODISCARD enum weir_status weiri_write_lock(struct weiri_store *store, int64_t limit_ns,
                                                 struct weir_error *ret_error);

/* Begins a transaction. Returns a code of SQLite. */
int weiri_write_begin(struct weiri_store *store);
/* Called inside: wakes so many waiters of a channel after the commit, besides what others asked
 * for; INT_MAX: all, as always of one that tubes share. */
void weiri_write_notify(struct weiri_store *store, unsigned channel, int count);
/* Commits, or rolls back where the transaction or the commit has failed. is_lasting: its answer
 * needs a flush. On failure ret_error says why, and nothing has changed, unless a write failed:
 * then the state is unknown, and the store has failed. */
WEIR_NODISCARD enum weir_status weiri_write_end(struct weiri_store *store, bool is_lasting,
                                                struct weir_error *ret_error);

/* Rolls back where a transaction is open. On failure it stays open, and the store has failed: to
 * close the connection is what ends it. Returns a code of SQLite. */
int weiri_write_rollback(struct weiri_store *store, struct weiri_connection *connection);

/* Copies the log's pages to the database, under the store's lock, so that no other process commits
 * meanwhile (Debian's SQLite may corrupt the file then). It never waits for readers: pages that
 * they still need are left for the next checkpoint. mode: one of SQLite's. */
void weiri_write_checkpoint(struct weiri_store *store, int mode);
void weiri_write_checkpoint_if_due(struct weiri_store *store);

/* Flushes the log; without the lock. */
WEIR_NODISCARD enum weir_status weiri_write_flush(struct weiri_store *store,
                                                  struct weir_error *ret_error);

/* Closes the writer and the lock file. Where the process has run jobs and nobody else has the store
 * open, the log goes into the file, and is removed; else it stays. */
void weiri_write_close(struct weiri_store *store);

/* Whether an earlier write failed: nothing more is acknowledged. */
bool weiri_write_has_failed(struct weiri_store *store);
/* The error of what comes after it. */
enum weir_status weiri_write_refuse(const struct weiri_store *store, struct weir_error *ret_error);

#endif

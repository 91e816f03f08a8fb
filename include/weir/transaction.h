/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TRANSACTION_H
#define WEIR_TRANSACTION_H

#include <stddef.h>

#include <weir/broker.h>
#include <weir/export.h>
#include <weir/job.h>
#include <weir/status.h>

WEIR_BEGIN_DECLS

struct sqlite3; /* sqlite3.h */

/** @file
 * Jobs in the program's own SQLite transactions: they exist if and only if the transaction does (a
 * transactional outbox).
 *
 * The program keeps its tables in the store's file, on a connection of its own. The broker is
 * opened with WEIR_BROKER_SHARED, or `sqlite:PATH?shared=1`; so is every other broker on that file,
 * that of `weir` too. Then
 *
 *     weir_transaction_begin(transaction, &error);
 *     ... any statements on the connection ...
 *     weir_transaction_put(transaction, "mail", &body, 1, NULL, NULL, &error);
 *     weir_transaction_commit(transaction, &error);
 *
 * All that writes to the file goes through weir_transaction_begin(), since a plain BEGIN excludes
 * neither checkpoints nor other processes of weir in time. Connections that only read are opened
 * read-only (SQLITE_OPEN_READONLY): another one would checkpoint when it is closed. The program's
 * tables, views, indexes and triggers are on no table of weir's, and have none of its names: tubes,
 * jobs, bodies, marks, pauses, attempts, keys, schedules, policies, and those names with an ending.
 *
 * A transaction excludes all other writers of the store, the program's own puts by the broker too:
 * keep it short. Others wait, and after their busy_ns are WEIR_ETIMEDOUT; jobs that run and have a
 * shorter TTR may run twice. The power may fail at any moment: after a commit that was WEIR_OK all
 * is there, after any other end nothing.
 *
 * A transaction object is used by one thread at a time. */

/** A connection of the program's, and its transactions one after another. Opaque. */
typedef struct weir_transaction weir_transaction;

/** Prepares a connection to the broker's store, which has no open transaction. Until it is closed
 * its commits and its close make no checkpoints (SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE; its hook of
 * sqlite3_wal_hook() is weir's); commits of weir make them, on a connection of weir's own. PRAGMA
 * synchronous is set: the flush is in weir_transaction_commit(), by the broker's durability. The
 * broker and the connection stay until weir_transaction_free(). Blocks for the store's lock.
 * Errors: WEIR_EINVAL (the connection is to another file; the broker is not shared), WEIR_ENOTSUP
 * (a cluster), WEIR_EACCESS (read-only), WEIR_ESTATE (an open transaction), WEIR_ESCHEMA,
 * WEIR_ECORRUPT, WEIR_ETIMEDOUT, WEIR_EIO, WEIR_ENOMEM. */
WEIR_API WEIR_NODISCARD enum weir_status weir_transaction_new(weir_broker *broker,
                                                              struct sqlite3 *connection,
                                                              weir_transaction **ret_transaction,
                                                              struct weir_error *ret_error);

/** Begins a transaction that writes. Blocks for the store's lock, and for other programs that write
 * the file, at most the broker's busy_ns; it tries again every 10 ms, and lets weir's other writers
 * go on in between. The connection's busy handler stays as it was; it is asked only where another
 * program begins in the moment after weir has found that none writes. Errors: WEIR_ESTATE (the
 * connection has a transaction), WEIR_EINVAL, those of the storage; nothing is open then. */
WEIR_API WEIR_NODISCARD enum weir_status weir_transaction_begin(weir_transaction *transaction,
                                                                struct weir_error *ret_error);

/** Puts count jobs in the open transaction, as weir_broker_put() does, but never in several parts.
 * On failure none of them is put; the transaction goes on, unless SQLite ended it, or had no memory
 * to take a part of them back: what comes after it is WEIR_ESTATE then. Errors: WEIR_EINVAL
 * (options), WEIR_ETOOBIG (a body, a text of the options), WEIR_EBUSY (as there), WEIR_EPAST,
 * WEIR_ERANGE, WEIR_ENOMEM, those of the storage, and WEIR_ESTATE (as there; no transaction; a
 * temporary table has a name of weir's, or a temporary trigger is on one of weir's). */
WEIR_API WEIR_NODISCARD enum weir_status weir_transaction_put(
    weir_transaction *transaction, const char *tube, const struct weir_body *bodies, size_t count,
    const struct weir_put_options *options, struct weir_job_id *ret_ids,
    struct weir_error *ret_error);

/** Commits: all of the transaction is there, as durable as the broker says, and consumers are
 * notified. On failure it is rolled back, but that after WEIR_EIO nobody knows. Errors:
 * WEIR_ESCHEMA (an index or a trigger of the program's is on a table of weir's), WEIR_ESTATE (there
 * is no transaction; the program or SQLite ended it; a deferred foreign key is violated),
 * WEIR_ETIMEDOUT (a statement is not finished), WEIR_EINVAL, those of the storage. */
WEIR_API WEIR_NODISCARD enum weir_status weir_transaction_commit(weir_transaction *transaction,
                                                                 struct weir_error *ret_error);

/** Rolls back. Does nothing where there is no transaction. Where SQLite cannot, the transaction
 * stays open, and other calls are WEIR_ESTATE or WEIR_EIO: close the connection. Takes NULL. */
WEIR_API void weir_transaction_rollback(weir_transaction *transaction);

/** Rolls back and frees. The connection stays open, as weir_transaction_new() prepared it: close
 * it, or give it there again. Takes NULL. In a child after fork() it does nothing. */
WEIR_API void weir_transaction_free(weir_transaction *transaction);

WEIR_END_DECLS

#endif

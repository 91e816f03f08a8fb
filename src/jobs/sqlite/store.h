/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_STORE_H
#define WEIRI_SQLITE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/sync.h"
#include "jobs/core/backend.h"
#include "jobs/sqlite/lock_file.h"
#include "jobs/sqlite/place.h"

/* A message about a write. */
struct weiri_remark {
    enum weir_log_level level;
    const char *after; /* the error's text; NULL: there is no message */
    struct weir_error error;
};

/* Room for the names of a pid namespace and a time namespace. */
#define WEIRI_SPACE_SIZE 64

/* An open store: one connection that writes, used by the leader (weiri_commit()), and connections
 * that read, one for each reading call.
 *
 * The mutex, the only lock of this folder, is held for list operations, never during I/O. */
struct weiri_store {
    /* Immutable. */
    const struct weiri_broker_config *config;
    char path[WEIRI_PLACE_SIZE]; /* absolute, without symbolic links */
    struct weiri_beside lock;    /* the path of its lock file */
    int64_t owner;
    int64_t era;                  /* the least token of a reservation */
    int64_t older;                /* jobs up to this number were there before the era */
    char space[WEIRI_SPACE_SIZE]; /* the process' namespaces (worker.h) */
    int64_t clock;                /* a number of the boot and the namespace of its clock */
    bool is_read_only;            /* lock_file and writer do not exist */
    struct weiri_lock_file lock_file;

    struct weiri_mutex mutex;
    /* Guarded by the mutex. */
    struct weiri_list requests WEIRI_GUARDED_BY(mutex); /* not taken by a leader yet */
    bool is_led WEIRI_GUARDED_BY(mutex);
    bool has_failed WEIRI_GUARDED_BY(mutex); /* a write failed: so do all requests */
    struct weiri_connection *idle_reader WEIRI_GUARDED_BY(mutex); /* NULL: none */
    struct weiri_list kept WEIRI_GUARDED_BY(mutex); /* reservations that their holders renew */
    /* The tubes that may have suspects beside those kept are of channels between these two. */
    unsigned suspects_first WEIRI_GUARDED_BY(mutex);
    unsigned suspects_end WEIRI_GUARDED_BY(mutex);

    /* Used by the leader alone. */
    struct weiri_connection writer;
    sqlite3 *checkpointer;         /* makes checkpoints; the writer, unless that is the program's */
    int wakes[WEIRI_CHANNELS];     /* how many waiters to wake after the commit */
    unsigned wakes_end;            /* after the last of these that is not 0 */
    struct weiri_burials *burials; /* of the request that runs; NULL: it wants none */
    struct weiri_remark remark;    /* to be logged: weiri_write_say() */
    bool is_putting;               /* the transaction has a put */
    bool is_fleeting;              /* the request that ran needs no flush */
    bool must_flush;               /* one that was committed does */
    int changes_before;            /* of the connection, before the transaction */
    bool is_full;                  /* the transaction is made again, on a full disk */
    bool has_trimmed;              /* it has deleted rows of jobs that have ended */
    int64_t passed;                /* up to this row ended jobs of any tube were looked through */
    int64_t census_ns;             /* when a look counts all rows again */
    bool has_repaired;             /* its indexes, */
    uint64_t mended;               /* and so many rows */
    uint64_t files[3];             /* identities of what the writer has open: file, log, index */
    uint32_t stamp;                /* of the last transaction (stamp.h) */
    uint64_t transactions;         /* committed, ever */
    int64_t worker;                /* the number of the process' row of workers; 0: none */
    bool has_new_worker;           /* the transaction has added it */
    int64_t awaited_tube;          /* whose first suspect waits to run alone, */
    int64_t awaited_until_ns;      /* until it is looked for again; a time of leases */
    int64_t put_ns;                /* time after which a put is cut */
    size_t promote_max;            /* jobs made ready, or turned away, in one transaction */
    int64_t follow_left;           /* jobs that this one may make ready as the clock was set back */
    int wal_pages;                 /* in the WAL after the last commit */
    int checkpoint_at;             /* pages at which the next checkpoint is tried */
    int checkpoint_pages;          /* pages between checkpoints */
};

/* Jobs in an SQLite file; design notes: docs/internals/sqlite.md. */
extern const struct weiri_broker_ops weiri_sqlite_ops;

/* Channels of no tube's own, besides WEIRI_CHANNEL_EMPTIED. */
enum {
    WEIRI_CHANNEL_NEW = 0, /* of all tubes without a row */
    /* Nobody sleeps on it. Who has reserved jobs reads its mark now and then, and where it has
     * changed renews them, since somebody may have asked one of them to end. */
    WEIRI_CHANNEL_CONTROL = 2,
    WEIRI_CHANNEL_SHARED = WEIRI_CHANNELS - 1 /* of all tubes of high numbers */
};
/* The channel of a tube with a row, by the number of that. */
unsigned weiri_store_channel(int64_t tube);

/* Opens a store by fn; config and path are there. On failure nothing stays open.
 * WEIR_EFORKED: SQLite knows by inode what locks its process has. A child inherits what it knows,
 * and no lock. */
typedef enum weir_status weiri_open_fn(struct weiri_store *store, void *arg,
                                       struct weir_error *ret_error);
WEIR_NODISCARD enum weir_status weiri_store_open(struct weiri_store *store, weiri_open_fn *fn,
                                                 void *arg, struct weir_error *ret_error);
/* Behind the writer, or the reader. */
void weiri_store_fini(struct weiri_store *store);

/* Opens the lock file, and the rest by fn under the lock. */
WEIR_NODISCARD enum weir_status weiri_store_open_locked(struct weiri_store *store,
                                                        weiri_open_fn *fn, void *arg,
                                                        struct weir_error *ret_error);

/* Opens the file to write, with its lock file, which is closed behind the writer. arg: of a bool,
 * whether the file must exist. */
enum weir_status weiri_store_open_writer(struct weiri_store *store, void *arg,
                                         struct weir_error *ret_error);

/* The error of a failed weiri_lock_file_open(). */
enum weir_status weiri_store_refuse_lock(const struct weiri_store *store, int error,
                                         struct weir_error *ret_error);

/* Takes the store's lock; limit_ns is a reading of weiri_monotonic_now(). Released by
 * weiri_lock_file_unlock(). */
WEIR_NODISCARD enum weir_status weiri_store_lock(struct weiri_store *store, int64_t limit_ns,
                                                 struct weir_error *ret_error);

static inline int64_t weiri_store_now(const void *arg)
{
    const struct weiri_store *store = arg;
    return store->config->clocks.wall(store->config->clocks.arg);
}

/* The clock of leases: it is never set, and all processes of a boot read the same. */
static inline int64_t weiri_store_lease_now(const struct weiri_store *store)
{
    return store->config->clocks.lease(store->config->clocks.arg);
}

/* A job's id as text to its number, and back. name is what is called so where it is none:
 * WEIR_EINVAL. */
WEIR_NODISCARD enum weir_status weiri_number_parse(const char *name, const char *text,
                                                   int64_t *ret_number,
                                                   struct weir_error *ret_error);
void weiri_number_format(int64_t number, struct weir_job_id *ret_id);

/* Group commit. A thread that writes adds a request to a list. If there is no leader, it becomes
 * the leader: it takes all requests, runs them in one transaction with one fsync under the store's
 * lock, and answers them. No request is answered with WEIR_OK before it is on stable storage.
 *
 * If a transaction of several requests fails, each is run again alone, so that a request that
 * cannot succeed makes no other fail. */

/* Changes the database inside a transaction. A failure, which sticks to the writer, undoes the
 * transaction. The function may be called again after that, so it first resets its results. */
typedef void weiri_commit_fn(struct weiri_store *store, void *arg);

WEIR_NODISCARD enum weir_status weiri_commit(struct weiri_store *store, weiri_commit_fn *run,
                                             void *arg, struct weir_error *ret_error);

/* Makes the indexes of jobs anew from their table, in a transaction of its own, and mends the rows.
 * Called by the leader, outside of transactions, after a statement found an index damaged. Fails
 * where the table is damaged too, or as any write. */
WEIR_NODISCARD enum weir_status weiri_repair_indexes(struct weiri_store *store,
                                                     struct weir_error *ret_error);
/* Inside a transaction: buries the jobs that are in no known state, mends numbers that are none,
 * and raises the floor of the ids. Returns how many rows it changed for that. */
uint64_t weiri_repair_rows(struct weiri_connection *connection);

/* A struct weiri_edit in its transactions. */
struct weiri_edit_request {
    const struct weiri_edit *edit;
    bool is_again; /* a transaction before has made the change, and left a rest */
    /* Results. */
    int64_t job;             /* of a run of a schedule */
    bool has_more;           /* rows may be left of jobs that the policy does not keep */
    enum weir_status status; /* whether the change was refused */
    struct weir_error error; /* why */
};
void weiri_policy_edit(struct weiri_store *store, struct weiri_edit_request *request);
void weiri_schedule_edit(struct weiri_store *store, struct weiri_edit_request *request);

/* Jobs that the store itself buries in a transaction. */
struct weiri_burials {
    const char *tube;
    struct weiri_list list; /* of struct weiri_reservation */
};

/* Adds one to the request that runs, if that wants them. status: why. */
void weiri_burials_add(struct weiri_store *store, int64_t number,
                       const struct weiri_job_facts *facts, enum weir_status status,
                       const char *reason);

/* The operations: the functions of these names of struct weiri_broker_ops; and parts of them. */
#define WEIRI_STORE_WRITES(X) X(put) X(change) X(edit) X(care) X(move) X(exchange) X(let_go) X(mark)
#define WEIRI_STORE_READS(X) X(list) X(tubes) X(policy) X(schedules) X(attempts) X(was_put) X(check)
#define WEIRI_STORE_OP(name) WEIRI_OP(name, weiri_store_##name);
WEIRI_STORE_WRITES(WEIRI_STORE_OP)
WEIRI_STORE_READS(WEIRI_STORE_OP)
WEIRI_OP(transaction_open, weiri_transaction_open);
WEIRI_OP(transaction_step, weiri_transaction_step);
enum weir_status weiri_store_backup(struct weiri_store *store, const char *location,
                                    struct weir_error *ret_error);

#endif

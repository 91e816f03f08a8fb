/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_ROW_H
#define WEIRI_SQLITE_ROW_H

#include "jobs/core/job.h"
#include "jobs/sqlite/body.h"
#include "jobs/sqlite/store.h"

/* Jobs inside a transaction: a row is read, jobs/core/job.h decides what becomes of
 * it, and it is written back with what follows, while what its tube's totals gain is added up. What
 * fails sticks to the connection (connection.h). */

/* What a transaction changes about one tube, added up until it is written. Starts all zero. */
struct weiri_tally {
    int64_t tube; /* 0: none yet */
    int64_t put;
    int64_t done;
    int64_t failed;
    int64_t retried;
    int64_t expired;
    int64_t burials;
    int64_t late_buried;
    int64_t late_dropped;
    bool has_left;      /* a job that may run does so no longer, or is in another tube */
    int ready;          /* how many jobs became ready, or got room in their groups */
    bool has_suspect;   /* among them, which not every process may begin */
    int64_t delayed_ns; /* earliest run time of those that became delayed; 0: none */
    int32_t priority;   /* of that one */
    int64_t lease_ns;   /* earliest end of those that became reserved; 0: none */
};

/* The time of the store's clocks. */
struct weiri_now weiri_store_times(const struct weiri_store *store);
/* The same for a request that looks, or may write a delayed job (clock.c). false: the wall clock
 * was set back, and some jobs that were due are ready now, but not all: it comes again. */
WEIR_NODISCARD bool weiri_clock_follow(struct weiri_store *store, bool is_look,
                                       struct weiri_now *ret_now);

/* Finds the number of a tube; 0 where it never had a job or a schedule. */
bool weiri_tube_find(struct weiri_connection *connection, const char *name, int64_t *ret_tube);

/* The number of a tube, which is added, inside a transaction, if it is not there. */
int64_t weiri_tube_add(struct weiri_store *store, const char *name);

/* Reads what decisions need of a tube (policies.c). Its pause may be over. */
void weiri_tube_read(struct weiri_connection *connection, int64_t tube,
                     struct weiri_tube_record *ret_record);

#define WEIRI_READY_SUSPECT 9 /* the stored state of one, which has an index of its own */

/* Reads the columns WEIRI_SQL_JOB of a statement's row, but for the texts. */
void weiri_row_read(struct weiri_connection *connection, sqlite3_stmt *statement,
                    struct weiri_job_row *ret_row);

/* Whether there is such a job. */
bool weiri_row_load(struct weiri_store *store, int64_t number, struct weiri_job_row *ret_row);

/* Writes a row that was made for a put, with the put's key or NULL, and gives it its number. last:
 * the one that the transaction added last, where that is known; else 0. */
void weiri_row_add(struct weiri_store *store, struct weiri_job_row *row, const char *key,
                   const struct weiri_new_body *body, int64_t last);

/* Gives a job another body. */
void weiri_row_renew_body(struct weiri_store *store, int64_t number,
                          const struct weiri_new_body *body);

/* Does what was decided about a row; of a put all but the body, and the throttle of its key. */
void weiri_row_write(struct weiri_store *store, struct weiri_tally *tally,
                     const struct weiri_job_row *row, enum weiri_write write,
                     const struct weiri_effects *effects, struct weiri_now now);

/* Whether its reservation is renewed by its holder, in this process. */
bool weiri_row_is_kept(struct weiri_store *store, const struct weiri_job_row *row);

/* Applies an event that is no holder's. reason NULL: as it was. The status is that of
 * weiri_decide_change(). */
enum weir_status weiri_row_change(struct weiri_store *store, struct weiri_tally *tally,
                                  struct weiri_job_row *row, const struct weiri_job_step *step,
                                  struct weiri_now now, const char *reason);

/* Moves a row to another tube. from and to are different tallies. The status is that of
 * weiri_decide_refile(). */
enum weir_status weiri_row_refile(struct weiri_store *store, struct weiri_tally *from,
                                  struct weiri_tally *to, struct weiri_job_row *row, int64_t tube,
                                  struct weiri_now now);

/* Deletes some hundred rows of jobs that have ended, with what belongs to them (policies.c): those
 * of the tube that its policy keeps no longer, the oldest first, and stubs of any tube. All rows
 * that leave leave here. true: others may be left. */
bool weiri_trim(struct weiri_store *store, int64_t tube, struct weiri_now now);

/* Adds to the totals, and notifies the channels of tubes with news for waiters. The tally is zero
 * then. */
void weiri_tally_flush(struct weiri_store *store, struct weiri_tally *tally);

/* --- the parts of an exchange --- */

/* Reserves ready jobs of a tube in their order, as many as the exchange lacks. Jobs whose bodies
 * are damaged are buried, late ones are what the policy says, those of full groups are passed over.
 * A suspect begins where those that this process keeps let it (weiri_suspect_begins()).
 * ret_suspect_in_ns: one is left, and may begin then; 0: none is. true: others may be ready; the
 * transaction has changed enough. */
bool weiri_reserve(struct weiri_store *store, struct weiri_exchange *exchange,
                   struct weiri_tally *tally, int64_t tube, const struct weiri_tube_record *record,
                   struct weiri_now now, int64_t *ret_suspect_in_ns);

/* Puts the jobs of a tube's schedules that are due, inside the transaction of a consumer, so that
 * each firing puts one job. On a full disk it puts none. true: others are due; the transaction has
 * changed enough. */
bool weiri_schedules_fire(struct weiri_store *store, struct weiri_tally *tally, int64_t tube,
                          int64_t now_ns);

/* When a schedule of the tube puts a job next; WEIR_FOREVER: never. */
int64_t weiri_schedules_next(struct weiri_store *store, int64_t tube);

#endif

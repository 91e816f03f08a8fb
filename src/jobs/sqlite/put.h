/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_PUT_H
#define WEIRI_SQLITE_PUT_H

#include "jobs/sqlite/row.h"

struct weiri_put_request {
    const struct weiri_put *put;
    int64_t said_ns;  /* when it was said, for all its transactions, and runs of them; 0: not yet */
    size_t from;      /* jobs of earlier transactions */
    size_t count;     /* result: with those of this one */
    int64_t *numbers; /* result: of all of them; of one that is refused: that of the other job */
    enum weir_status refusal; /* result, of body `count`: WEIR_EBUSY for its key, WEIR_ESTATE for
                                 its put_id; WEIR_OK: it is not refused */

    /* Of a transaction, and the body at hand. */
    const struct weiri_put *own;
    const struct weir_body *body;
    struct weiri_tally tally;
    int64_t tube;
    struct weiri_now now;
    int64_t last;    /* the job that it added last; 0: none yet */
    int64_t last_ns; /* where the body before was put at once, as a new job, its run time, which is
                        the last of its priority; else 0 */
    int32_t last_priority;
};

/* Puts jobs in an open transaction; count is less than all where the store's put_ns has passed. A
 * function of weiri_commit(). */
void weiri_put_run(struct weiri_store *store, void *request);
/* The same, but of a put that fails or is refused nothing is left in the transaction, which is
 * rolled back where SQLite cannot take a part of it back. The failure sticks to the writer. */
void weiri_put_run_whole(struct weiri_store *store, void *request);

/* The ids of a put that succeeded (ret_ids may be NULL), or its refusal. */
enum weir_status weiri_put_finish(const struct weiri_put_request *request,
                                  struct weir_job_id *ret_ids, struct weir_error *ret_error);

#endif

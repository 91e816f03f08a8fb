/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_PUT_H
#define WEIRI_SQLITE_PUT_H

#include "jobs/sqlite/store.h"

struct weiri_put_request {
    const struct weiri_put *put;
    int64_t said_ns;  /* when it was said, for all its transactions, and runs of them; 0: not yet */
    size_t from;      /* jobs of earlier transactions */
    size_t count;     /* result: with those of this one */
    int64_t *numbers; /* result: of all of them */
    bool was_there;   /* result */
    bool is_refused;  /* result: a job has the key */
};

/* Puts jobs in an open transaction; count is less than all where the store's put_ns has passed. A
 * function of commit.h. */
int weiri_put_run(struct weiri_store *store, void *request);

/* The ids of a put that succeeded (ret_ids may be NULL), or WEIR_EBUSY where the key refused it. */
enum weir_status weiri_put_finish(const struct weiri_put_request *request,
                                  struct weir_job_id *ret_ids, struct weir_error *ret_error);

#endif

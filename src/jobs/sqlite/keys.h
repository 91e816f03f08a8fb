/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_KEYS_H
#define WEIRI_SQLITE_KEYS_H

#include "jobs/core/duplicate.h"
#include "jobs/sqlite/row.h"

/* The keys of jobs, each unique in its tube. A row has the key from the put of its job until that
 * job ends, is removed or is buried; of a throttled one until its time. All functions return
 * SQLite's codes and are called in a transaction. */

/* What becomes of a put with a key. */
struct weiri_key_decision {
    enum weiri_duplicate_action action;
    struct weiri_row row; /* of the job that has or had the key, but for WEIRI_DUPLICATE_PUT */
};

/* Decides about a put into a tube. */
int weiri_key_decide(struct weiri_store *store, int64_t tube, const struct weiri_put *put,
                     int64_t now_ns, struct weiri_key_decision *ret_decision);

/* Gives the key of a put to the job that was made for it. */
int weiri_key_take(struct weiri_store *store, int64_t tube, const struct weiri_put *put,
                   int64_t number, int64_t now_ns);

/* Releases the key of a job that has ended or was buried. */
int weiri_key_release(struct weiri_store *store, int64_t number, const struct weiri_key *key,
                      int64_t now_ns);

#endif

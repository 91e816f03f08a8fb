/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_POLICIES_H
#define WEIRI_SQLITE_POLICIES_H

#include <weir/policy.h>

#include "jobs/sqlite/row.h"
#include "jobs/sqlite/store.h"

/* Policies of tubes, as transactions use them. Functions that return int return SQLite's codes. */

struct weiri_policy {
    struct weiri_tube_record
        record; /* with the pause; the policy is zero where the tube has none */
    struct weir_tube_policy_counts counts;
    bool is_changed; /* to be saved: the counts of late jobs */
};

/* Reads the policy of a tube. */
int weiri_policy_find(struct weiri_connection *connection, int64_t tube,
                      struct weiri_policy *ret_policy);

/* Called in a transaction that archived a job of the tube: deletes up to limit of those that are
 * kept no longer. ret_count: how many. */
int weiri_policy_trim(struct weiri_store *store, struct weiri_tally *tally, int64_t tube,
                      size_t limit, struct weiri_now now, size_t *ret_count);

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_RESERVE_H
#define WEIRI_SQLITE_RESERVE_H

#include "jobs/sqlite/policies.h"
#include "jobs/sqlite/row.h"
#include "jobs/sqlite/store.h"

/* Reserves ready jobs of a tube in their order, as many as the exchange lacks. Jobs whose bodies
 * are damaged are buried, late ones are what the policy says, those of full groups are passed over.
 * Returns a code of SQLite. */
int weiri_reserve(struct weiri_store *store, struct weiri_exchange *exchange,
                  struct weiri_tally *tally, int64_t tube, struct weiri_policy *policy,
                  struct weiri_now now);

#endif

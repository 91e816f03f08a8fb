/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_EXCHANGE_H
#define WEIRI_SQLITE_EXCHANGE_H

#include "jobs/sqlite/row.h"

/* The parts of an exchange, inside its transaction. */

/* Reserves ready jobs of a tube in their order, as many as the exchange lacks. Jobs whose bodies
 * are damaged are buried, late ones are what the policy says, those of full groups are passed over.
 * A suspect begins where those that this process keeps let it (weiri_suspect_begins()).
 * ret_suspect_in_ns: one is left, and may begin then; 0: none is. true: others may be ready; the
 * transaction has changed enough. */
bool weiri_reserve(struct weiri_store *store, struct weiri_exchange *exchange,
                   struct weiri_tally *tally, int64_t tube, const struct weiri_tube_record *record,
                   struct weiri_now now, int64_t *ret_suspect_in_ns);

/* The suspects that this process keeps, as an exchange that found one of a tube sees them: without
 * those that it ends. The tube's consumers are woken when one of them is let go. */
struct weiri_suspects weiri_suspects_here(struct weiri_store *store,
                                          const struct weiri_exchange *exchange, int64_t tube);

/* Puts the jobs of a tube's schedules that are due, inside the transaction of a consumer, so that
 * each firing puts one job. On a full disk it puts none. true: others are due; the transaction has
 * changed enough. */
bool weiri_schedules_fire(struct weiri_store *store, struct weiri_tally *tally, int64_t tube,
                          int64_t now_ns);

/* When a schedule of the tube puts a job next; WEIR_FOREVER: never. */
int64_t weiri_schedules_next(struct weiri_store *store, int64_t tube);

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_SPACE_H
#define WEIRI_SQLITE_SPACE_H

#include "jobs/sqlite/store.h"

/* Space on the disk. On a full disk only puts fail: other changes must go on, so that workers empty
 * the store.
 *
 * Two things ensure that. Each transaction allocates the pages that it adds to the database before
 * it commits, so a checkpoint never needs space, and the log is then written again from its start.
 * And the lock file keeps blocks in reserve. A put needs the whole reserve; a transaction without a
 * put that finds the disk full releases it. Called by the leader, or under the store's lock. */

/* Whether the reserve is there, or could be allocated. Without it nothing is added that a
 * settlement can do without. */
bool weiri_space_has_reserve(struct weiri_store *store);

/* Called in the transaction of a put. SQLITE_FULL: there is no reserve, and no space for one. */
void weiri_space_check_put(struct weiri_store *store);

/* Called before the commit: allocates the space of the pages that the transaction added. */
void weiri_space_claim(struct weiri_store *store);

/* SQLite extends the file by multiples of this. Larger ones save calls, smaller ones space. */
#define WEIRI_CHUNK_SIZE (64 << 10)
/* Prepares a connection for weiri_space_claim() with WEIRI_CHUNK_SIZE; with 0 the last checkpoint
 * leaves the file no longer than its pages. */
void weiri_space_set_chunk(sqlite3 *db, int size);

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_STAMP_H
#define WEIRI_SQLITE_STAMP_H

#include "jobs/sqlite/store.h"

/* A store, its log and its lock file have stamps that tell whether they belong together. A stamp is
 * a number of 23 bits in the database's user version (schema.h), which starts at random. A commit
 * increases it where a checkpoint has copied the present one into the file: so the file's is behind
 * while commits are in the log alone. The lock file has that of a commit that was flushed: the
 * kernel may write it before the log. A checkpoint that a reader holds up may copy the stamp and
 * not the commits after it, so it increases it too. Those of other programs do not: what was
 * committed before has no stamp of its own until weir's next commit.
 *
 * SQLite would replay a log of another store, or of another time of this one, and so damage the
 * file; and it would not miss a log that was removed. */

/* Called before a commit with changes, and after a checkpoint that left commits in the log. */
void weiri_stamp_advance(struct weiri_store *store);
/* Called before a commit without changes. */
void weiri_stamp_load(struct weiri_store *store);

/* Called after an open, which found the log and the store in order: forgets a stamp that is ahead
 * of the store's, log included. It is of an earlier store at this place. */
void weiri_stamp_forget(struct weiri_store *store);

/* Checks that the log belongs to the store, and is there if the lock file says so. Called under the
 * lock before SQLite reads the log; noted is the lock file's stamp, 0: unknown. WEIR_ECORRUPT. */
WEIR_NODISCARD enum weir_status weiri_stamp_check(const char *path, uint32_t noted,
                                                  struct weir_error *ret_error);

/* Checks that what SQLite has in memory of the log is of the log at the path. All connections of a
 * process share it; where others of this process have a log that was removed, a new one would write
 * by the index of that one into the new log. Under the lock, once the writer has read. WEIR_EIO.
 * Sets the store's wal_pages. */
WEIR_NODISCARD enum weir_status weiri_stamp_check_index(struct weiri_store *store,
                                                        struct weir_error *ret_error);

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_READ_H
#define WEIRI_SQLITE_READ_H

#include "jobs/sqlite/store.h"

/* Reading happens on connections of its own, beside the writer and without the store's lock: each
 * call sees the store as of one moment, and its callbacks may call anything. */

/* A connection for one call: the idle one, or a new one. */
WEIR_NODISCARD enum weir_status weiri_reader_take(struct weiri_store *store,
                                                  struct weiri_connection **ret_reader,
                                                  struct weir_error *ret_error);
/* Keeps a connection for the next call. Closes it if one is kept already or it failed. */
void weiri_reader_give(struct weiri_store *store, struct weiri_connection *reader, bool is_good);

/* Calls back for jobs of a tube that are delayed or ready, in order of their numbers, until fn
 * returns anything but 0: those after `after` and up to *last, which is set to the last number that
 * there is where it is negative. */
WEIR_NODISCARD enum weir_status weiri_store_page(struct weiri_store *store, const char *tube,
                                                 int64_t after, int64_t *last, weir_job_fn *fn,
                                                 void *arg, struct weir_error *ret_error);

/* Closes one for good and frees it. */
void weiri_reader_close(struct weiri_store *store, struct weiri_connection *reader);

#endif

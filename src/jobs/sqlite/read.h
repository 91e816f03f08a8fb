/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_READ_H
#define WEIRI_SQLITE_READ_H

#include "jobs/sqlite/page.h"
#include "jobs/sqlite/store.h"

/* Reading happens on connections of its own, beside the writer and without the store's lock: each
 * call sees the store as of one moment, and its callbacks may call anything. */

/* A connection for one call: the idle one, or a new one. */
WEIR_NODISCARD enum weir_status weiri_reader_take(struct weiri_store *store,
                                                  struct weiri_connection **ret_reader,
                                                  struct weir_error *ret_error);
/* Keeps a connection for the next call. Closes it if one is kept already or it failed. */
void weiri_reader_give(struct weiri_store *store, struct weiri_connection *reader, bool is_good);

/* Calls back for the jobs that a page asks for, from the one behind page->after up to *until, which
 * becomes the last number where that is less; sets page->last where it is not known. */
WEIR_NODISCARD enum weir_status weiri_store_page(struct weiri_page *page, int64_t *until,
                                                 weir_job_fn *fn, void *arg,
                                                 struct weir_error *ret_error);

/* Closes one for good and frees it. */
void weiri_reader_close(struct weiri_store *store, struct weiri_connection *reader);

#endif

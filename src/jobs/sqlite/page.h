/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_SQLITE_PAGE_H
#define WEIRI_SQLITE_PAGE_H

#include "jobs/sqlite/store.h"

/* Jobs read a page at a time, in order of their numbers. Each page is a transaction of bounded
 * length, which is over before the jobs are looked at, so that no reader keeps the log from being
 * checkpointed. A page may have no jobs though more follow. Jobs that arrive later than the first
 * page are not among them. */

/* Jobs of a page. */
#define WEIRI_PAGE_JOBS 64

struct weiri_page {
    struct weiri_store *store;
    /* Which jobs. */
    const char *tube;          /* NULL: of all */
    unsigned states;           /* a bit for each state, as stored: a delayed one may be due */
    uint32_t attempts_min;     /* at least so many */
    int64_t created_before_ns; /* INT64_MAX: at any time */
    const void *text;          /* in body or reason; NULL: any */
    size_t text_size;
    int64_t after; /* behind this number */

    int64_t until;          /* up to this one, for now */
    int64_t last;           /* the last number at the first page; -1: not known yet */
    struct weiri_list jobs; /* of struct weiri_reservation, which are not reserved; a damaged one
                               has a backend */
    size_t count;
    size_t bytes; /* of all bodies that were read */
    bool is_full;
    bool is_over; /* this page is the last */
};

/* For all delayed and ready jobs of a tube; members may be changed before the first page. */
void weiri_page_init(struct weiri_page *page, struct weiri_store *store, const char *tube);
/* Frees the page's jobs and reads the next page. */
WEIR_NODISCARD enum weir_status weiri_page_next(struct weiri_page *page,
                                                struct weir_error *ret_error);
/* Frees the page's jobs. */
void weiri_page_fini(struct weiri_page *page);

#endif

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_TOP_MODEL_H
#define WEIRI_CLI_TOP_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/admin.h>

/* What `weir top` shows, without the screen: tubes with their rates, ordered and filtered. */

enum top_sort {
    TOP_NAME,
    TOP_DELAYED,
    TOP_READY,
    TOP_RESERVED,
    TOP_BURIED,
    TOP_PUT,
    TOP_DONE,
    TOP_RETRIED,
    TOP_OLDEST,
    TOP_SORTS
};

struct top_row {
    struct weir_tube_counts counts;
    int64_t oldest_ns; /* How long its first ready job has been ready; 0: there is none. */
    double rates[3];   /* Put, done, retried per second; below 0: not known yet. */
};

/* The tubes of one reading of the broker, in order of name. */
struct top_sample {
    struct top_row *rows;
    size_t count;
    size_t capacity;
    int64_t at_ns; /* Monotonic. */
};

/* Adds a tube behind all others. False: out of memory. */
bool top_add(struct top_sample *sample, const struct weir_tube_counts *counts, int64_t oldest_ns);

/* Fills in the rates since an earlier reading. Unknown are those of a tube that was not there then,
 * or whose counts went back: a node of a cluster is away, or the store is another one. */
void top_rate(struct top_sample *sample, const struct top_sample *before);

/* When a broker is read again whose last reading took from start_ns to end_ns: after the interval.
 * A store counts its jobs for it, and is left alone for at least 50 times as long. */
int64_t top_next(int64_t start_ns, int64_t end_ns, int64_t interval_ns, bool is_store);

/* Makes view the rows of a sample with the filter's text in their name, largest first, by name
 * where they are equal; TOP_NAME: by name. False: out of memory. */
bool top_view(const struct top_sample *sample, const char *filter, enum top_sort sort,
              struct top_sample *view);

#endif

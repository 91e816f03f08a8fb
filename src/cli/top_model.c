/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/top_model.h"

#include <stdlib.h>
#include <string.h>

/* A reading takes at most such a part of the time until the next. */
#define PAUSE 50

bool top_add(struct top_sample *sample, const struct weir_tube_counts *counts, int64_t oldest_ns)
{
    if (sample->count == sample->capacity) {
        size_t capacity = sample->capacity == 0 ? 64 : 2 * sample->capacity;
        struct top_row *rows = realloc(sample->rows, capacity * sizeof(*rows));
        if (rows == NULL) {
            return false;
        }
        sample->rows = rows;
        sample->capacity = capacity;
    }
    sample->rows[sample->count++] =
        (struct top_row){.counts = *counts, .oldest_ns = oldest_ns, .rates = {-1, -1, -1}};
    return true;
}

static double rate(uint64_t before, uint64_t now, int64_t ns)
{
    return now < before ? -1 : (double)(now - before) * 1e9 / (double)ns;
}

void top_rate(struct top_sample *sample, const struct top_sample *before)
{
    int64_t ns = sample->at_ns - before->at_ns;
    size_t old = 0;
    for (size_t i = 0; i < sample->count && ns > 0; i++) {
        struct weir_tube_counts *now = &sample->rows[i].counts;
        while (old < before->count && strcmp(before->rows[old].counts.tube, now->tube) < 0) {
            old++;
        }
        if (old < before->count && strcmp(before->rows[old].counts.tube, now->tube) == 0) {
            const struct weir_tube_counts *then = &before->rows[old].counts;
            sample->rows[i].rates[0] = rate(then->put, now->put, ns);
            sample->rows[i].rates[1] = rate(then->done, now->done, ns);
            sample->rows[i].rates[2] = rate(then->retried, now->retried, ns);
        }
    }
}

int64_t top_next(int64_t start_ns, int64_t end_ns, int64_t interval_ns, bool is_store)
{
    int64_t pause_ns = is_store ? (end_ns - start_ns) * PAUSE : 0;
    return end_ns + (pause_ns > interval_ns ? pause_ns : interval_ns);
}

static double key_of(const struct top_row *row, enum top_sort sort)
{
    const struct weir_tube_counts *counts = &row->counts;
    const double keys[TOP_SORTS] = {
        [TOP_DELAYED] = (double)counts->delayed,
        [TOP_READY] = (double)counts->ready,
        [TOP_RESERVED] = (double)counts->reserved,
        [TOP_BURIED] = (double)counts->buried,
        [TOP_PUT] = row->rates[0],
        [TOP_DONE] = row->rates[1],
        [TOP_RETRIED] = row->rates[2],
        [TOP_OLDEST] = (double)row->oldest_ns,
    };
    return keys[sort];
}

/* qsort() has no argument for it. */
static enum top_sort sorted_by;

static int compare(const void *a, const void *b)
{
    const struct top_row *left = a;
    const struct top_row *right = b;
    double first = key_of(left, sorted_by);
    double second = key_of(right, sorted_by);
    return first > second ? -1 : first < second ? 1 : strcmp(left->counts.tube, right->counts.tube);
}

bool top_view(const struct top_sample *sample, const char *filter, enum top_sort sort,
              struct top_sample *view)
{
    view->count = 0;
    for (size_t i = 0; i < sample->count; i++) {
        const struct top_row *row = &sample->rows[i];
        if (strstr(row->counts.tube, filter) != NULL) {
            if (!top_add(view, &row->counts, row->oldest_ns)) {
                return false;
            }
            view->rows[view->count - 1] = *row;
        }
    }
    sorted_by = sort;
    if (view->count > 0) {
        qsort(view->rows, view->count, sizeof(*view->rows), compare);
    }
    return true;
}

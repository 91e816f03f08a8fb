/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Counts of tubes. What a transaction finds is copied, and told after it. */
#include "base/array.h"
#include "base/error.h"
#include "jobs/sqlite/read.h"

/* --- tubes --- */

/* Reads one tube. Delayed jobs that are due count as ready, even if no consumer has made them
 * ready in the store. */
static void read_tube(struct weiri_reading *reading, sqlite3_stmt *statement,
                      struct weir_tube_counts *ret_counts)
{
    struct weir_tube_counts counts = {0};
    uint64_t *const numbers[] = {&counts.delayed, &counts.ready,  &counts.reserved, &counts.buried,
                                 &counts.put,     &counts.done,   &counts.failed,   &counts.retried,
                                 &counts.expired, &counts.burials};
    for (int i = 0; i < 10; i++) {
        *numbers[i] = (uint64_t)weiri_sql_number(reading->reader, statement, i + 3, 0, INT64_MAX);
    }
    weiri_sql_copy(reading->reader, statement, 1, counts.tube, sizeof(counts.tube));
    counts.paused_until_ns = sqlite3_column_int64(statement, 0);
    counts.ready_since_ns = sqlite3_column_int64(statement, 2);
    *ret_counts = counts;
}

/* The tubes of a name; NULL: all. */
struct tubes {
    const char *tube;
    bool counts_jobs;
    struct weiri_array findings; /* of struct weir_tube_counts */
};

static void read_tubes(struct weiri_reading *reading, void *arg)
{
    struct weiri_connection *reader = reading->reader;
    struct tubes *tubes = arg;
    sqlite3_stmt *statement;
    bool is = weiri_sql_first(reader, tubes->counts_jobs ? WEIRI_SQL_TUBES : WEIRI_SQL_TUBE_NAMES,
                              WEIRI_VALUES(reading->now_ns, tubes->tube), &statement);
    for (; is; is = weiri_sql_next(reader, statement)) {
        struct weir_tube_counts *counts =
            weiri_array_add(&tubes->findings, &reading->store->config->allocator);
        if (counts == NULL) {
            weiri_sql_fail(reader, SQLITE_NOMEM);
        } else {
            read_tube(reading, statement, counts);
        }
    }
}

enum weir_status weiri_store_tubes(void *arg, const char *tube, bool counts_jobs, weir_tube_fn *fn,
                                   void *fn_arg, struct weir_error *ret_error)
{
    struct weiri_store *store = arg;
    struct tubes tubes = {tube, counts_jobs, {.item_size = sizeof(struct weir_tube_counts)}};
    enum weir_status status = weiri_read(store, read_tubes, &tubes, ret_error);
    const struct weir_tube_counts *counts = tubes.findings.items;
    size_t i = 0;
    while (status == WEIR_OK && i < tubes.findings.count && fn(&counts[i], fn_arg) == 0) {
        i++;
    }
    weiri_array_free(&tubes.findings, &store->config->allocator);
    return status;
}

/* --- ids --- */

static void read_last(struct weiri_reading *reading, void *ret_last)
{
    weiri_sql_find(reading->reader, WEIRI_SQL_LAST_PUT, NULL, ret_last);
}

enum weir_status weiri_store_was_put(void *arg, const char *id, bool *ret_was_put,
                                     struct weir_error *ret_error)
{
    int64_t number = 0;
    int64_t last = 0;
    enum weir_status status = weiri_number_parse("job id", id, &number, ret_error);
    status = status == WEIR_OK ? weiri_read(arg, read_last, &last, ret_error) : status;
    if (status == WEIR_OK) {
        *ret_was_put = number <= last;
    }
    return status;
}

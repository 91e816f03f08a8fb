/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Counts of tubes, and jobs as they are. What a transaction finds is copied, and told after it. */
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
    int64_t paused_until_ns = sqlite3_column_int64(statement, 0);
    counts.paused_until_ns = paused_until_ns > reading->now_ns ? paused_until_ns : 0;
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
    const char *tube = tubes->tube;
    int64_t now = reading->now_ns;
    enum weiri_sql all = tubes->counts_jobs ? WEIRI_SQL_TUBES : WEIRI_SQL_TUBE_NAMES;
    enum weiri_sql one = tubes->counts_jobs ? WEIRI_SQL_TUBE : WEIRI_SQL_TUBE_NAME;
    sqlite3_stmt *statement;
    bool is = tube == NULL ? weiri_sql_first(reader, all, WEIRI_VALUES(now), &statement)
                           : weiri_sql_first(reader, one, WEIRI_VALUES(now, tube), &statement);
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

/* --- peek --- */

/* Jobs that are told one by one, each as it is in a transaction of its own. */
struct peek {
    const struct weiri_listing *listing;
    struct weiri_array numbers; /* of int64_t */
    int64_t number;             /* of the one at hand */
    struct weiri_reservation *copy;
    bool is_told;
    bool is_over; /* the callback wants no more */
};

static void copy_one(struct weiri_reading *reading, void *arg)
{
    struct peek *peek = arg;
    peek->copy = weiri_copy_job(reading, peek->number, &peek->listing->filter);
}

static enum weir_status tell_one(struct weiri_store *store, struct peek *peek,
                                 struct weir_error *ret_error)
{
    peek->copy = NULL; /* also where no transaction can be begun */
    enum weir_status status = weiri_read(store, copy_one, peek, ret_error);
    peek->is_told = status == WEIR_OK && peek->copy != NULL;
    peek->is_over = peek->is_told && peek->listing->fn(&peek->copy->job, peek->listing->arg) != 0;
    weiri_reservation_free(&store->config->allocator, peek->copy);
    return status;
}

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

/* Finds the numbers of jobs of one state, at most limit. */
static void list_state(struct weiri_reading *reading, enum weir_job_state state, int64_t tube,
                       size_t limit, struct weiri_array *findings)
{
    static const enum weiri_sql lists[] = {
        [WEIR_JOB_DELAYED] = WEIRI_SQL_PEEK_DELAYED,   [WEIR_JOB_READY] = WEIRI_SQL_PEEK_READY,
        [WEIR_JOB_RESERVED] = WEIRI_SQL_PEEK_RESERVED, [WEIR_JOB_BURIED] = WEIRI_SQL_PEEK_BURIED,
        [WEIR_JOB_ENDED] = WEIRI_SQL_PEEK_ENDED,
    };
    struct weiri_connection *reader = reading->reader;
    int64_t most = limit < INT64_MAX ? (int64_t)limit : INT64_MAX;
    sqlite3_stmt *statement;
    bool is = weiri_sql_first(reader, lists[state], WEIRI_VALUES(tube, reading->now_ns, most),
                              &statement);
    for (; is; is = weiri_sql_next(reader, statement)) {
        int64_t *number = weiri_array_add(findings, &reading->store->config->allocator);
        if (number == NULL) {
            weiri_sql_fail(reader, SQLITE_NOMEM);
        } else {
            *number = sqlite3_column_int64(statement, 0);
        }
    }
}

/* Finds the numbers of the first jobs of a tube. */
static void list_first(struct weiri_reading *reading, void *arg)
{
    struct peek *peek = arg;
    enum weir_job_state state = peek->listing->filter.state;
    size_t limit = peek->listing->filter.first;
    static const enum weir_job_state order[] = {WEIR_JOB_RESERVED, WEIR_JOB_READY, WEIR_JOB_DELAYED,
                                                WEIR_JOB_BURIED, WEIR_JOB_ENDED};
    int64_t tube;
    weiri_tube_find(reading->reader, peek->listing->filter.tube, &tube);
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        bool is_asked = state == 0 ? order[i] != WEIR_JOB_ENDED : state == order[i];
        if (is_asked && peek->numbers.count < limit) {
            list_state(reading, order[i], tube, limit - peek->numbers.count, &peek->numbers);
        }
    }
}

static enum weir_status tell_first(struct weiri_store *store, struct peek *peek,
                                   struct weir_error *ret_error)
{
    enum weir_status status = weiri_read(store, list_first, peek, ret_error);
    const int64_t *numbers = peek->numbers.items;
    for (size_t i = 0; i < peek->numbers.count && status == WEIR_OK && !peek->is_over; i++) {
        peek->number = numbers[i];
        status = tell_one(store, peek, ret_error);
    }
    weiri_array_free(&peek->numbers, &store->config->allocator);
    return status;
}

enum weir_status weiri_store_list(void *store, const struct weiri_listing *listing,
                                  struct weir_error *ret_error)
{
    struct peek peek = {.listing = listing, .numbers = {.item_size = sizeof(int64_t)}};
    const char *id = listing->filter.id;
    if (id == NULL) {
        return listing->filter.first > 0 ? tell_first(store, &peek, ret_error)
                                         : weiri_store_scan(store, listing, ret_error);
    }
    enum weir_status status = weiri_number_parse("job id", id, &peek.number, ret_error);
    status = status == WEIR_OK ? tell_one(store, &peek, ret_error) : status;
    return status == WEIR_OK && !peek.is_told
               ? weiri_fail(ret_error, WEIR_ENOTFOUND, "there is no job %.40s", id)
               : status;
}

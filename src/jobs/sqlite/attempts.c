/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The history of jobs: their attempts, which row.c adds. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "jobs/core/attempt.h"
#include "jobs/sqlite/read.h"

/* An attempt with its texts. */
struct copy {
    struct weir_attempt attempt;
    char reason[WEIR_REASON_SIZE];
    char tail[WEIR_TAIL_SIZE];
};

/* The attempts of a job. */
struct copies {
    int64_t job;
    bool is_gone;
    struct copy items[WEIR_ATTEMPTS_MAX];
    size_t count;
};

static void read_attempt(struct weiri_connection *reader, sqlite3_stmt *statement,
                         struct copy *copy)
{
    int64_t number = weiri_sql_number(reader, statement, 0, 0, UINT32_MAX);
    int64_t outcome = weiri_sql_number(reader, statement, 1, WEIR_RUN_DONE, WEIR_RUN_CANCELED);
    weiri_sql_copy(reader, statement, 8, copy->reason, sizeof(copy->reason));
    weiri_sql_copy(reader, statement, 9, copy->tail, sizeof(copy->tail));
    copy->attempt = (struct weir_attempt){.number = (uint32_t)number,
                                          .outcome = (enum weir_run_outcome)outcome,
                                          .started_ns = sqlite3_column_int64(statement, 2),
                                          .ended_ns = sqlite3_column_int64(statement, 3),
                                          .owner = sqlite3_column_int64(statement, 4),
                                          .status = sqlite3_column_int(statement, 5),
                                          .exit_status = sqlite3_column_int(statement, 6),
                                          .signal = sqlite3_column_int(statement, 7),
                                          .reason = weiri_attempt_cut(copy->reason, number),
                                          .tail = copy->tail};
}

static void read_attempts(struct weiri_reading *reading, void *arg)
{
    struct weiri_connection *reader = reading->reader;
    struct copies *copies = arg;
    sqlite3_stmt *statement;
    int64_t ignored;
    copies->is_gone = !weiri_sql_find(reader, WEIRI_SQL_LOAD, WEIRI_VALUES(copies->job), &ignored);
    bool is = weiri_sql_first(reader, WEIRI_SQL_ATTEMPTS, WEIRI_VALUES(copies->job), &statement);
    for (; is && copies->count < WEIR_ATTEMPTS_MAX; is = weiri_sql_next(reader, statement)) {
        read_attempt(reader, statement, &copies->items[copies->count++]);
    }
    weiri_sql_leave(statement);
}

enum weir_status weiri_store_attempts(void *arg, const char *id, weir_attempt_fn *fn, void *fn_arg,
                                      struct weir_error *ret_error)
{
    struct weiri_store *store = arg;
    const struct weir_allocator *memory = &store->config->allocator;
    int64_t number;
    if (weiri_number_parse("job id", id, &number, ret_error) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    struct copies *copies = weiri_alloc_zero(memory, 1, sizeof(*copies));
    if (copies == NULL) {
        return weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    copies->job = number;
    enum weir_status status = weiri_read(store, read_attempts, copies, ret_error);
    if (status == WEIR_OK && copies->is_gone) {
        status = weiri_fail(ret_error, WEIR_ENOTFOUND, "there is no job %lld", (long long)number);
    }
    size_t i = 0;
    while (status == WEIR_OK && i < copies->count && fn(&copies->items[i].attempt, fn_arg) == 0) {
        i++;
    }
    weiri_release(memory, copies, sizeof(*copies));
    return status;
}

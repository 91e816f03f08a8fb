/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Operators' commands for jobs. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/time.h"
#include "jobs/sqlite/row.h"
#include "jobs/sqlite/write.h"

struct change_request {
    const struct weiri_change *change;
    const int64_t *numbers;
    enum weir_status *statuses; /* result */
};

struct kick_request {
    const char *tube;
    size_t count;
    size_t kicked; /* result */
};

static int run_change(struct weiri_store *store, void *arg)
{
    struct change_request *request = arg;
    const struct weiri_change *change = request->change;
    const struct weiri_job_step step = {.event = change->event, .run_at_ns = change->run_at_ns};
    struct weiri_now now = weiri_store_times(store);
    struct weiri_tally tally = {0};
    struct weiri_tally target = {0};
    int64_t tube = 0;
    int code = change->tube == NULL ? SQLITE_OK : weiri_tube_add(store, change->tube, &tube);
    for (size_t i = 0; i < change->count && code == SQLITE_OK; i++) {
        enum weir_status *status = &request->statuses[i];
        struct weiri_job_row row;
        *status = WEIR_ENOTFOUND;
        code = weiri_row_load(store, request->numbers[i], &row);
        if (code == SQLITE_ROW && change->identities != NULL) {
            int64_t ignored;
            code = weiri_sql_number(&store->writer, WEIRI_SQL_IS_IDENTITY,
                                    WEIRI_VALUES(row.number, change->identities[i]), &ignored);
            code = code == SQLITE_OK ? SQLITE_ROW : code;
        }
        if (code == SQLITE_ROW && change->tube != NULL) {
            code = weiri_row_refile(store, &tally, &target, &row, tube, now, status);
        } else if (code == SQLITE_ROW) {
            code = weiri_row_change(store, &tally, &row, &step, now, change->reason, status);
        } else if (code == SQLITE_DONE) {
            code = SQLITE_OK;
        }
    }
    code = code == SQLITE_OK ? weiri_tally_flush(store, &tally) : code;
    return code == SQLITE_OK ? weiri_tally_flush(store, &target) : code;
}

enum weir_status weiri_store_change(void *arg, const struct weiri_change *change,
                                    struct weir_error *ret_error)
{
    struct weiri_store *store = arg;
    const struct weir_allocator *allocator = &store->config->allocator;
    size_t count = change->count;
    int64_t *numbers = weiri_alloc_zero(allocator, count, sizeof(*numbers));
    enum weir_status *statuses = weiri_alloc_zero(allocator, count, sizeof(*statuses));
    enum weir_status status = WEIR_OK;
    if (numbers == NULL || statuses == NULL) {
        weiri_release(allocator, numbers, count * sizeof(*numbers));
        weiri_release(allocator, statuses, count * sizeof(*statuses));
        return weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        status = weiri_number_parse("job id", change->ids[i], &numbers[i], ret_error);
    }
    struct change_request request = {change, numbers, statuses};
    if (status == WEIR_OK) {
        status = weiri_commit(store, run_change, &request, ret_error);
    }
    if (status == WEIR_OK) {
        memcpy(change->statuses, statuses, count * sizeof(*statuses));
    }
    weiri_release(allocator, numbers, count * sizeof(*numbers));
    weiri_release(allocator, statuses, count * sizeof(*statuses));
    return status;
}

static int run_kick(struct weiri_store *store, void *arg)
{
    struct kick_request *request = arg;
    const struct weiri_job_step step = {.event = WEIRI_JOB_KICK};
    struct weiri_now now = weiri_store_times(store);
    struct weiri_tally tally = {0};
    request->kicked = 0;
    int64_t tube;
    int code = weiri_tube_find(&store->writer, request->tube, &tube);
    bool is_more = code == SQLITE_OK;
    code = code == SQLITE_DONE ? SQLITE_OK : code;
    while (is_more && request->kicked < request->count && code == SQLITE_OK) {
        size_t done;
        code = weiri_rows_change(store, &tally, WEIRI_SQL_FIRST_BURIED, tube, 0,
                                 request->count - request->kicked, &step, now, NULL, &done);
        request->kicked += done;
        is_more = done > 0;
    }
    return code == SQLITE_OK ? weiri_tally_flush(store, &tally) : code;
}

enum weir_status weiri_store_kick(void *arg, const char *tube, size_t count, size_t *ret_count,
                                  struct weir_error *ret_error)
{
    struct kick_request request = {tube, count, 0};
    enum weir_status status = WEIR_OK;
    if (count > 0) {
        status = weiri_commit(arg, run_kick, &request, ret_error);
    }
    if (status == WEIR_OK && ret_count != NULL) {
        *ret_count = request.kicked;
    }
    return status;
}

struct pause_request {
    const char *tube;
    int64_t duration_ns; /* 0: resume */
    bool is_known;       /* result */
};

static int run_pause(struct weiri_store *store, void *arg)
{
    struct pause_request *request = arg;
    int64_t tube;
    int code = weiri_tube_find(&store->writer, request->tube, &tube);
    request->is_known = code == SQLITE_OK;
    if (code != SQLITE_OK) {
        return code == SQLITE_DONE ? SQLITE_OK : code;
    }
    int64_t until = weiri_time_add(weiri_store_now(store), request->duration_ns);
    code = request->duration_ns == 0
               ? weiri_sql_run(&store->writer, WEIRI_SQL_RESUME, WEIRI_VALUES(tube))
               : weiri_sql_run(&store->writer, WEIRI_SQL_PAUSE, WEIRI_VALUES(tube, until));
    /* Consumers look again, and find jobs, or when to look next. */
    weiri_write_notify(store, request->tube, false);
    return code;
}

enum weir_status weiri_store_pause(void *arg, const char *tube, int64_t duration_ns,
                                   struct weir_error *ret_error)
{
    struct pause_request request = {tube, duration_ns, false};
    enum weir_status status = weiri_commit(arg, run_pause, &request, ret_error);
    if (status == WEIR_OK && !request.is_known) {
        status = weiri_fail(ret_error, WEIR_ENOTFOUND, "there is no tube %.200s", tube);
    }
    return status;
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Commands for jobs: remove and kick. */
#include "base/alloc.h"
#include "jobs/error.h"
#include "jobs/sqlite/commit.h"
#include "jobs/sqlite/row.h"

struct remove_request {
    const int64_t *numbers;
    size_t count;
    size_t removed; /* result */
};

struct kick_request {
    const char *tube;
    size_t count;
    size_t kicked; /* result */
};

static int run_remove(struct weiri_store *store, void *arg)
{
    struct remove_request *request = arg;
    const struct weiri_job_step step = {.event = WEIRI_JOB_REMOVE};
    int64_t now = weiri_store_now(store);
    struct weiri_tally tally = {0};
    request->removed = 0;
    int code = SQLITE_OK;
    for (size_t i = 0; i < request->count && code == SQLITE_OK; i++) {
        struct weiri_row row;
        code = weiri_row_load(store, request->numbers[i], &row);
        if (code == SQLITE_ROW) {
            enum weir_status status;
            code = weiri_row_step(store, &tally, &row, &step, now, NULL, &status);
            request->removed += status == WEIR_OK;
        } else if (code == SQLITE_DONE) {
            code = SQLITE_OK;
        }
    }
    return code == SQLITE_OK ? weiri_tally_flush(store, &tally, now) : code;
}

enum weir_status weiri_store_remove(void *arg, const char *const *ids, size_t count,
                                    size_t *ret_count, struct weir_error *ret_error)
{
    struct weiri_store *store = arg;
    const struct weir_allocator *allocator = &store->config->allocator;
    int64_t *numbers = count == 0 ? NULL : weiri_alloc_zero(allocator, count, sizeof(*numbers));
    if (numbers == NULL && count > 0) {
        return weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        if (!weiri_number_parse(ids[i], &numbers[i])) {
            status = weiri_fail(ret_error, WEIR_EINVAL,
                                "job id \"%.40s\" is no decimal number from 1 on", ids[i]);
        }
    }
    struct remove_request request = {numbers, count, 0};
    if (status == WEIR_OK && count > 0) {
        status = weiri_commit(store, run_remove, &request, ret_error);
    }
    weiri_release(allocator, numbers, count * sizeof(*numbers));
    if (status == WEIR_OK && ret_count != NULL) {
        *ret_count = request.removed;
    }
    return status;
}

static int run_kick(struct weiri_store *store, void *arg)
{
    struct kick_request *request = arg;
    const struct weiri_job_step step = {.event = WEIRI_JOB_KICK};
    int64_t now = weiri_store_now(store);
    struct weiri_tally tally = {0};
    request->kicked = 0;
    int64_t tube;
    int code = weiri_tube_find(&store->writer, request->tube, &tube);
    if (code == SQLITE_DONE) {
        return SQLITE_OK;
    }
    bool is_more = code == SQLITE_ROW;
    code = is_more ? SQLITE_OK : code;
    while (is_more && request->kicked < request->count && code == SQLITE_OK) {
        size_t done;
        code = weiri_rows_step(store, &tally, WEIRI_SQL_FIRST_BURIED, &tube, 1,
                               request->count - request->kicked, &step, now, NULL, &done);
        request->kicked += done;
        is_more = done > 0;
    }
    return code == SQLITE_OK ? weiri_tally_flush(store, &tally, now) : code;
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

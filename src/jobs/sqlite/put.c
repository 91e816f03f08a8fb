/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/put.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/time.h"
#include "jobs/sqlite/row.h"
#include "jobs/sqlite/space.h"
#include "jobs/sqlite/write.h"

/* A put of very many jobs is cut into transactions, each of a multiple of CUT_JOBS but for the
 * last, so that others can write in between. */
enum {
    CUT_JOBS = 100
};

/* Loads the job that has the put's key; or only the number of one whose put throttles it still. */
static void load_older(struct weiri_store *store, const struct weiri_put *put,
                       struct weiri_job_row *row)
{
    struct weiri_connection *writer = &store->writer;
    sqlite3_stmt *statement;
    if (!weiri_sql_first(writer, WEIRI_SQL_FIND_KEY, WEIRI_VALUES(row->tube, put->key),
                         &statement)) {
        return;
    }
    row->number = sqlite3_column_int64(statement, 0);
    row->key.until_ns = sqlite3_column_int64(statement, 1);
    weiri_sql_leave(statement);
    if (row->key.until_ns == 0 &&
        !(weiri_row_load(store, row->number, row) && row->facts.state < WEIR_JOB_BURIED)) {
        weiri_sql_fail(writer, SQLITE_CORRUPT); /* a key without its job */
    }
}

/* Each throttle whose time has passed is deleted once. A put adds one and deletes more, but not so
 * many that others could not write for long. */
static void throttle(struct weiri_store *store, const char *key, const struct weiri_job_row *row,
                     struct weiri_now now)
{
    weiri_sql_run(&store->writer, WEIRI_SQL_END_THROTTLES,
                  WEIRI_VALUES(row->tube, key, now.wall_ns));
    if (row->key.until_ns != 0) {
        weiri_sql_run(&store->writer, WEIRI_SQL_THROTTLE,
                      WEIRI_VALUES(row->tube, key, row->number, row->key.until_ns));
    }
}

/* Looks for a job that has the put_id of the body at hand. */
static bool find_same(struct weiri_store *store, struct weiri_put_request *request,
                      int64_t checksum, int64_t *ret_number)
{
    const struct weiri_put *put = request->own;
    int64_t same = 0; /* negative: with another body */
    bool is_there = put->put_id != NULL &&
                    weiri_sql_find(&store->writer, WEIRI_SQL_FIND_PUT,
                                   WEIRI_VALUES(request->tube, put->put_id, request->now.wall_ns,
                                                checksum, put->ret_was_there != NULL),
                                   &same);
    if (put->ret_was_there != NULL) {
        *put->ret_was_there = same > 0;
    }
    request->refusal = same < 0 ? WEIR_ESTATE : WEIR_OK;
    *ret_number = same < 0 ? -same : same;
    return is_there;
}

/* Puts the body at hand, or finds the job that is there for it: by the put_id, then by the key. */
static void put_one(struct weiri_store *store, struct weiri_put_request *request,
                    int64_t *ret_number)
{
    const struct weiri_put *put = request->own;
    struct weiri_job_row row = {.tube = request->tube};
    char bytes[WEIRI_TOLD_SIZE];
    struct weiri_new_body body = {.body = weiri_blob(request->body->data, request->body->size),
                                  .told = weiri_told(put, bytes)};
    body.checksum = (int64_t)weiri_body_checksum(body.body, body.told);
    struct weiri_effects effects;
    struct weiri_tube_record record = {.last_ns = request->last_ns};
    bool is_at_once = weiri_is_at_once(put);
    if (find_same(store, request, body.checksum, ret_number)) {
        return;
    }
    if (put->key != NULL) {
        load_older(store, put, &row);
    }
    if (is_at_once && (request->last_ns == 0 || request->last_priority != put->priority)) {
        weiri_sql_find(&store->writer, WEIRI_SQL_LAST_READY,
                       WEIRI_VALUES(request->tube, put->priority), &record.last_ns);
    }
    if (store->writer.code != SQLITE_OK) {
        return;
    }
    enum weiri_write write = weiri_decide_put(&row, put, weiri_put_when(put, request->said_ns),
                                              &record, request->now, &effects);
    request->refusal = effects.status == WEIR_EBUSY ? WEIR_EBUSY : WEIR_OK;
    if (write == WEIRI_INSERT) {
        weiri_row_add(store, &row, put->key, &body, request->last);
        request->last = row.number;
    }
    request->last_ns = write == WEIRI_INSERT && is_at_once ? row.facts.run_at_ns : 0;
    request->last_priority = put->priority;
    weiri_row_write(store, &request->tally, &row, write, &effects, request->now);
    if (effects.writes_put && write == WEIRI_UPDATE) {
        weiri_row_renew_body(store, row.number, &body);
    }
    if (write == WEIRI_INSERT && put->key != NULL) {
        throttle(store, put->key, &row, request->now);
    }
    *ret_number = row.number;
}

static bool is_cut(const struct weiri_put_request *request, int64_t end_ns)
{
    size_t done = request->count - request->from;
    return request->put->each == NULL && done > 0 && done % CUT_JOBS == 0 &&
           weiri_monotonic_now() >= end_ns;
}

void weiri_put_run(struct weiri_store *store, void *arg)
{
    struct weiri_put_request *request = arg;
    weiri_space_check_put(store);
    request->refusal = WEIR_OK;
    request->count = request->from;
    request->last = 0;
    request->last_ns = 0;
    if (!weiri_clock_follow(store, false, &request->now)) {
        return;
    }
    request->tube = weiri_tube_add(store, request->put->tube);
    if (request->said_ns == 0) {
        request->said_ns =
            weiri_said_ns(request->put->since_ns, request->now.wall_ns, request->now.lease_ns);
    }
    int64_t end = weiri_time_add(weiri_monotonic_now(), store->put_ns);
    while (store->writer.code == SQLITE_OK && request->refusal == WEIR_OK &&
           request->count < request->put->count && !is_cut(request, end)) {
        request->own =
            request->put->each != NULL ? &request->put->each[request->count] : request->put;
        request->body = &request->put->bodies[request->count];
        put_one(store, request, &request->numbers[request->count]);
        request->count += request->refusal == WEIR_OK;
    }
    weiri_tally_flush(store, &request->tally);
}

void weiri_put_run_whole(struct weiri_store *store, void *arg)
{
    const struct weiri_put_request *request = arg;
    struct weiri_connection *writer = &store->writer;
    if (weiri_sql_run(writer, WEIRI_SQL_SAVEPOINT, NULL) != SQLITE_OK) {
        return;
    }
    weiri_put_run(store, arg);
    int run = writer->code;
    if (sqlite3_get_autocommit(writer->db) != 0) {
        return;
    }
    if (run != SQLITE_OK || request->refusal != WEIR_OK) {
        weiri_sql_run(writer, WEIRI_SQL_ROLLBACK_TO, NULL);
    }
    int code = weiri_sql_run(writer, WEIRI_SQL_RELEASE, NULL);
    if (code != SQLITE_OK) {
        (void)weiri_write_rollback(store, writer);
    }
    weiri_sql_fail(writer, run != SQLITE_OK ? run : code);
}

enum weir_status weiri_put_finish(const struct weiri_put_request *request,
                                  struct weir_job_id *ret_ids, struct weir_error *ret_error)
{
    const struct weiri_put *put = request->put;
    if (request->refusal != WEIR_OK) {
        bool is_key = request->refusal == WEIR_EBUSY;
        (void)weiri_fail(ret_error, request->refusal, "job %" PRId64 " has the %s \"%s\"%s",
                         request->numbers[request->count], is_key ? "key" : "put_id",
                         is_key ? request->own->key : request->own->put_id,
                         is_key ? "" : ", and another body or other headers");
        return weiri_put_blame(put, request->count, request->refusal, ret_error);
    }
    for (size_t i = 0; i < put->count && ret_ids != NULL; i++) {
        weiri_number_format(request->numbers[i], &ret_ids[i]);
    }
    return WEIR_OK;
}

/* Takes back the jobs of earlier transactions, as far as no worker has them. */
static enum weir_status take_back(struct weiri_store *store,
                                  const struct weiri_put_request *request)
{
    enum weir_status status = WEIR_OK;
    struct weir_job_id ids[CUT_JOBS];
    const char *texts[CUT_JOBS];
    enum weir_status statuses[CUT_JOBS];
    for (size_t i = 0; i < request->from && status == WEIR_OK; i += CUT_JOBS) {
        size_t count = request->from - i < CUT_JOBS ? request->from - i : CUT_JOBS;
        for (size_t k = 0; k < count; k++) {
            weiri_number_format(request->numbers[i + k], &ids[k]);
            texts[k] = ids[k].text;
        }
        const struct weiri_change change = {
            .event = WEIRI_JOB_REMOVE, .ids = texts, .count = count, .statuses = statuses};
        status = weiri_store_change(store, &change, NULL);
    }
    return status;
}

enum weir_status weiri_store_put(void *arg, const struct weiri_put *put,
                                 struct weir_job_id *ret_ids, struct weir_error *ret_error)
{
    struct weiri_store *store = arg;
    const struct weir_allocator *allocator = &store->config->allocator;
    struct weiri_put_request request = {.put = put};
    int64_t few[CUT_JOBS];
    bool is_few = put->count <= CUT_JOBS;
    request.numbers =
        is_few ? few : weiri_alloc_array(allocator, put->count, sizeof(*request.numbers));
    if (request.numbers == NULL) {
        return weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    enum weir_status status = WEIR_OK;
    while (status == WEIR_OK && request.refusal == WEIR_OK && request.from < put->count) {
        status = weiri_commit(store, put->each != NULL ? weiri_put_run_whole : weiri_put_run,
                              &request, ret_error);
        if (status == WEIR_OK) {
            request.from = request.count;
        }
    }
    if (status == WEIR_OK) {
        status = weiri_put_finish(&request, ret_ids, ret_error);
    } else if (take_back(store, &request) != WEIR_OK) {
        struct weir_error first = ret_error == NULL ? (struct weir_error){0} : *ret_error;
        status =
            weiri_fail(ret_error, WEIR_EIO, "%.300s; some of its first %zu jobs may have been put",
                       first.text, request.from);
    }
    if (!is_few) {
        weiri_release(allocator, request.numbers, put->count * sizeof(*request.numbers));
    }
    return status;
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/sqlite/put.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/time.h"
#include "jobs/core/when.h"
#include "jobs/sqlite/body.h"
#include "jobs/sqlite/commit.h"
#include "jobs/sqlite/keys.h"
#include "jobs/sqlite/row.h"
#include "jobs/sqlite/space.h"
#include "jobs/sqlite/tube.h"

/* A put of very many jobs is cut into transactions, each of a multiple of CUT_JOBS but for the
 * last, so that others can write in between. */
enum {
    CUT_JOBS = 100
};

/* which: adds or renews. */
static int write_body(struct weiri_store *store, enum weiri_sql which, int64_t number,
                      const struct weiri_put_request *request)
{
    char bytes[WEIRI_TOLD_SIZE];
    struct weiri_value told = weiri_told(request->own, bytes);
    int64_t checksum = (int64_t)weiri_stored_body_checksum(request->body, &told);
    return weiri_sql_run(
        &store->writer, which,
        WEIRI_VALUES(number, checksum, weiri_blob(request->body->data, request->body->size), told));
}

/* Does what a put with a key does where it makes no job: it makes one that is there the one that is
 * put, at once or after its run, or earlier; or nothing. */
static int meet_duplicate(struct weiri_store *store, struct weiri_put_request *request,
                          struct weiri_key_decision *decision, int64_t run_at_ns)
{
    const struct weiri_put *put = request->own;
    struct weiri_row *row = &decision->row;
    bool is_new = decision->action == WEIRI_DUPLICATE_RENEW;
    bool is_next = decision->action == WEIRI_DUPLICATE_AFTER;
    const struct weiri_job_step step = {.event = is_new ? WEIRI_JOB_RENEW : WEIRI_JOB_RESCHEDULE,
                                        .run_at_ns = run_at_ns};
    enum weir_status ignored; /* the state was asked for */
    int code = SQLITE_OK;
    request->refused_by = decision->action == WEIRI_DUPLICATE_REFUSE ? put->key : NULL;
    if (is_new ||
        (decision->action == WEIRI_DUPLICATE_EARLIER && run_at_ns < row->facts.run_at_ns)) {
        code = weiri_row_step(store, &request->tally, row, &step, request->now_ns, NULL, &ignored);
    }
    if (code != SQLITE_OK || (!is_new && !is_next)) {
        return code;
    }
    /* The holder of a job that runs renews its lease by the TTR that it was told. */
    code = is_new ? weiri_sql_run(
                        &store->writer, WEIRI_SQL_RENEW_JOB,
                        WEIRI_VALUES(row->number, put->priority, put->ttr_ns WEIRI_WORDS_OF_PUT))
                  : weiri_sql_run(
                        &store->writer, WEIRI_SQL_RUN_AGAIN,
                        WEIRI_VALUES(row->number, (int64_t)row->facts.token, run_at_ns,
                                     put->on_duplicate == WEIR_DUPLICATE_AGAIN WEIRI_WORDS_OF_PUT));
    if (code == SQLITE_OK) {
        code = weiri_sql_run(&store->writer, WEIRI_SQL_NEW_IDENTITY,
                             WEIRI_VALUES(row->number, request->now_ns));
    }
    return code == SQLITE_OK ? write_body(store, WEIRI_SQL_RENEW_BODY, row->number, request) : code;
}

static int add_job(struct weiri_store *store, struct weiri_put_request *request,
                   const struct weiri_job_facts *facts, int64_t *ret_number)
{
    const struct weiri_put *put = request->own;
    int code = weiri_sql_run(&store->writer, WEIRI_SQL_ADD_JOB,
                             WEIRI_VALUES(request->tube, (int64_t)facts->state, put->priority,
                                          facts->run_at_ns, put->ttr_ns,
                                          request->now_ns WEIRI_WORDS_OF_PUT));
    if (code != SQLITE_OK) {
        return code;
    }
    *ret_number = sqlite3_last_insert_rowid(store->writer.db);
    code = write_body(store, WEIRI_SQL_ADD_BODY, *ret_number, request);
    if (code == SQLITE_OK) {
        code = weiri_tally_add(store, &request->tally, request->tube, facts);
    }
    return code == SQLITE_OK && put->key != NULL
               ? weiri_key_take(store, request->tube, put, *ret_number, request->now_ns)
               : code;
}

/* Puts the body at hand, or finds the job that is there for it: by the put_id, then by the key. */
static int put_one(struct weiri_store *store, struct weiri_put_request *request,
                   int64_t *ret_number)
{
    const struct weiri_put *put = request->own;
    int64_t same = 0; /* negative: with another body */
    int code = SQLITE_DONE;
    if (put->put_id != NULL) {
        char bytes[WEIRI_TOLD_SIZE];
        struct weiri_value told = weiri_told(put, bytes);
        int64_t checksum = (int64_t)weiri_stored_body_checksum(request->body, &told);
        code = weiri_sql_number(&store->writer, WEIRI_SQL_FIND_PUT,
                                WEIRI_VALUES(request->tube, put->put_id, request->now_ns, checksum),
                                &same);
    }
    if (put->ret_was_there != NULL) {
        *put->ret_was_there = same > 0;
    }
    request->refused_by = same < 0 ? put->put_id : NULL;
    *ret_number = same < 0 ? -same : same;
    if (code != SQLITE_DONE) {
        return code;
    }
    bool is_at_once = put->run_at_ns == 0 && put->delay_ns == 0;
    struct weiri_job_facts facts = {.run_at_ns = weiri_put_when(put, request->said_ns),
                                    .ttr_ns = put->ttr_ns};
    facts.state =
        is_at_once || facts.run_at_ns <= request->now_ns ? WEIR_JOB_READY : WEIR_JOB_DELAYED;
    /* Jobs that are put to run at once have run times in the order of the puts, also where the wall
     * clock was set back: those after that have the latest run time so far. */
    if (is_at_once && request->turn_ns == 0) {
        code = weiri_sql_number(&store->writer, WEIRI_SQL_ARRIVE,
                                WEIRI_VALUES(request->tube, facts.run_at_ns), &request->turn_ns);
        if (code != SQLITE_OK) {
            return code == SQLITE_DONE ? SQLITE_CORRUPT : code;
        }
    }
    facts.run_at_ns = is_at_once ? request->turn_ns : facts.run_at_ns;
    struct weiri_key_decision decision = {.action = WEIRI_DUPLICATE_PUT};
    code = put->key == NULL
               ? SQLITE_OK
               : weiri_key_decide(store, request->tube, put, request->now_ns, &decision);
    if (code != SQLITE_OK || decision.action == WEIRI_DUPLICATE_PUT) {
        return code == SQLITE_OK ? add_job(store, request, &facts, ret_number) : code;
    }
    *ret_number = decision.row.number;
    return meet_duplicate(store, request, &decision, facts.run_at_ns);
}

static bool is_cut(const struct weiri_put_request *request, int64_t end_ns)
{
    size_t done = request->count - request->from;
    return request->put->each == NULL && done > 0 && done % CUT_JOBS == 0 &&
           weiri_monotonic_now() >= end_ns;
}

int weiri_put_run(struct weiri_store *store, void *arg)
{
    struct weiri_put_request *request = arg;
    int code = weiri_space_check_put(store);
    if (code == SQLITE_OK) {
        code = weiri_tube_add(store, request->put->tube, &request->tube);
    }
    request->tally = (struct weiri_tally){0};
    request->now_ns = weiri_store_now(store);
    if (request->said_ns == 0) {
        request->said_ns =
            weiri_said_ns(request->put->since_ns, request->now_ns, weiri_store_lease_now(store));
    }
    request->turn_ns = 0;
    request->refused_by = NULL;
    request->count = request->from;
    int64_t end = weiri_time_add(weiri_monotonic_now(), store->put_ns);
    while (code == SQLITE_OK && request->count < request->put->count && !is_cut(request, end)) {
        request->own =
            request->put->each != NULL ? &request->put->each[request->count] : request->put;
        request->body = &request->put->bodies[request->count];
        code = put_one(store, request, &request->numbers[request->count]);
        if (request->refused_by != NULL) {
            break;
        }
        request->count++;
    }
    return code == SQLITE_OK ? weiri_tally_flush(store, &request->tally) : code;
}

int weiri_put_run_whole(struct weiri_store *store, void *arg)
{
    const struct weiri_put_request *request = arg;
    struct weiri_connection *writer = &store->writer;
    int code = weiri_sql_run(writer, WEIRI_SQL_SAVEPOINT, NULL);
    int run = code == SQLITE_OK ? weiri_put_run(store, arg) : code;
    if (code != SQLITE_OK || sqlite3_get_autocommit(writer->db) != 0) {
        return run;
    }
    if (run != SQLITE_OK || request->refused_by != NULL) {
        code = weiri_sql_run(writer, WEIRI_SQL_ROLLBACK_TO, NULL);
    }
    int end = weiri_sql_run(writer, WEIRI_SQL_RELEASE, NULL);
    return run != SQLITE_OK ? run : code != SQLITE_OK ? code : end;
}

enum weir_status weiri_put_finish(const struct weiri_put_request *request,
                                  struct weir_job_id *ret_ids, struct weir_error *ret_error)
{
    const struct weiri_put *put = request->put;
    if (request->refused_by != NULL) {
        bool is_key = request->refused_by == request->own->key;
        (void)weiri_fail(ret_error, WEIR_EBUSY, "job %" PRId64 " has the %s \"%s\"%s",
                         request->numbers[request->count], is_key ? "key" : "put_id",
                         request->refused_by, is_key ? "" : ", and another body or other headers");
        return weiri_put_blame(put, request->count, WEIR_EBUSY, ret_error);
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
    while (status == WEIR_OK && request.refused_by == NULL && request.from < put->count) {
        status = weiri_commit(store, put->each != NULL ? weiri_put_run_whole : weiri_put_run,
                              &request, ret_error);
        if (status == WEIR_OK) {
            request.from = request.count;
        }
    }
    bool is_put = status == WEIR_OK;
    if (is_put) {
        status = weiri_put_finish(&request, ret_ids, ret_error);
    }
    if (!is_put && take_back(store, &request) != WEIR_OK) {
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

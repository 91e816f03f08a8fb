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
                      const struct weiri_put *put, const struct weir_body *body)
{
    char bytes[WEIRI_TOLD_SIZE];
    struct weiri_value told = weiri_told(put, bytes);
    return weiri_sql_run(&store->writer, which,
                         WEIRI_VALUES(number, (int64_t)weiri_stored_body_checksum(body, &told),
                                      weiri_blob(body->data, body->size), told, put->origin));
}

/* Looks for a job of the same origin, and so that another one that got its number, in a copy of
 * the store, is not taken for it: of the same body. SQLITE_DONE: there is none. */
static int find_same(struct weiri_store *store, const struct weiri_put *put, int64_t *ret_number)
{
    const struct weir_body *body = &put->bodies[0];
    char bytes[WEIRI_TOLD_SIZE];
    struct weiri_value told = weiri_told(put, bytes);
    return weiri_sql_number(&store->writer, WEIRI_SQL_FIND_SAME,
                            WEIRI_VALUES((int64_t)weiri_stored_body_checksum(body, &told),
                                         weiri_blob(body->data, body->size), told, put->origin),
                            ret_number);
}

/* Jobs that are put to run at once have run times in the order of the puts, also where the wall
 * clock was set back: those after that have the latest run time so far. */
static int find_turn(struct weiri_store *store, int64_t tube, int64_t *run_at_ns)
{
    int code = weiri_sql_number(&store->writer, WEIRI_SQL_ARRIVE, WEIRI_VALUES(tube, *run_at_ns),
                                run_at_ns);
    return code == SQLITE_DONE ? SQLITE_CORRUPT : code;
}

/* Makes a job the one that is put: at once, or after its run. */
static int renew(struct weiri_store *store, struct weiri_key_decision *decision,
                 const struct weiri_put *put, int64_t run_at_ns, struct weiri_tally *tally,
                 int64_t now_ns)
{
    struct weiri_row *row = &decision->row;
    const struct weiri_job_step step = {.event = WEIRI_JOB_RENEW, .run_at_ns = run_at_ns};
    enum weir_status ignored; /* the state was asked for */
    bool is_running = decision->action == WEIRI_DUPLICATE_AFTER;
    bool is_earliest = put->on_duplicate == WEIR_DUPLICATE_AGAIN;
    int code = is_running ? weiri_key_run_again(store, row, put, run_at_ns, is_earliest)
                          : weiri_row_step(store, tally, row, &step, now_ns, NULL, &ignored);
    /* The holder of a job that runs renews its lease by the TTR that it was told. */
    if (code == SQLITE_OK && !is_running) {
        code =
            weiri_sql_run(&store->writer, WEIRI_SQL_RENEW_JOB,
                          WEIRI_VALUES(row->number, put->priority, put->ttr_ns WEIRI_WORDS_OF_PUT));
    }
    if (code == SQLITE_OK) {
        code = weiri_sql_run(&store->writer, WEIRI_SQL_NEW_IDENTITY,
                             WEIRI_VALUES(row->number, now_ns));
    }
    return code == SQLITE_OK
               ? write_body(store, WEIRI_SQL_RENEW_BODY, row->number, put, &put->bodies[0])
               : code;
}

/* Does what a put with a key does where it makes no job. */
static int meet_duplicate(struct weiri_store *store, struct weiri_key_decision *decision,
                          struct weiri_put_request *request, int64_t run_at_ns, int64_t now_ns)
{
    struct weiri_tally tally = {0};
    const struct weiri_job_step step = {.event = WEIRI_JOB_RESCHEDULE, .run_at_ns = run_at_ns};
    enum weir_status ignored;
    int code = SQLITE_OK;
    request->count = 1;
    request->numbers[0] = decision->row.number;
    request->is_refused = decision->action == WEIRI_DUPLICATE_REFUSE;
    if (decision->action == WEIRI_DUPLICATE_EARLIER && run_at_ns < decision->row.facts.run_at_ns) {
        code = weiri_row_step(store, &tally, &decision->row, &step, now_ns, NULL, &ignored);
    } else if (decision->action == WEIRI_DUPLICATE_RENEW ||
               decision->action == WEIRI_DUPLICATE_AFTER) {
        code = renew(store, decision, request->put, run_at_ns, &tally, now_ns);
    }
    return code == SQLITE_OK ? weiri_tally_flush(store, &tally) : code;
}

static bool is_cut(const struct weiri_put_request *request, size_t i, int64_t end_ns)
{
    size_t done = i - request->from;
    return done > 0 && done % CUT_JOBS == 0 && weiri_monotonic_now() >= end_ns;
}

int weiri_put_run(struct weiri_store *store, void *arg)
{
    struct weiri_put_request *request = arg;
    const struct weiri_put *put = request->put;
    int64_t now = weiri_store_now(store);
    if (request->said_ns == 0) {
        request->said_ns = weiri_said_ns(put->since_ns, now, weiri_store_lease_now(store));
    }
    bool is_at_once = put->run_at_ns == 0 && put->delay_ns == 0;
    struct weiri_job_facts facts = {.run_at_ns = weiri_put_when(put, request->said_ns),
                                    .ttr_ns = put->ttr_ns};
    facts.state = is_at_once || facts.run_at_ns <= now ? WEIR_JOB_READY : WEIR_JOB_DELAYED;
    int64_t tube;
    int code = weiri_space_check_put(store);
    if (code == SQLITE_OK) {
        code = weiri_tube_add(store, put->tube, &tube);
    }
    request->was_there = false;
    if (code == SQLITE_OK && put->origin != NULL) {
        code = find_same(store, put, &request->numbers[0]);
        request->was_there = code == SQLITE_OK;
        code = code == SQLITE_DONE ? SQLITE_OK : code;
    }
    if (request->was_there) {
        request->count = 1;
        return SQLITE_OK;
    }
    if (code == SQLITE_OK && is_at_once) {
        code = find_turn(store, tube, &facts.run_at_ns);
    }
    request->is_refused = false;
    if (code == SQLITE_OK && put->key != NULL) {
        struct weiri_key_decision decision;
        code = weiri_key_decide(store, tube, put, now, &decision);
        if (code == SQLITE_OK && decision.action != WEIRI_DUPLICATE_PUT) {
            return meet_duplicate(store, &decision, request, facts.run_at_ns, now);
        }
    }
    struct weiri_tally tally = {0};
    int64_t end = weiri_time_add(weiri_monotonic_now(), store->put_ns);
    size_t i = request->from;
    for (; i < put->count && code == SQLITE_OK && !is_cut(request, i, end); i++) {
        code = weiri_sql_run(&store->writer, WEIRI_SQL_ADD_JOB,
                             WEIRI_VALUES(tube, (int64_t)facts.state, put->priority,
                                          facts.run_at_ns, put->ttr_ns, now WEIRI_WORDS_OF_PUT));
        if (code != SQLITE_OK) {
            break;
        }
        request->numbers[i] = sqlite3_last_insert_rowid(store->writer.db);
        code = write_body(store, WEIRI_SQL_ADD_BODY, request->numbers[i], put, &put->bodies[i]);
        if (code == SQLITE_OK) {
            code = weiri_tally_add(store, &tally, tube, &facts);
        }
        if (code == SQLITE_OK && put->key != NULL) {
            code = weiri_key_take(store, tube, put, request->numbers[i], now);
        }
    }
    request->count = i;
    return code == SQLITE_OK ? weiri_tally_flush(store, &tally) : code;
}

enum weir_status weiri_put_finish(const struct weiri_put_request *request,
                                  struct weir_job_id *ret_ids, struct weir_error *ret_error)
{
    const struct weiri_put *put = request->put;
    if (request->is_refused) {
        return weiri_fail(ret_error, WEIR_EBUSY, "job %" PRId64 " has the key \"%s\"",
                          request->numbers[0], put->key);
    }
    if (put->origin != NULL) {
        *put->ret_was_there = request->was_there;
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
    while (status == WEIR_OK && request.from < put->count) {
        status = weiri_commit(store, weiri_put_run, &request, ret_error);
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

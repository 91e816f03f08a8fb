/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Firing schedules, and changing them. */
#include "base/error.h"
#include "base/time.h"
#include "jobs/core/firing.h"
#include "jobs/sqlite/read.h"
#include "jobs/sqlite/space.h"
#include "jobs/sqlite/write.h"

/* Jobs after which a transaction fires no more schedules, so that others can write in between. */
#define FIRE_MAX WEIR_SCHEDULE_CATCH_UP_LIMIT
/* After which a consumer tries again to fire schedules on a full disk. */
#define FULL_WAIT_NS WEIR_SECONDS(1)

/* Reads the first row of a statement: whether there is one. */
static bool find_row(struct weiri_store *store, enum weiri_sql which,
                     const struct weiri_value *values, struct weiri_schedule_row *row)
{
    struct weiri_connection *writer = &store->writer;
    sqlite3_stmt *statement;
    bool is_there = weiri_sql_first(writer, which, values, &statement);
    if (is_there) {
        weiri_schedule_read(writer, statement, row);
        weiri_sql_leave(statement);
    }
    return is_there && writer->code == SQLITE_OK;
}

/* --- firing --- */

/* Adds a row with the body of the schedule. */
static void add_row(struct weiri_store *store, int64_t schedule, struct weiri_job_row *row)
{
    struct weiri_connection *writer = &store->writer;
    sqlite3_stmt *statement;
    if (!weiri_sql_first(writer, WEIRI_SQL_SCHEDULE_BODY, WEIRI_VALUES(schedule), &statement)) {
        weiri_sql_fail(writer, SQLITE_CORRUPT);
        return;
    }
    const struct weiri_new_body body = {sqlite3_column_int64(statement, 0),
                                        weiri_sql_blob(writer, statement, 1), weiri_null()};
    weiri_row_add(store, row, NULL, &body, 0);
    weiri_sql_leave(statement);
}

/* Puts a job to run at run_at_ns, but not before last_ns. */
static void put_job(struct weiri_store *store, struct weiri_tally *tally,
                    const struct weiri_schedule_row *row, int64_t run_at_ns, int64_t last_ns,
                    int64_t now_ns, struct weiri_job_row *ret_job)
{
    const struct weiri_put put = {.priority = row->schedule.priority,
                                  .ttr_ns = row->schedule.ttr_ns};
    const struct weiri_now now = {now_ns, 0};
    const struct weiri_tube_record tube = {.last_ns = last_ns};
    struct weiri_effects effects;
    *ret_job = (struct weiri_job_row){.tube = row->tube};
    enum weiri_write write = weiri_decide_put(ret_job, &put, run_at_ns, &tube, now, &effects);
    add_row(store, row->number, ret_job);
    weiri_row_write(store, tally, ret_job, write, &effects, now);
}

static void pause_schedule(struct weiri_store *store, int64_t number, const char *problem)
{
    weiri_sql_run(&store->writer, WEIRI_SQL_PAUSE_SCHEDULE, WEIRI_VALUES(number, problem));
}

/* Makes the plan of a row: whether it is there. WEIR_OK without one: it has failed; else the
 * expression or its zone cannot be read any more. */
static bool make_plan(struct weiri_store *store, const struct weiri_schedule_row *row,
                      struct weiri_plan *plan, enum weir_status *ret_status,
                      struct weir_error *ret_error)
{
    *plan = (struct weiri_plan){.interval_ns = row->schedule.interval_ns,
                                .tolerance_ns = row->schedule.tolerance_ns,
                                .catch_up_max = row->schedule.catch_up_max};
    enum weir_status status =
        weiri_schedule_plan(&store->config->allocator, row->cron, row->zone, plan, ret_error);
    /* WEIR_EIO is also a lack of descriptors, which passes. */
    bool has_failed = status == WEIR_ENOMEM || status == WEIR_EIO;
    if (has_failed) {
        weiri_sql_fail(&store->writer, status == WEIR_EIO ? SQLITE_CANTOPEN : SQLITE_NOMEM);
    }
    *ret_status = has_failed ? WEIR_OK : status;
    return status == WEIR_OK;
}

static bool is_running(struct weiri_store *store, int64_t job)
{
    struct weiri_job_row row;
    return job != 0 && weiri_row_load(store, job, &row) && row.facts.state < WEIR_JOB_BURIED;
}

static void fire(struct weiri_store *store, struct weiri_tally *tally,
                 const struct weiri_schedule_row *row, const struct weiri_plan *plan,
                 int64_t now_ns, uint64_t *ret_count)
{
    const struct weir_job_schedule *schedule = &row->schedule;
    struct weiri_due due = weiri_due_decide(plan, schedule->missed, schedule->next_ns, now_ns);
    if ((schedule->flags & WEIR_SCHEDULE_NO_OVERLAP) != 0) {
        weiri_due_alone(plan, is_running(store, row->job), &due);
    }
    struct weiri_job_row job = {.number = 0};
    int64_t at = due.first_ns;
    for (uint64_t i = 0; i < due.count; i++) {
        put_job(store, tally, row, at, 0, now_ns, &job);
        at = weiri_firing_after(plan, at);
    }
    *ret_count = due.count;
    weiri_sql_run(&store->writer, WEIRI_SQL_NOTE_FIRINGS,
                  WEIRI_VALUES(row->number, due.next_ns, (int64_t)due.count, (int64_t)due.skipped,
                               job.facts.run_at_ns, job.number));
}

/* Whether a schedule is due, which is fired then. */
static bool fire_next(struct weiri_store *store, struct weiri_tally *tally, int64_t tube,
                      int64_t now_ns, uint64_t *ret_count)
{
    struct weiri_schedule_row row = {.number = 0};
    if (!find_row(store, WEIRI_SQL_DUE_SCHEDULE, WEIRI_VALUES(tube, now_ns), &row)) {
        return false;
    }
    struct weiri_plan plan;
    struct weir_error problem;
    enum weir_status status;
    weiri_space_check_put(store);
    if (make_plan(store, &row, &plan, &status, &problem)) {
        fire(store, tally, &row, &plan, now_ns, ret_count);
        weiri_plan_fini(&plan);
    } else if (status != WEIR_OK) {
        pause_schedule(store, row.number, problem.text);
    }
    return true;
}

bool weiri_schedules_fire(struct weiri_store *store, struct weiri_tally *tally, int64_t tube,
                          int64_t now_ns)
{
    uint64_t total = 0;
    bool is_due = !store->is_full;
    while (is_due && total < FIRE_MAX) {
        uint64_t count = 0;
        is_due = fire_next(store, tally, tube, now_ns, &count);
        total += count;
    }
    return is_due;
}

int64_t weiri_schedules_next(struct weiri_store *store, int64_t tube)
{
    int64_t next;
    weiri_sql_find(&store->writer, WEIRI_SQL_FIRST_FIRING, WEIRI_VALUES(tube), &next);
    int64_t later = weiri_time_add(weiri_store_now(store), FULL_WAIT_NS);
    return store->is_full && next < later ? later : next;
}

/* --- changing --- */

static void save(struct weiri_store *store, int64_t tube, int64_t next_ns,
                 const struct weir_job_schedule_options *options)
{
    const struct weir_body *body = &options->body;
    weiri_sql_run(&store->writer, WEIRI_SQL_SAVE_SCHEDULE,
                  WEIRI_VALUES(tube, options->interval_ns, options->first_at_ns, options->priority,
                               options->ttr_ns, options->missed, options->tolerance_ns,
                               options->catch_up_max, options->flags, next_ns,
                               (int64_t)weiri_checksum(body->data, body->size), options->name,
                               options->cron, options->zone, weiri_blob(body->data, body->size)));
}

static void put_schedule(struct weiri_store *store, const struct weiri_edit *edit)
{
    const struct weir_job_schedule_options *options = edit->schedule;
    struct weiri_schedule_row row = {.number = 0};
    weiri_space_check_put(store);
    int64_t tube = weiri_tube_add(store, options->tube);
    bool is_there = find_row(store, WEIRI_SQL_FIND_SCHEDULE, WEIRI_VALUES(edit->name), &row);
    const struct weir_job_schedule_options before = {.cron = row.cron,
                                                     .zone = row.zone,
                                                     .interval_ns = row.schedule.interval_ns,
                                                     .first_at_ns = row.first_at_ns};
    int64_t next = weiri_firing_of_put(edit->plan, options, is_there ? &before : NULL,
                                       row.schedule.next_ns, weiri_store_now(store));
    save(store, tube, next, options);
    /* Consumers look again, and find when to look next. */
    weiri_write_notify(store, weiri_store_channel(tube), INT_MAX);
}

static void resume(struct weiri_store *store, struct weiri_edit_request *request,
                   const struct weiri_schedule_row *row)
{
    struct weiri_plan plan;
    if (!make_plan(store, row, &plan, &request->status, &request->error)) {
        return;
    }
    const struct weir_job_schedule *schedule = &row->schedule;
    struct weiri_due due = weiri_due_resume(&plan, schedule->next_ns, weiri_store_now(store));
    weiri_plan_fini(&plan);
    weiri_sql_run(&store->writer, WEIRI_SQL_RESUME_SCHEDULE,
                  WEIRI_VALUES(row->number, due.next_ns, (int64_t)due.skipped));
    /* Consumers look again, and find when to look next. */
    weiri_write_notify(store, weiri_store_channel(row->tube), INT_MAX);
}

/* Puts a job beside the schedule's firings. */
static void run_now(struct weiri_store *store, const struct weiri_schedule_row *row,
                    int64_t *ret_job)
{
    struct weiri_tally tally = {.tube = row->tube};
    struct weiri_job_row job = {.number = 0};
    int64_t now = weiri_store_now(store);
    weiri_space_check_put(store);
    int64_t last;
    weiri_sql_find(&store->writer, WEIRI_SQL_LAST_READY,
                   WEIRI_VALUES(row->tube, row->schedule.priority), &last);
    put_job(store, &tally, row, now, last, now, &job);
    *ret_job = job.number;
    weiri_sql_run(
        &store->writer, WEIRI_SQL_NOTE_FIRINGS,
        WEIRI_VALUES(row->number, row->schedule.next_ns, 1, 0, job.facts.run_at_ns, job.number));
    weiri_tally_flush(store, &tally);
}

void weiri_schedule_edit(struct weiri_store *store, struct weiri_edit_request *request)
{
    const struct weiri_edit *edit = request->edit;
    struct weiri_schedule_row row = {.number = 0};
    if (edit->kind == WEIRI_SCHEDULE_PUT) {
        put_schedule(store, edit);
        return;
    }
    if (!find_row(store, WEIRI_SQL_FIND_SCHEDULE, WEIRI_VALUES(edit->name), &row)) {
        request->status =
            weiri_fail(&request->error, WEIR_ENOTFOUND, "there is no schedule %.200s", edit->name);
        return;
    }
    switch (edit->change) {
    case WEIR_SCHEDULE_REMOVE:
        weiri_sql_run(&store->writer, WEIRI_SQL_DELETE_SCHEDULE, WEIRI_VALUES(row.number));
        break;
    case WEIR_SCHEDULE_PAUSE:
        pause_schedule(store, row.number, "");
        break;
    case WEIR_SCHEDULE_RESUME:
        resume(store, request, &row);
        break;
    case WEIR_SCHEDULE_RUN:
        run_now(store, &row, &request->job);
        break;
    }
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Operators' changes of jobs, tubes and schedules. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/time.h"
#include "jobs/sqlite/worker.h"
#include "jobs/sqlite/write.h"

struct change_request {
    const struct weiri_change *change;
    int64_t asked_ns;           /* when it began to wait for its turn, on the clock of leases */
    bool is_made;               /* result: it was its turn */
    size_t kicked;              /* result: without ids */
    enum weir_status *statuses; /* result: of the ids */
};

/* Whether a job is as the change's caller has listed it. */
static bool is_listed(struct weiri_store *store, const struct weir_job *job, int64_t number)
{
    int64_t ignored;
    return weiri_sql_find(&store->writer, WEIRI_SQL_IS_LISTED,
                          WEIRI_VALUES(number, job->identity, job->run_at_ns, job->tube), &ignored);
}

/* Whether it is a cancel, or a kick that takes the job from its worker. */
static bool is_control(const struct weiri_change *change, const struct weiri_job_row *row)
{
    return change->event == WEIRI_JOB_CANCEL ||
           (change->event == WEIRI_JOB_KICK && row->facts.state == WEIR_JOB_RESERVED &&
            (change->states >> WEIR_JOB_RESERVED & 1) != 0);
}

/* Applies the change to a job; a kick has a slot. Whose lease ends while the call waits for its
 * turn may wait as well, to renew it. */
static enum weir_status change_one(struct weiri_store *store, const struct change_request *request,
                                   struct weiri_tally *tally, struct weiri_job_row *row,
                                   int64_t slot_ns, struct weiri_now now)
{
    const struct weiri_change *change = request->change;
    const struct weiri_job_step step = {
        .event = change->event, .run_at_ns = change->run_at_ns, .states = change->states};
    const struct weiri_now asked = {now.wall_ns,
                                    weiri_time_earlier(request->asked_ns, now.lease_ns)};
    bool is_running = row->facts.state == WEIR_JOB_RESERVED;
    struct weiri_tube_record record = {.last_ns = 0};
    struct weiri_effects effects;
    enum weiri_write write;
    if (is_control(change, row)) {
        bool is_kept = is_running && weiri_row_is_kept(store, row);
        bool has_passed = !is_kept && row->facts.lease_ns <= asked.lease_ns;
        bool is_gone = is_running && !is_kept &&
                       weiri_worker_life(store, &store->writer, row) == WEIRI_LIVES_NOT;
        weiri_tube_read(&store->writer, row->tube, &record);
        write = change->event == WEIRI_JOB_CANCEL
                    ? weiri_decide_cancel(row, change->verdict, change->reason, is_kept, is_gone,
                                          &record, asked, &effects)
                    : weiri_decide_take_back(row, is_gone, change->is_forced || has_passed, &record,
                                             asked, &effects);
    } else if (change->event == WEIRI_JOB_KICK) {
        /* One that is delayed, and is to run now, is the last that was put so. */
        if (row->facts.state == WEIR_JOB_DELAYED && slot_ns <= now.wall_ns) {
            weiri_sql_find(&store->writer, WEIRI_SQL_LAST_READY,
                           WEIRI_VALUES(row->tube, row->priority), &record.last_ns);
        }
        write = weiri_decide_kick(row, change->states, slot_ns, &record, now, &effects);
    } else {
        return weiri_row_change(store, tally, row, &step, now, change->reason);
    }
    weiri_row_write(store, tally, row, write, &effects, now);
    return effects.is_canceled ? WEIR_ECANCELED : effects.status;
}

static void run_change(struct weiri_store *store, void *arg)
{
    struct change_request *request = arg;
    const struct weiri_change *change = request->change;
    struct weiri_now now;
    struct weiri_tally tally = {0};
    struct weiri_tally target = {0};
    request->is_made = weiri_clock_follow(store, false, &now);
    if (!request->is_made) {
        return;
    }
    int64_t tube = change->tube == NULL ? 0 : weiri_tube_add(store, change->tube);
    int64_t slot_ns = change->run_at_ns;
    for (size_t i = 0; i < change->count; i++) {
        struct weiri_job_row row;
        int64_t number;
        bool is_there = weiri_number_parse("job id", change->ids[i], &number, NULL) == WEIR_OK &&
                        weiri_row_load(store, number, &row) &&
                        (change->listed == NULL || is_listed(store, change->listed[i], number));
        request->statuses[i] = !is_there ? WEIR_ENOTFOUND
                               : change->tube != NULL
                                   ? weiri_row_refile(store, &tally, &target, &row, tube, now)
                                   : change_one(store, request, &tally, &row, slot_ns, now);
        slot_ns = weiri_time_add(slot_ns, change->interval_ns);
    }
    weiri_tally_flush(store, &tally);
    weiri_tally_flush(store, &target);
}

static void run_kick(struct weiri_store *store, void *arg)
{
    struct change_request *request = arg;
    struct weiri_now now = weiri_store_times(store);
    struct weiri_tally tally = {0};
    int64_t tube;
    int64_t number;
    request->kicked = 0;
    weiri_tube_find(&store->writer, request->change->tube, &tube);
    while (
        request->kicked < request->change->count &&
        weiri_sql_find(&store->writer, WEIRI_SQL_PEEK_BURIED, WEIRI_VALUES(tube, 0, 1), &number)) {
        struct weiri_job_row row;
        bool is_kicked = weiri_row_load(store, number, &row) &&
                         change_one(store, request, &tally, &row, 0, now) == WEIR_OK;
        /* A damaged index may have selected it. */
        weiri_sql_fail(&store->writer, is_kicked ? SQLITE_OK : SQLITE_CORRUPT);
        request->kicked++;
    }
    weiri_tally_flush(store, &tally);
}

enum weir_status weiri_store_change(void *arg, const struct weiri_change *change,
                                    struct weir_error *ret_error)
{
    struct weiri_store *store = arg;
    const struct weir_allocator *allocator = &store->config->allocator;
    struct change_request request = {.change = change, .asked_ns = weiri_store_lease_now(store)};
    enum weir_status status = WEIR_OK;
    size_t count = change->count;
    if (change->ids == NULL) {
        status = weiri_commit(store, run_kick, &request, ret_error);
        if (status == WEIR_OK && change->ret_count != NULL) {
            *change->ret_count = request.kicked;
        }
        return status;
    }
    request.statuses = weiri_alloc_array(allocator, count, sizeof(*request.statuses));
    if (request.statuses == NULL) {
        return weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        int64_t number;
        status = weiri_number_parse("job id", change->ids[i], &number, ret_error);
    }
    while (status == WEIR_OK && !request.is_made) {
        status = weiri_commit(store, run_change, &request, ret_error);
    }
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        change->statuses[i] = request.statuses[i];
    }
    weiri_release(allocator, request.statuses, count * sizeof(*request.statuses));
    return status;
}

/* --- changes of tubes and schedules --- */

static void run_pause(struct weiri_store *store, struct weiri_edit_request *request)
{
    const struct weiri_edit *edit = request->edit;
    int64_t tube;
    if (!weiri_tube_find(&store->writer, edit->name, &tube)) {
        request->status =
            weiri_fail(&request->error, WEIR_ENOTFOUND, "there is no tube %.200s", edit->name);
        return;
    }
    int64_t until = weiri_time_add(weiri_store_now(store), edit->pause_ns);
    until = edit->pause_ns == 0 ? 0 : until;
    weiri_sql_run(&store->writer, WEIRI_SQL_PAUSE, WEIRI_VALUES(tube, until));
    /* Consumers look again, and find jobs, or when to look next. */
    weiri_write_notify(store, weiri_store_channel(tube), INT_MAX);
}

static void run_edit(struct weiri_store *store, void *arg)
{
    struct weiri_edit_request *request = arg;
    request->status = WEIR_OK;
    request->has_more = false;
    switch (request->edit->kind) {
    case WEIRI_TUBE_PAUSE:
        run_pause(store, request);
        break;
    case WEIRI_TUBE_POLICY:
        weiri_policy_edit(store, request);
        break;
    default:
        weiri_schedule_edit(store, request);
    }
}

enum weir_status weiri_store_edit(void *store, const struct weiri_edit *edit,
                                  struct weir_error *ret_error)
{
    struct weiri_edit_request request = {.edit = edit};
    enum weir_status status;
    do {
        status = weiri_commit(store, run_edit, &request, ret_error);
        request.is_again = true;
    } while (status == WEIR_OK && request.has_more);
    if (status == WEIR_OK && request.status != WEIR_OK) {
        status = weiri_fail(ret_error, request.status, "%s", request.error.text);
    }
    if (status == WEIR_OK && edit->ret_id != NULL) {
        weiri_number_format(request.job, edit->ret_id);
    }
    return status;
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/core/move.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/time.h"

void weiri_move_tell(const struct weiri_move *move, const char *id, const char *why)
{
    weiri_broker_log(move->from.config, WEIR_LOG_WARNING, "job %.200s: %s", id, why);
}

bool weiri_move_step(struct weiri_move *move, enum weir_move_step step)
{
    return move->fn == NULL || move->fn(step, &move->counts, move->arg) == 0;
}

/* Whether the target knows a job that it has by its put_id. */
static bool keeps_put_ids(const struct weiri_move *move)
{
    return (move->to.config->can & WEIRI_CAN(PUT_ID)) != 0;
}

/* A job with an earlier run time gets the present as its run time. */
static int64_t oldest(const struct weiri_move *move)
{
    return move->late_ns > 0 ? weiri_time_sub(move->to.ops->now(move->to.store), move->late_ns / 2)
                             : INT64_MIN;
}

enum weiri_given weiri_move_give(struct weiri_move *move, const struct weir_job *job,
                                 struct weir_job_id *ret_id, enum weir_status *ret_status,
                                 struct weir_error *ret_error)
{
    const struct weir_body body = {job->body, job->body_size, NULL};
    bool was_there = false;
    bool is_overdue = keeps_put_ids(move) && job->run_at_ns < oldest(move);
#define COPY(name, kind, limit, feature) .name = job->name,
    struct weiri_put put = {.tube = move->tube,
                            .bodies = &body,
                            .count = 1,
                            .since_ns = move->to.config->clocks.lease(move->to.config->clocks.arg),
                            .put_id = keeps_put_ids(move) ? job->identity : NULL,
                            .ret_was_there = &was_there,
                            WEIRI_KEPT_FIELDS(COPY) WEIRI_NUMBER_FIELDS(COPY)};
    put.run_at_ns = is_overdue ? move->to.ops->now(move->to.store) : put.run_at_ns;
    struct weir_error error = {0};
    enum weir_status status = WEIR_OK;
    if (body.size > move->to.config->body_size_max) {
        status = weiri_fail(&error, WEIR_ETOOBIG, "its body has %zu bytes: at most %zu", body.size,
                            move->to.config->body_size_max);
    }
    if (status == WEIR_OK) {
        status = weiri_put_check_can(move->to.config, &put, &error);
    }
    if (status == WEIR_OK) {
        status = move->to.ops->put(move->to.store, &put, ret_id, &error);
    }
    switch (status) {
    case WEIR_OK:
        return was_there ? WEIRI_GIVEN_AGAIN : WEIRI_GIVEN;
    case WEIR_ESTATE: /* the put_id of another job */
    case WEIR_ETOOBIG:
    case WEIR_ERANGE:
    case WEIR_ENOTSUP:
        weiri_move_tell(move, job->id, error.text);
        return WEIRI_NOT_GIVEN;
    case WEIR_EUNKNOWN:
        weiri_move_tell(move, job->id, error.text);
        return WEIRI_MAYBE_GIVEN;
    default:
        *ret_status = weiri_fail(ret_error, status, "%s", error.text);
        return WEIRI_TARGET_FAILED;
    }
}

/* --- out of a backend with LIST --- */

enum {
    BATCH_JOBS = 64
};

struct entry {
    struct weiri_reservation *job; /* the batch's, as it is in the source */
    struct weir_job_id id;         /* in the target */
    enum weiri_given given;        /* 0: not yet */
};

/* Jobs on their way. */
struct batch {
    struct weiri_move *move;
    int64_t name;           /* of the source */
    struct weiri_list jobs; /* of struct weiri_reservation */
    struct entry entries[BATCH_JOBS];
    /* Of a change: */
    const char *ids[BATCH_JOBS];
    struct weir_job *listed[BATCH_JOBS];
    enum weir_status statuses[BATCH_JOBS]; /* its results */
    size_t count;
    bool is_over;            /* the caller wants to end */
    enum weir_status status; /* of all batches so far */
    struct weir_error *error;
};

static void add_to_change(struct batch *batch, struct weiri_change *change,
                          const struct entry *entry)
{
    batch->ids[change->count] = entry->job->job.id;
    batch->listed[change->count++] = &entry->job->job;
}

/* Changes jobs that are as they were listed. */
static enum weir_status change_source(struct batch *batch, struct weiri_change *change,
                                      struct weir_error *ret_error)
{
    const struct weiri_side *from = &batch->move->from;
    change->ids = batch->ids;
    change->listed = (const struct weir_job *const *)batch->listed;
    change->statuses = batch->statuses;
    return change->count == 0 ? WEIR_OK : from->ops->change(from->store, change, ret_error);
}

/* For a target that knows jobs by their run times: the source gives the present as its run time to
 * a job that is long overdue, and to one that is ready and was put when the clock was ahead, or
 * after such a job, and would be delayed in the target. So a repeated move gives it the same. */
static enum weir_status restamp(struct batch *batch)
{
    const struct weiri_move *move = batch->move;
    int64_t now_ns = move->from.ops->now(move->from.store);
    int64_t oldest_ns = oldest(move);
    struct weiri_change late = {.event = WEIRI_JOB_RESCHEDULE, .run_at_ns = now_ns};
    for (size_t i = 0; i < batch->count && !keeps_put_ids(move); i++) {
        const struct weir_job *job = &batch->entries[i].job->job;
        if (job->run_at_ns < oldest_ns ||
            (job->state == WEIR_JOB_READY && job->run_at_ns > now_ns)) {
            add_to_change(batch, &late, &batch->entries[i]);
        }
    }
    enum weir_status status = change_source(batch, &late, batch->error);
    for (size_t i = 0; i < late.count; i++) {
        batch->listed[i]->run_at_ns = now_ns;
    }
    return status;
}

/* Equal jobs of stores are different ones, which a cluster tells apart by their run times alone. So
 * the number is added, as less than a second, and by the store up to 100 ms. */
static int64_t spread(const struct batch *batch, int64_t number, int64_t run_at_ns)
{
    int64_t sum = batch->name % WEIR_MS(100) + number % WEIR_SECONDS(1);
    return weiri_time_earlier(run_at_ns, INT64_MAX - WEIR_SECONDS(1)) + sum % WEIR_SECONDS(1);
}

/* Gives the jobs of a batch to the target, until one fails. */
static enum weir_status give(struct batch *batch)
{
    struct weiri_move *move = batch->move;
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < batch->count && status == WEIR_OK && !batch->is_over; i++) {
        struct entry *entry = &batch->entries[i];
        struct weir_job job = entry->job->job;
        move->counts.found++;
        if (entry->job->status != WEIR_OK) { /* damaged */
            weiri_move_tell(move, job.id, job.reason);
            entry->given = WEIRI_NOT_GIVEN;
            continue;
        }
        if (!keeps_put_ids(move)) {
            job.run_at_ns = spread(batch, entry->job->number, job.run_at_ns);
        } else if (job.state == WEIR_JOB_READY) { /* also one of a clock ahead stays ready */
            int64_t now_ns = move->from.ops->now(move->from.store);
            job.run_at_ns = weiri_time_earlier(job.run_at_ns, now_ns);
        }
        entry->given = weiri_move_give(move, &job, &entry->id, &status, batch->error);
        batch->is_over = !weiri_move_step(move, WEIR_MOVE_PUT);
    }
    return status;
}

/* Deletes a job from the target again. False: it is not as it was put there, or nobody knows. A
 * cluster has no such deletion. */
static bool take_back(struct weiri_move *move, const struct weir_job_id *id)
{
    const char *text = id->text;
    enum weir_status result = WEIR_EUNKNOWN;
    const struct weiri_change change = {.event = keeps_put_ids(move) ? WEIRI_JOB_MOVED_AWAY
                                                                     : WEIRI_JOB_REMOVE,
                                        .ids = &text,
                                        .count = 1,
                                        .statuses = &result};
    return move->to.ops->change(move->to.store, &change, NULL) == WEIR_OK && result == WEIR_OK;
}

static bool was_given(const struct entry *entry)
{
    return entry->given == WEIRI_GIVEN || entry->given == WEIRI_GIVEN_AGAIN;
}

/* Enters a job into the ledger. removed: what its deletion said. A job that a worker took
 * meanwhile, or a put renewed, is taken back from the target. */
static void count(struct weiri_move *move, const struct entry *entry, enum weir_status removed)
{
    struct weir_move_counts *counts = &move->counts;
    if (was_given(entry) && removed == WEIR_OK) {
        counts->moved += entry->given == WEIRI_GIVEN;
        counts->repeated += entry->given == WEIRI_GIVEN_AGAIN;
    } else if (entry->given == WEIRI_GIVEN && removed != WEIR_EUNKNOWN &&
               take_back(move, &entry->id)) {
        weiri_move_tell(move, entry->job->job.id, "it was taken or changed meanwhile");
        counts->left++;
    } else if (was_given(entry) || entry->given == WEIRI_MAYBE_GIVEN) {
        counts->both++;
    } else {
        counts->left += entry->given != 0;
    }
}

/* Deletes what the target has, but what was buried, ended or moved to another tube, or what a
 * put gave another body or run time meanwhile. */
static enum weir_status forget(struct batch *batch, struct weir_error *ret_error)
{
    struct weiri_change away = {.event = WEIRI_JOB_MOVED_AWAY};
    for (size_t i = 0; i < batch->count; i++) {
        if (was_given(&batch->entries[i])) {
            add_to_change(batch, &away, &batch->entries[i]);
        }
    }
    enum weir_status status = change_source(batch, &away, ret_error);
    const enum weir_status *removed = batch->statuses;
    for (size_t i = 0; i < batch->count; i++) {
        bool is_told = status == WEIR_OK && was_given(&batch->entries[i]);
        count(batch->move, &batch->entries[i], is_told ? *removed++ : WEIR_EUNKNOWN);
    }
    return status;
}

/* Moves the jobs that were listed. Nonzero: the list is to end. */
static int move_batch(const char *after, void *arg)
{
    struct batch *batch = arg;
    (void)after;
    if (batch->count == 0) {
        return 0;
    }
    batch->status = restamp(batch);
    if (batch->status == WEIR_OK) {
        batch->is_over = !weiri_move_step(batch->move, WEIR_MOVE_READ);
        batch->status = give(batch);
        enum weir_status forgotten = forget(batch, batch->status == WEIR_OK ? batch->error : NULL);
        batch->status = batch->status == WEIR_OK ? forgotten : batch->status;
        batch->is_over = !weiri_move_step(batch->move, WEIR_MOVE_REMOVED) || batch->is_over;
    }
    weiri_reservations_free(&batch->move->from.config->allocator, &batch->jobs);
    batch->count = 0;
    return batch->is_over || batch->status != WEIR_OK;
}

/* Takes a job that is listed. */
static int take(const struct weir_job *job, void *arg)
{
    struct batch *batch = arg;
    struct weiri_reservation *listed = WEIRI_CONTAINER(job, struct weiri_reservation, job);
    if (batch->count == BATCH_JOBS && move_batch(NULL, batch) != 0) {
        return 1;
    }
    weiri_list_remove(&listed->link);
    weiri_list_insert_before(&batch->jobs, &listed->link);
    batch->entries[batch->count++] = (struct entry){.job = listed};
    return 0;
}

enum weir_status weiri_move_out(struct weiri_move *move, int64_t name, struct weir_error *ret_error)
{
    const struct weiri_side *from = &move->from;
    const struct weir_allocator *memory = &from->config->allocator;
    struct batch *batch = weiri_alloc_zero(memory, 1, sizeof(*batch));
    const struct weiri_listing waiting = {
        .filter = {.tube = move->tube, .state = WEIRI_JOB_WAITING, .step = move_batch},
        .fn = take,
        .arg = batch};
    if (batch == NULL) {
        return weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    batch->move = move;
    batch->name = name;
    batch->error = ret_error;
    weiri_list_init(&batch->jobs);
    enum weir_status status = from->ops->list(from->store, &waiting, ret_error);
    if (status == WEIR_OK) { /* nothing is left of a move that was ended */
        (void)move_batch(NULL, batch);
        status = batch->status;
    }
    weiri_reservations_free(memory, &batch->jobs);
    weiri_release(memory, batch, sizeof(*batch));
    return status;
}

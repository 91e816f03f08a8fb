/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A store as the source of a move: jobs are read in order of their numbers, some at a time, put
 * into the target one by one, and deleted in one transaction. */
#include "jobs/core/move.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/time.h"
#include "jobs/sqlite/commit.h"
#include "jobs/sqlite/lock_holder.h"
#include "jobs/sqlite/page.h"
#include "jobs/sqlite/row.h"

struct entry {
    struct weiri_reservation *job; /* the page's */
    struct weir_job_id id;         /* in the target */
    enum weiri_given given;        /* 0: not yet */
    enum weir_status removed;      /* result of the deletion */
};

/* The jobs of a page on their way. */
struct batch {
    struct weiri_store *store;
    struct weiri_move *move;
    struct weiri_page page;
    struct entry entries[WEIRI_PAGE_JOBS];
    size_t count;
    int64_t now_ns;
    int64_t oldest_ns; /* of weiri_move_oldest() then */
    int64_t name;      /* of the store */
};

static int run_name(struct weiri_store *store, void *arg)
{
    struct batch *batch = arg;
    return weiri_sql_number(&store->writer, WEIRI_SQL_STORE, NULL, &batch->name);
}

static enum weir_status read_batch(struct batch *batch, struct weir_error *ret_error)
{
    enum weir_status status = weiri_page_next(&batch->page, ret_error);
    struct weiri_list *end = &batch->page.jobs;
    batch->count = 0;
    for (struct weiri_list *link = end->next; link != end; link = link->next) {
        batch->entries[batch->count++] =
            (struct entry){.job = WEIRI_CONTAINER(link, struct weiri_reservation, link)};
    }
    return status;
}

/* Whether a job gets the present as its run time: it is long overdue; or it is ready and was put
 * when the clock was ahead, or after such a job, and would be delayed in the target. */
static bool is_misdated(const struct batch *batch, const struct weir_job *job)
{
    return job->run_at_ns < batch->oldest_ns ||
           (job->state == WEIR_JOB_READY && job->run_at_ns > batch->now_ns);
}

/* The store keeps the new run time, so that a repeated move finds the same. */
static int run_restamp(struct weiri_store *store, void *arg)
{
    struct batch *batch = arg;
    const struct weiri_job_step step = {.event = WEIRI_JOB_RESCHEDULE, .run_at_ns = batch->now_ns};
    struct weiri_tally tally = {0};
    int code = SQLITE_OK;
    for (size_t i = 0; i < batch->count && code == SQLITE_OK; i++) {
        struct weiri_row row;
        enum weir_status ignored;
        if (!is_misdated(batch, &batch->entries[i].job->job)) {
            continue;
        }
        code = weiri_row_load(store, batch->entries[i].job->number, &row);
        if (code == SQLITE_ROW) {
            code = weiri_row_step(store, &tally, &row, &step, batch->now_ns, NULL, &ignored);
        } else if (code == SQLITE_DONE) {
            code = SQLITE_OK;
        }
    }
    return code == SQLITE_OK ? weiri_tally_flush(store, &tally) : code;
}

static enum weir_status restamp(struct batch *batch, struct weir_error *ret_error)
{
    bool is_needed = false;
    batch->now_ns = weiri_store_now(batch->store);
    batch->oldest_ns = weiri_move_oldest(batch->move);
    for (size_t i = 0; i < batch->count; i++) {
        is_needed = is_needed || is_misdated(batch, &batch->entries[i].job->job);
    }
    if (!is_needed) {
        return WEIR_OK;
    }
    enum weir_status status = weiri_commit(batch->store, run_restamp, batch, ret_error);
    for (size_t i = 0; i < batch->count && status == WEIR_OK; i++) {
        struct weir_job *job = &batch->entries[i].job->job;
        job->run_at_ns = is_misdated(batch, job) ? batch->now_ns : job->run_at_ns;
    }
    return status;
}

/* Equal jobs of stores are different ones, which a cluster tells apart by their run times alone. So
 * the number is added, as less than a second, and by the store up to 100 ms. */
static int64_t spread(const struct batch *batch, int64_t number, int64_t run_at_ns)
{
    int64_t last_ns = INT64_MAX - WEIR_SECONDS(1);
    int64_t sum = batch->name % WEIR_MS(100) + number % WEIR_SECONDS(1);
    return (run_at_ns < last_ns ? run_at_ns : last_ns) + sum % WEIR_SECONDS(1);
}

/* Gives the jobs of a batch to the target, until one fails. */
static enum weir_status give(struct batch *batch, bool *ret_is_over, struct weir_error *ret_error)
{
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < batch->count && status == WEIR_OK && !*ret_is_over; i++) {
        struct entry *entry = &batch->entries[i];
        struct weir_job *job = &entry->job->job;
        batch->move->counts.found++;
        if (entry->job->backend != NULL) {
            weiri_move_tell(batch->move, job->id, weiri_damage_reason);
            entry->given = WEIRI_NOT_GIVEN;
            continue;
        }
        char origin[WEIRI_ORIGIN_SIZE];
        (void)snprintf(origin, sizeof(origin), "%" PRId64 ".%" PRId64 ".%" PRId64, batch->name,
                       entry->job->number, job->created_ns);
        if ((batch->move->to->ops->can & WEIRI_CAN(KEYS)) == 0) { /* it keeps no origins */
            job->run_at_ns = spread(batch, entry->job->number, job->run_at_ns);
        }
        entry->given = weiri_move_give(batch->move, job, origin, &entry->id, &status, ret_error);
        *ret_is_over = !weiri_move_step(batch->move, WEIR_MOVE_PUT);
    }
    return status;
}

static int run_forget(struct weiri_store *store, void *arg)
{
    struct batch *batch = arg;
    const struct weiri_job_step step = {.event = WEIRI_JOB_REMOVE};
    int64_t now = weiri_store_now(store);
    struct weiri_tally tally = {0};
    int code = SQLITE_OK;
    for (size_t i = 0; i < batch->count && code == SQLITE_OK; i++) {
        struct entry *entry = &batch->entries[i];
        struct weiri_row row;
        entry->removed = WEIR_ENOTFOUND;
        if (entry->given != WEIRI_GIVEN && entry->given != WEIRI_GIVEN_AGAIN) {
            continue;
        }
        code = weiri_row_load(store, entry->job->number, &row);
        /* One that was buried or archived meanwhile stays. */
        bool is_moved = code == SQLITE_ROW && row.facts.state < WEIR_JOB_BURIED;
        if (is_moved) {
            code = weiri_row_step(store, &tally, &row, &step, now, NULL, &entry->removed);
        } else if (code == SQLITE_ROW || code == SQLITE_DONE) {
            code = SQLITE_OK;
        }
    }
    return code == SQLITE_OK ? weiri_tally_flush(store, &tally) : code;
}

/* Enters the jobs into the ledger. A job that a worker took meanwhile is taken back from the
 * target.
 */
static void count(struct batch *batch, bool is_forgotten)
{
    struct weir_move_counts *counts = &batch->move->counts;
    for (size_t i = 0; i < batch->count; i++) {
        struct entry *entry = &batch->entries[i];
        bool was_given = entry->given == WEIRI_GIVEN || entry->given == WEIRI_GIVEN_AGAIN;
        if (was_given && is_forgotten && entry->removed == WEIR_OK) {
            counts->moved += entry->given == WEIRI_GIVEN;
            counts->repeated += entry->given == WEIRI_GIVEN_AGAIN;
        } else if (was_given && is_forgotten && entry->given == WEIRI_GIVEN &&
                   weiri_move_take_back(batch->move, &entry->id)) {
            weiri_move_tell(batch->move, entry->job->job.id, "a worker took it meanwhile");
            counts->left++;
        } else if (was_given || entry->given == WEIRI_MAYBE_GIVEN) {
            counts->both++;
        } else {
            counts->left += entry->given != 0;
        }
    }
}

static enum weir_status move_batch(struct batch *batch, bool *ret_is_over,
                                   struct weir_error *ret_error)
{
    enum weir_status status = restamp(batch, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    *ret_is_over = !weiri_move_step(batch->move, WEIR_MOVE_READ);
    status = give(batch, ret_is_over, ret_error);
    struct weir_error error = {0};
    enum weir_status forgotten = weiri_commit(batch->store, run_forget, batch, &error);
    count(batch, forgotten == WEIR_OK);
    if (status == WEIR_OK && forgotten != WEIR_OK) {
        status = weiri_fail(ret_error, forgotten, "%s", error.text);
    }
    *ret_is_over = !weiri_move_step(batch->move, WEIR_MOVE_REMOVED) || *ret_is_over;
    return status;
}

enum weir_status weiri_store_move(void *arg, struct weiri_move *move, struct weir_error *ret_error)
{
    struct weiri_store *store = arg;
    const struct weir_allocator *memory = &store->config->allocator;
    /* Another move would delete what this one has put into the target, and this one would take that
     * for a worker's deed, and take the only copy back. */
    int lock;
    enum weir_status status = weiri_store_begin_move(store, &lock, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    struct batch *batch = weiri_alloc_zero(memory, 1, sizeof(*batch));
    if (batch == NULL) {
        weiri_lock_move_end(lock);
        return weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    batch->store = store;
    batch->move = move;
    weiri_page_init(&batch->page, store, move->tube);
    bool is_over = false;
    status = weiri_commit(store, run_name, batch, ret_error);
    while (status == WEIR_OK && !batch->page.is_over && !is_over) {
        status = read_batch(batch, ret_error);
        if (status == WEIR_OK && batch->count > 0) {
            status = move_batch(batch, &is_over, ret_error);
        }
    }
    weiri_page_fini(&batch->page);
    weiri_release(memory, batch, sizeof(*batch));
    weiri_lock_move_end(lock);
    return status;
}

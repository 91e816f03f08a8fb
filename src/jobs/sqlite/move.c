/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* A store as the source of a move: jobs are read in order of their numbers, some at a time, put
 * into the target one by one, and deleted in one transaction. */
#include "jobs/move.h"

#include <string.h>

#include "base/alloc.h"
#include "base/time.h"
#include "jobs/error.h"
#include "jobs/sqlite/commit.h"
#include "jobs/sqlite/read.h"
#include "jobs/sqlite/row.h"

/* Jobs and bytes of a page, of which one job may have more. */
enum {
    PAGE_JOBS = 64,
    PAGE_BYTES = 4 << 20
};

struct entry {
    struct weiri_reservation *job; /* read, not reserved; one block of the store's memory */
    struct weir_job_id id;         /* in the target */
    enum weiri_given given;        /* 0: not yet */
    bool is_damaged;
    enum weir_status removed; /* result of the deletion */
};

struct page {
    struct weiri_store *store;
    struct weiri_move *move;
    struct entry entries[PAGE_JOBS];
    size_t count;
    size_t bytes;
    bool lacks_memory;
    int64_t now_ns;
};

/* Copies a job out of the reading transaction. */
static int keep_job(const struct weir_job *job, void *arg)
{
    struct page *page = arg;
    struct entry *entry = &page->entries[page->count];
    void *body;
    struct weiri_reservation *copy = weiri_reservation_new(
        &page->store->config->allocator, job->id, page->move->tube, job->body_size, "", &body);
    if (copy == NULL || !weiri_number_parse(job->id, &copy->number)) {
        weiri_reservation_free(&page->store->config->allocator, copy);
        page->lacks_memory = true;
        return 1;
    }
    memcpy(body, job->body, job->body_size);
    copy->job.run_at_ns = job->run_at_ns;
    copy->job.ttr_ns = job->ttr_ns;
    copy->job.priority = job->priority;
    *entry = (struct entry){.job = copy, .is_damaged = job->reason == weiri_damage_reason};
    page->count++;
    page->bytes += job->body_size;
    return page->count == PAGE_JOBS || page->bytes >= PAGE_BYTES ? 1 : 0;
}

static void clear(struct page *page)
{
    for (size_t i = 0; i < page->count; i++) {
        weiri_reservation_free(&page->store->config->allocator, page->entries[i].job);
    }
    page->count = 0;
    page->bytes = 0;
}

/* Gives jobs that are long overdue the present as their run time. The store keeps it, so that a
 * repeated move finds the same. */
static int run_restamp(struct weiri_store *store, void *arg)
{
    struct page *page = arg;
    const struct weiri_job_step step = {.event = WEIRI_JOB_RESCHEDULE, .run_at_ns = page->now_ns};
    struct weiri_tally tally = {0};
    int code = SQLITE_OK;
    for (size_t i = 0; i < page->count && code == SQLITE_OK; i++) {
        struct weiri_row row;
        enum weir_status ignored;
        if (page->entries[i].job->job.run_at_ns >= page->move->oldest_ns) {
            continue;
        }
        code = weiri_row_load(store, page->entries[i].job->number, &row);
        if (code == SQLITE_ROW) {
            code = weiri_row_step(store, &tally, &row, &step, page->now_ns, NULL, &ignored);
        } else if (code == SQLITE_DONE) {
            code = SQLITE_OK;
        }
    }
    return code == SQLITE_OK ? weiri_tally_flush(store, &tally, page->now_ns) : code;
}

static enum weir_status restamp(struct page *page, struct weir_error *ret_error)
{
    bool is_needed = false;
    for (size_t i = 0; i < page->count; i++) {
        is_needed = is_needed || page->entries[i].job->job.run_at_ns < page->move->oldest_ns;
    }
    if (!is_needed) {
        return WEIR_OK;
    }
    page->now_ns = weiri_store_now(page->store);
    enum weir_status status = weiri_commit(page->store, run_restamp, page, ret_error);
    for (size_t i = 0; i < page->count && status == WEIR_OK; i++) {
        struct weir_job *job = &page->entries[i].job->job;
        job->run_at_ns = job->run_at_ns < page->move->oldest_ns ? page->now_ns : job->run_at_ns;
    }
    return status;
}

/* Gives the jobs of a page to the target, until one fails. */
static enum weir_status give(struct page *page, bool *ret_is_over, struct weir_error *ret_error)
{
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < page->count && status == WEIR_OK && !*ret_is_over; i++) {
        struct entry *entry = &page->entries[i];
        struct weir_job *job = &entry->job->job;
        page->move->counts.found++;
        if (entry->is_damaged) {
            weiri_move_tell(page->move, job->id, weiri_damage_reason);
            entry->given = WEIRI_NOT_GIVEN;
            continue;
        }
        /* Equal jobs of a store are different ones: their numbers tell them apart. */
        job->run_at_ns = weiri_time_add(job->run_at_ns, entry->job->number % WEIR_SECONDS(1));
        entry->given = weiri_move_give(page->move, job, &entry->id, &status, ret_error);
        *ret_is_over = !weiri_move_step(page->move, WEIR_MOVE_PUT);
    }
    return status;
}

static int run_forget(struct weiri_store *store, void *arg)
{
    struct page *page = arg;
    const struct weiri_job_step step = {.event = WEIRI_JOB_REMOVE};
    int64_t now = weiri_store_now(store);
    struct weiri_tally tally = {0};
    int code = SQLITE_OK;
    for (size_t i = 0; i < page->count && code == SQLITE_OK; i++) {
        struct entry *entry = &page->entries[i];
        struct weiri_row row;
        entry->removed = WEIR_ENOTFOUND;
        if (entry->given != WEIRI_GIVEN && entry->given != WEIRI_GIVEN_AGAIN) {
            continue;
        }
        code = weiri_row_load(store, entry->job->number, &row);
        if (code == SQLITE_ROW && row.facts.state == WEIR_JOB_BURIED) {
            code = SQLITE_OK; /* buried meanwhile: it stays */
        } else if (code == SQLITE_ROW) {
            code = weiri_row_step(store, &tally, &row, &step, now, NULL, &entry->removed);
        } else if (code == SQLITE_DONE) {
            code = SQLITE_OK;
        }
    }
    return code == SQLITE_OK ? weiri_tally_flush(store, &tally, now) : code;
}

/* Enters the jobs into the ledger. A job that a worker took meanwhile is taken back from the
 * target.
 */
static void count(struct page *page, bool is_forgotten)
{
    struct weir_move_counts *counts = &page->move->counts;
    for (size_t i = 0; i < page->count; i++) {
        struct entry *entry = &page->entries[i];
        bool was_given = entry->given == WEIRI_GIVEN || entry->given == WEIRI_GIVEN_AGAIN;
        if (was_given && is_forgotten && entry->removed == WEIR_OK) {
            counts->moved += entry->given == WEIRI_GIVEN;
            counts->repeated += entry->given == WEIRI_GIVEN_AGAIN;
        } else if (was_given && is_forgotten && entry->given == WEIRI_GIVEN &&
                   weiri_move_take_back(page->move, &entry->id)) {
            weiri_move_tell(page->move, entry->job->job.id, "a worker took it meanwhile");
            counts->left++;
        } else if (was_given || entry->given == WEIRI_MAYBE_GIVEN) {
            counts->both++;
        } else {
            counts->left += entry->given != 0;
        }
    }
}

static enum weir_status move_page(struct page *page, bool *ret_is_over,
                                  struct weir_error *ret_error)
{
    enum weir_status status = restamp(page, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    *ret_is_over = !weiri_move_step(page->move, WEIR_MOVE_READ);
    status = give(page, ret_is_over, ret_error);
    struct weir_error error = {""};
    enum weir_status forgotten = weiri_commit(page->store, run_forget, page, &error);
    count(page, forgotten == WEIR_OK);
    if (status == WEIR_OK && forgotten != WEIR_OK) {
        status = weiri_fail(ret_error, forgotten, "%s", error.text);
    }
    *ret_is_over = !weiri_move_step(page->move, WEIR_MOVE_REMOVED) || *ret_is_over;
    return status;
}

enum weir_status weiri_store_move(void *arg, struct weiri_move *move, struct weir_error *ret_error)
{
    struct weiri_store *store = arg;
    const struct weir_allocator *memory = &store->config->allocator;
    struct page *page = weiri_alloc_zero(memory, 1, sizeof(*page));
    if (page == NULL) {
        return weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    page->store = store;
    page->move = move;
    int64_t after = 0;
    int64_t last = -1; /* jobs that come later are not moved */
    bool is_over = false;
    enum weir_status status;
    do {
        clear(page);
        status = weiri_store_page(store, move->tube, after, &last, keep_job, page, ret_error);
        if (status == WEIR_OK && page->lacks_memory) {
            status = weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
        }
        if (status == WEIR_OK && page->count > 0) {
            after = page->entries[page->count - 1].job->number;
            status = move_page(page, &is_over, ret_error);
        }
    } while (status == WEIR_OK && page->count > 0 && !is_over);
    clear(page);
    weiri_release(memory, page, sizeof(*page));
    return status;
}

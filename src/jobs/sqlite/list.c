/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Listing and searching jobs, a page at a time, in order of their numbers. Each page is a
 * transaction of bounded length, which is over before the jobs are told, so that no reader keeps
 * the log from being checkpointed. A page may have no jobs though more follow. Jobs that arrive
 * later than the first page are not among them. */
#define _GNU_SOURCE /* memmem */
#include <string.h>

#include "base/time.h"
#include "jobs/sqlite/read.h"

/* What one transaction goes through: jobs, bytes of bodies, of which the last job may have more,
 * and numbers. */
enum {
    PAGE_JOBS = 64,
    PAGE_BYTES = 4 << 20,
    PAGE_NUMBERS = 20000
};

struct page {
    struct weiri_store *store;
    const struct weir_job_filter *filter;
    unsigned states; /* a bit for each that is let through */
    int64_t after;   /* behind this number */
    int64_t until;   /* up to this one, for now */
    int64_t last;    /* the last number at the first page; -1: not known yet */

    struct weiri_list jobs; /* of struct weiri_reservation, which are not reserved */
    size_t count;
    size_t bytes; /* of all bodies that were read */
    bool is_full;
    bool is_over; /* this page is the last */
};

static unsigned bits_of(enum weir_job_state state)
{
    return state == 0                   ? 30U /* 1 to 4 */
           : state == WEIRI_JOB_WAITING ? 1U << WEIR_JOB_DELAYED | 1U << WEIR_JOB_READY
                                        : 1U << state;
}

static bool has_text(const struct weir_job_filter *filter, const struct weir_job *job)
{
    return filter->text_size == 0 ||
           memmem(job->body, job->body_size, filter->text, filter->text_size) != NULL ||
           memmem(job->reason, strlen(job->reason), filter->text, filter->text_size) != NULL;
}

/* Takes a copy into the page, or frees it where the filter does not let it through. */
static void keep(struct page *page, struct weiri_reservation *job)
{
    page->after = job->number;
    page->bytes += job->job.body_size;
    if ((page->states >> job->job.state & 1U) != 0 && has_text(page->filter, &job->job)) {
        weiri_list_insert_before(&page->jobs, &job->link);
        page->count++;
    } else {
        weiri_reservation_free(&page->store->config->allocator, job);
    }
    page->is_full = page->count == PAGE_JOBS || page->bytes >= PAGE_BYTES;
}

/* Reads from the job behind page->after up to page->until, which is at most the last one then. */
static void read_page(struct weiri_reading *reading, void *arg)
{
    struct page *page = arg;
    const struct weir_job_filter *filter = page->filter;
    struct weiri_connection *reader = reading->reader;
    int64_t tube = 0; /* all */
    bool is_known = filter->tube == NULL || weiri_tube_find(reader, filter->tube, &tube);
    if (page->last < 0) {
        weiri_sql_find(reader, WEIRI_SQL_LAST_ROW, NULL, &page->last);
    }
    page->until = page->until < page->last && is_known ? page->until : page->last;
    if (!is_known) {
        return;
    }
    /* One that is due, and so is ready, may be stored as delayed still, or as a suspect. */
    unsigned is_ready = page->states >> WEIR_JOB_READY & 1U;
    unsigned stored = page->states | is_ready << WEIR_JOB_DELAYED | is_ready << WEIRI_READY_SUSPECT;
    bool is_buried = tube != 0 && filter->state == WEIR_JOB_BURIED;
    int64_t before_ns = filter->created_before_ns != 0 ? filter->created_before_ns : INT64_MAX;
    sqlite3_stmt *statement;
    bool is = weiri_sql_first(
        reader, is_buried ? WEIRI_SQL_PAGE_BURIED : WEIRI_SQL_PAGE,
        WEIRI_VALUES(page->after, page->until, tube, stored, filter->attempts_min, before_ns),
        &statement);
    for (; is; is = !page->is_full && weiri_sql_next(reader, statement)) {
        struct weiri_reservation *copy =
            weiri_copy_job(reading, sqlite3_column_int64(statement, 0), WEIRI_JOB_GONE);
        if (copy != NULL) {
            keep(page, copy);
        }
    }
    weiri_sql_leave(statement);
}

enum weir_status weiri_store_scan(void *arg, const struct weiri_listing *listing,
                                  struct weir_error *ret_error)
{
    const struct weir_job_filter *filter = &listing->filter;
    struct page page = {
        .store = arg, .filter = filter, .states = bits_of(filter->state), .last = -1};
    const struct weir_allocator *memory = &page.store->config->allocator;
    weiri_list_init(&page.jobs);
    if (filter->after != NULL &&
        weiri_number_parse("after", filter->after, &page.after, ret_error) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    enum weir_status status;
    bool is_over = false;
    do {
        weiri_reservations_free(memory, &page.jobs);
        page.count = page.bytes = 0;
        page.is_full = false;
        page.until = weiri_time_add(page.after, PAGE_NUMBERS);
        status = weiri_read(page.store, read_page, &page, ret_error);
        page.after = page.is_full ? page.after : page.until;
        page.is_over = page.after >= page.last;
        struct weiri_list *next = page.jobs.next;
        while (status == WEIR_OK && next != &page.jobs && !is_over) {
            const struct weiri_reservation *job =
                WEIRI_CONTAINER(next, struct weiri_reservation, link);
            next = next->next; /* fn may take it */
            is_over = listing->fn(&job->job, listing->arg) != 0;
        }
        if (status == WEIR_OK && !is_over && !page.is_over && filter->step != NULL) {
            struct weir_job_id id;
            weiri_number_format(page.after, &id);
            is_over = filter->step(id.text, listing->arg) != 0;
        }
    } while (status == WEIR_OK && !is_over && !page.is_over);
    weiri_reservations_free(memory, &page.jobs);
    return status;
}

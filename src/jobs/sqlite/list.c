/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Listing and searching jobs, a page at a time, in order of their numbers. Each page is a
 * transaction of bounded length, which is over before the jobs are told, so that no reader keeps
 * the log from being checkpointed. A page may have no jobs though more follow. Jobs that arrive
 * later than the first page are not among them. */
#define _GNU_SOURCE /* memmem */
#include <string.h>

#include "jobs/sqlite/read.h"

/* What one transaction goes through: jobs that are told, bytes of bodies, of which the last job may
 * have more, and rows, or as many jobs of few. */
enum {
    PAGE_JOBS = 64,
    PAGE_BYTES = 4 << 20,
    PAGE_ROWS = 10000
};

struct page {
    struct weiri_store *store;
    const struct weir_job_filter *filter;
    int64_t after;  /* behind this number */
    int64_t until;  /* up to this one, for now */
    int64_t last;   /* the last number given at the first page; -1: not known yet */
    bool is_of_few; /* the tube has few jobs in the stored states: their indexes are read */

    struct weiri_list jobs; /* of struct weiri_reservation, which are not reserved */
    size_t count;
    size_t bytes; /* of all bodies that were read */
    bool is_full;
};

static unsigned bits_of(enum weir_job_state state)
{
    return state == 0                   ? 30U /* 1 to 4 */
           : state == WEIRI_JOB_WAITING ? 1U << WEIR_JOB_DELAYED | 1U << WEIR_JOB_READY
                                        : 1U << state;
}

/* Whether a row of the page has the text in its body or its reason. */
static bool has_text(struct weiri_connection *reader, sqlite3_stmt *statement, struct page *page)
{
    const struct weir_job_filter *filter = page->filter;
    bool has = filter->text_size == 0;
    for (int i = 1; i <= 2 && !has; i++) {
        struct weiri_value value = weiri_sql_blob(reader, statement, i);
        page->bytes += value.size;
        has = value.size > 0 &&
              memmem(value.bytes, value.size, filter->text, filter->text_size) != NULL;
    }
    return has;
}

/* Reads from the job behind page->after up to page->until, which is at most the last one then. */
static void read_page(struct weiri_reading *reading, void *arg)
{
    struct page *page = arg;
    const struct weir_job_filter *filter = page->filter;
    struct weiri_connection *reader = reading->reader;
    int64_t tube = 0;
    if (filter->tube != NULL) { /* one that is not known has the number 0, as no job has */
        weiri_tube_find(reader, filter->tube, &tube);
    }
    int64_t tube_max = filter->tube != NULL ? tube : INT64_MAX;
    /* One that is due, and so is ready, may be stored as delayed still, or as a suspect. */
    unsigned states = bits_of(filter->state);
    unsigned is_ready = states >> WEIR_JOB_READY & 1U;
    unsigned stored = states | is_ready << WEIR_JOB_DELAYED | is_ready << WEIRI_READY_SUSPECT;
    if (page->last < 0) {
        int64_t count;
        weiri_sql_find(reader, WEIRI_SQL_LAST_PUT, NULL, &page->last);
        weiri_sql_find(reader, WEIRI_SQL_COUNT_FEW,
                       WEIRI_VALUES(tube, tube_max, stored, PAGE_ROWS + 1), &count);
        page->is_of_few = count <= PAGE_ROWS;
    }
    if (page->after >= page->until) {
        bool is_last =
            page->is_of_few || !weiri_sql_find(reader, WEIRI_SQL_END_OF_ROWS,
                                               WEIRI_VALUES(page->after, PAGE_ROWS), &page->until);
        page->until = is_last || page->until > page->last ? page->last : page->until;
    }
    int64_t before_ns = filter->created_before_ns != 0 ? filter->created_before_ns : INT64_MAX;
    sqlite3_stmt *statement;
    bool is =
        weiri_sql_first(reader, page->is_of_few ? WEIRI_SQL_PAGE_OF_FEW : WEIRI_SQL_PAGE,
                        WEIRI_VALUES(tube, tube_max, stored, INT64_MAX, page->after, page->until,
                                     filter->attempts_min, before_ns, filter->text_size != 0),
                        &statement);
    for (; is; is = !page->is_full && weiri_sql_next(reader, statement)) {
        page->after = sqlite3_column_int64(statement, 0);
        struct weiri_reservation *copy =
            has_text(reader, statement, page) ? weiri_copy_job(reading, page->after, filter) : NULL;
        if (copy != NULL) {
            weiri_list_insert_before(&page->jobs, &copy->link);
            page->count++;
            page->bytes += copy->size;
        }
        page->is_full = page->count == PAGE_JOBS || page->bytes >= PAGE_BYTES;
    }
    weiri_sql_leave(statement);
}

enum weir_status weiri_store_scan(void *arg, const struct weiri_listing *listing,
                                  struct weir_error *ret_error)
{
    const struct weir_job_filter *filter = &listing->filter;
    struct page page = {.store = arg, .filter = filter, .last = -1};
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
        status = weiri_read(page.store, read_page, &page, ret_error);
        page.after = page.is_full ? page.after : page.until;
        struct weiri_list *next = page.jobs.next;
        while (status == WEIR_OK && next != &page.jobs && !is_over) {
            const struct weiri_reservation *job =
                WEIRI_CONTAINER(next, struct weiri_reservation, link);
            next = next->next; /* fn may take it */
            is_over = listing->fn(&job->job, listing->arg) != 0;
        }
        is_over = is_over || page.after >= page.last;
        if (status == WEIR_OK && !is_over && filter->step != NULL) {
            struct weir_job_id id;
            weiri_number_format(page.after, &id);
            is_over = filter->step(id.text, listing->arg) != 0;
        }
    } while (status == WEIR_OK && !is_over);
    weiri_reservations_free(memory, &page.jobs);
    return status;
}

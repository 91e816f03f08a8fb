/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Jobs as they are, a page at a time: the one of an id; the first of a tube, in the order in which
 * they run; or all that a filter lets through, in order of their numbers. Each page is a
 * transaction of bounded length, which is over before the jobs are told, so that no reader keeps
 * the log from being checkpointed. A page may have no jobs though more follow. Jobs that arrive
 * later than the first page are not among them. */
#define _GNU_SOURCE /* memmem */
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "jobs/sqlite/read.h"

/* What one transaction goes through: jobs that are told, bytes of bodies, of which the last job may
 * have more, and rows, or as many jobs of few. */
enum {
    PAGE_JOBS = 64,
    PAGE_BYTES = 4 << 20,
    PAGE_ROWS = 10000
};

struct page {
    const struct weir_job_filter *filter;
    const int64_t *numbers; /* of the job of an id, or of the first jobs, which are in: */
    struct weiri_array firsts;
    int64_t after;  /* behind this number, or so many of those */
    int64_t until;  /* up to this one, for now */
    int64_t last;   /* the last number given at the first page, or how many; -1: not known yet */
    bool is_of_few; /* the tube has few jobs in the stored states: their indexes are read */

    struct weiri_list jobs; /* of struct weiri_reservation, which are not reserved */
    size_t count;
    size_t bytes; /* of all bodies that were read */
};

static bool is_full(const struct page *page)
{
    return page->count == PAGE_JOBS || page->bytes >= PAGE_BYTES;
}

/* Finds the numbers of jobs of one state. */
static void list_state(struct weiri_reading *reading, enum weir_job_state state, int64_t tube,
                       struct page *page)
{
    static const enum weiri_sql lists[] = {
        [WEIR_JOB_DELAYED] = WEIRI_SQL_PEEK_DELAYED,   [WEIR_JOB_READY] = WEIRI_SQL_PEEK_READY,
        [WEIR_JOB_RESERVED] = WEIRI_SQL_PEEK_RESERVED, [WEIR_JOB_BURIED] = WEIRI_SQL_PEEK_BURIED,
        [WEIR_JOB_ENDED] = WEIRI_SQL_PEEK_ENDED,
    };
    struct weiri_connection *reader = reading->reader;
    size_t limit = page->filter->first - page->firsts.count;
    int64_t most = limit < INT64_MAX ? (int64_t)limit : INT64_MAX;
    sqlite3_stmt *statement;
    bool is = weiri_sql_first(reader, lists[state], WEIRI_VALUES(tube, reading->now_ns, most),
                              &statement);
    for (; is; is = weiri_sql_next(reader, statement)) {
        int64_t *number = weiri_array_add(&page->firsts, &reading->store->config->allocator);
        if (number == NULL) {
            weiri_sql_fail(reader, SQLITE_NOMEM);
        } else {
            *number = sqlite3_column_int64(statement, 0);
        }
    }
}

/* Finds the numbers of the first jobs of a tube. */
static void list_first(struct weiri_reading *reading, struct page *page, int64_t tube)
{
    enum weir_job_state state = page->filter->state;
    static const enum weir_job_state order[] = {WEIR_JOB_RESERVED, WEIR_JOB_READY, WEIR_JOB_DELAYED,
                                                WEIR_JOB_BURIED, WEIR_JOB_ENDED};
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        bool is_asked = state == 0 ? order[i] != WEIR_JOB_ENDED : state == order[i];
        if (is_asked && page->firsts.count < page->filter->first) {
            list_state(reading, order[i], tube, page);
        }
    }
}

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

/* Copies a job that the filter lets through. */
static void add(struct weiri_reading *reading, struct page *page, int64_t number)
{
    struct weiri_reservation *copy = weiri_copy_job(reading, number, page->filter);
    if (copy != NULL) {
        weiri_list_insert_before(&page->jobs, &copy->link);
        page->count++;
        page->bytes += copy->size;
    }
}

/* Reads from the job behind page->after up to page->until, which is at most the last one then. */
static void walk(struct weiri_reading *reading, struct page *page, int64_t tube)
{
    const struct weir_job_filter *filter = page->filter;
    struct weiri_connection *reader = reading->reader;
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
    for (; is; is = !is_full(page) && weiri_sql_next(reader, statement)) {
        page->after = sqlite3_column_int64(statement, 0);
        if (has_text(reader, statement, page)) {
            add(reading, page, page->after);
        }
    }
    weiri_sql_leave(statement);
}

static void read_page(struct weiri_reading *reading, void *arg)
{
    struct page *page = arg;
    const struct weir_job_filter *filter = page->filter;
    int64_t tube = 0;
    if (filter->tube != NULL) { /* one that is not known has the number 0, as no job has */
        weiri_tube_find(reading->reader, filter->tube, &tube);
    }
    if (filter->id == NULL && filter->first == 0) {
        walk(reading, page, tube);
        return;
    }
    if (page->last < 0) {
        list_first(reading, page, tube);
        page->numbers = page->firsts.items;
        page->last = (int64_t)page->firsts.count;
    }
    if (page->after < page->last) { /* each as it is when its turn comes */
        add(reading, page, page->numbers[page->after++]);
    }
    page->until = page->after;
}

enum weir_status weiri_store_list(void *arg, const struct weiri_listing *listing,
                                  struct weir_error *ret_error)
{
    struct weiri_store *store = arg;
    const struct weir_allocator *memory = &store->config->allocator;
    const struct weir_job_filter *filter = &listing->filter;
    struct page page = {.filter = filter, .firsts = {.item_size = sizeof(int64_t)}, .last = -1};
    enum weir_status status = WEIR_OK;
    int64_t number;
    bool is_told = false;
    bool is_over = false;
    if (filter->id != NULL) {
        status = weiri_number_parse("job id", filter->id, &number, ret_error);
        page.numbers = &number;
        page.last = 1;
    } else if (filter->first == 0 && filter->after != NULL) {
        status = weiri_number_parse("after", filter->after, &page.after, ret_error);
    }
    weiri_list_init(&page.jobs);
    while (status == WEIR_OK && !is_over) {
        page.count = page.bytes = 0;
        status = weiri_read(store, read_page, &page, ret_error);
        page.after = is_full(&page) ? page.after : page.until;
        struct weiri_list *next = page.jobs.next;
        while (status == WEIR_OK && next != &page.jobs && !is_over) {
            const struct weiri_reservation *job =
                WEIRI_CONTAINER(next, struct weiri_reservation, link);
            next = next->next; /* fn may take it */
            is_told = true;
            is_over = listing->fn(&job->job, listing->arg) != 0;
        }
        weiri_reservations_free(memory, &page.jobs);
        is_over = is_over || page.after >= page.last;
        if (status == WEIR_OK && !is_over && filter->step != NULL && page.numbers == NULL) {
            struct weir_job_id id;
            weiri_number_format(page.after, &id);
            is_over = filter->step(id.text, listing->arg) != 0;
        }
    }
    weiri_array_free(&page.firsts, memory);
    return status == WEIR_OK && filter->id != NULL && !is_told
               ? weiri_fail(ret_error, WEIR_ENOTFOUND, "there is no job %.40s", filter->id)
               : status;
}

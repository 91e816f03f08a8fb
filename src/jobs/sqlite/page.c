/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* memmem */
#include "jobs/sqlite/page.h"

#include <string.h>

#include "base/time.h"
#include "jobs/sqlite/copy.h"
#include "jobs/sqlite/row.h"
#include "jobs/sqlite/tube.h"

/* What one transaction goes through: bytes of bodies, of which the last job may have more, and
 * numbers. */
enum {
    PAGE_BYTES = 4 << 20,
    PAGE_NUMBERS = 20000
};

void weiri_page_init(struct weiri_page *page, struct weiri_store *store, const char *tube)
{
    *page = (struct weiri_page){.store = store,
                                .tube = tube,
                                .states = 1U << WEIR_JOB_DELAYED | 1U << WEIR_JOB_READY,
                                .created_before_ns = INT64_MAX,
                                .last = -1};
    weiri_list_init(&page->jobs);
}

void weiri_page_fini(struct weiri_page *page)
{
    weiri_reservations_free(&page->store->config->allocator, &page->jobs);
    page->count = 0;
    page->bytes = 0;
    page->is_full = false;
}

static bool has_text(const struct weiri_page *page, const struct weir_job *job)
{
    return page->text == NULL ||
           memmem(job->body, job->body_size, page->text, page->text_size) != NULL ||
           memmem(job->reason, strlen(job->reason), page->text, page->text_size) != NULL;
}

/* Takes a copy into the page, or frees it where it lacks the text. */
static void keep(struct weiri_page *page, struct weiri_reservation *job)
{
    page->after = job->number;
    page->bytes += job->job.body_size;
    if (has_text(page, &job->job)) {
        weiri_list_insert_before(&page->jobs, &job->link);
        page->count++;
    } else {
        weiri_reservation_free(&page->store->config->allocator, job);
    }
    page->is_full = page->count == WEIRI_PAGE_JOBS || page->bytes >= PAGE_BYTES;
}

/* Reads from the job behind page->after up to page->until, which becomes the last number where that
 * is less. */
static int read_page(struct weiri_reading *reading, void *arg)
{
    struct weiri_page *page = arg;
    int64_t tube = 0; /* all */
    int code = page->tube == NULL ? SQLITE_OK : weiri_tube_find(reading->reader, page->tube, &tube);
    bool is_known = code == SQLITE_OK;
    code = code == SQLITE_DONE ? SQLITE_OK : code;
    if (code == SQLITE_OK && page->last < 0) {
        code = weiri_sql_number(reading->reader, WEIRI_SQL_LAST_JOB, NULL, &page->last);
    }
    page->until = page->until < page->last && is_known ? page->until : page->last;
    if (code != SQLITE_OK || !is_known) {
        return code;
    }
    bool is_buried = tube != 0 && page->states == 1U << WEIR_JOB_BURIED;
    sqlite3_stmt *statement;
    code = weiri_sql_start(reading->reader, is_buried ? WEIRI_SQL_PAGE_BURIED : WEIRI_SQL_PAGE,
                           WEIRI_VALUES(page->after, page->until, tube, page->states,
                                        page->attempts_min, page->created_before_ns),
                           &statement);
    while (code == SQLITE_ROW && !page->is_full) {
        struct weiri_reservation *copy;
        code = weiri_copy_job(reading, sqlite3_column_int64(statement, 0), WEIRI_JOB_GONE, &copy);
        if (copy != NULL) {
            keep(page, copy);
        }
        if (code == SQLITE_OK && !page->is_full) {
            code = sqlite3_step(statement);
        }
    }
    return weiri_sql_end(statement, code);
}

enum weir_status weiri_page_next(struct weiri_page *page, struct weir_error *ret_error)
{
    page->until = weiri_time_add(page->after, PAGE_NUMBERS);
    weiri_page_fini(page);
    enum weir_status status = weiri_read(page->store, read_page, page, ret_error);
    page->after = page->is_full ? page->after : page->until;
    page->is_over = page->after >= page->last;
    return status;
}

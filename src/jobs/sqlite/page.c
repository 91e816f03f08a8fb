/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* memmem */
#include "jobs/sqlite/page.h"

#include <string.h>

#include "jobs/error.h"
#include "jobs/sqlite/read.h"
#include "jobs/sqlite/row.h"

/* The bytes of a page, of which one job may have more, and the numbers that one transaction goes
 * through. */
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

/* Copies a job out of the transaction. */
static int keep(const struct weir_job *job, void *arg)
{
    struct weiri_page *page = arg;
    const struct weir_allocator *memory = &page->store->config->allocator;
    void *body;
    if (!has_text(page, job)) {
        return 0;
    }
    struct weiri_reservation *copy =
        weiri_reservation_new(memory, job->id, job->tube, job->body_size, job->reason, &body);
    if (copy == NULL) {
        page->lacks_memory = true;
        return 1;
    }
    memcpy(body, job->body, job->body_size);
    struct weir_job texts = copy->job;
    copy->job = *job;
    copy->job.id = texts.id;
    copy->job.tube = texts.tube;
    copy->job.body = texts.body;
    copy->job.reason = texts.reason;
    copy->backend = job->reason == weiri_damage_reason ? copy : NULL;
    (void)weiri_number_parse(job->id, &copy->number);
    weiri_list_insert_before(&page->jobs, &copy->link);
    page->count++;
    page->bytes += job->body_size;
    page->after = copy->number;
    page->is_full = page->count == WEIRI_PAGE_JOBS || page->bytes >= PAGE_BYTES;
    return page->is_full ? 1 : 0;
}

enum weir_status weiri_page_next(struct weiri_page *page, struct weir_error *ret_error)
{
    enum weir_status status = WEIR_OK;
    weiri_page_fini(page);
    while (status == WEIR_OK && page->count == 0 && (page->last < 0 || page->after < page->last)) {
        int64_t until = page->after + PAGE_NUMBERS;
        status = weiri_store_page(page, &until, keep, page, ret_error);
        if (status == WEIR_OK && page->lacks_memory) {
            status = weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
        }
        page->after = page->is_full ? page->after : until;
    }
    return status;
}

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Listing and searching jobs. */
#include "base/error.h"
#include "jobs/sqlite/page.h"

/* The states, as stored, of jobs that may be shown in a state: one that is due may be stored as
 * delayed still. */
static unsigned stored_states(enum weir_job_state state)
{
    return state == 0                ? ~(1U << WEIR_JOB_ARCHIVED)
           : state == WEIR_JOB_READY ? 1U << WEIR_JOB_DELAYED | 1U << WEIR_JOB_READY
                                     : 1U << state;
}

enum weir_status weiri_store_list(void *arg, const struct weir_job_filter *filter, weir_job_fn *fn,
                                  void *fn_arg, struct weir_error *ret_error)
{
    struct weiri_page page;
    weiri_page_init(&page, arg, filter->tube);
    page.states = stored_states(filter->state);
    page.attempts_min = filter->attempts_min;
    page.text = filter->text_size > 0 ? filter->text : NULL;
    page.text_size = filter->text_size;
    if (filter->created_before_ns != 0) {
        page.created_before_ns = filter->created_before_ns;
    }
    if (filter->after != NULL &&
        weiri_number_parse("after", filter->after, &page.after, ret_error) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    enum weir_status status;
    bool is_over = false;
    do {
        status = weiri_page_next(&page, ret_error);
        struct weiri_list *end = &page.jobs;
        for (struct weiri_list *link = end->next; link != end && status == WEIR_OK && !is_over;
             link = link->next) {
            const struct weir_job *job =
                &WEIRI_CONTAINER(link, struct weiri_reservation, link)->job;
            if (filter->state == 0 || filter->state == job->state) {
                is_over = fn(job, fn_arg) != 0;
            }
        }
        if (status == WEIR_OK && !is_over && !page.is_over && filter->step != NULL) {
            struct weir_job_id id;
            weiri_number_format(page.after, &id);
            is_over = filter->step(id.text, fn_arg) != 0;
        }
    } while (status == WEIR_OK && !is_over && !page.is_over);
    weiri_page_fini(&page);
    return status;
}

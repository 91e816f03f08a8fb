/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/job_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include <weir/duration.h>

#include "cli/report.h"
#include "view/json.h"
#include "view/text.h"
#include "view/timestamp.h"

static const struct table_column columns[] = {
    {"ID", true, false},       {"TUBE", false, false},    {"STATE", false, false},
    {"PRIORITY", true, false}, {"ATTEMPTS", true, false}, {"RUN AT", false, false},
    {"TTR", true, false},      {"SIZE", true, false},     {"REASON", false, true},
    {"BODY", false, true},
};

#define COLUMN_COUNT (sizeof(columns) / sizeof(columns[0]))

static bool add_row(const struct job_view *view, const struct weir_job *job)
{
    char priority[16];
    char attempts[16];
    char run_at[TIMESTAMP_SIZE];
    char ttr[32];
    char size[24];
    char gone[64];
    (void)snprintf(gone, sizeof(gone), "process %" PRId64 " does not live", job->owner);
    const char *why = job->owner_life == 2 ? gone : job->reason;
    char *reason = text_escape(why, strlen(why));
    char *body = view->body ? text_escape(job->body, job->body_size) : NULL;
    (void)snprintf(priority, sizeof(priority), "%" PRId32, job->priority);
    (void)snprintf(attempts, sizeof(attempts), "%" PRIu32, job->attempts);
    (void)snprintf(size, sizeof(size), "%zu", job->body_size);
    timestamp_write(job->run_at_ns, run_at);
    (void)weir_duration_format(job->ttr_ns, ttr, sizeof(ttr));
    const char *const cells[COLUMN_COUNT] = {
        job->id, job->tube, weir_job_state_name(job->state), priority, attempts, run_at, ttr, size,
        reason,  body};
    bool added = reason != NULL && (body != NULL || !view->body) &&
                 table_add(view->table, cells, view->body ? COLUMN_COUNT : COLUMN_COUNT - 1);
    free(reason);
    free(body);
    return added;
}

bool job_view_init(struct job_view *view)
{
    view->table = table_new(columns, view->body ? COLUMN_COUNT : COLUMN_COUNT - 1);
    return view->table != NULL;
}

void job_view_fini(struct job_view *view)
{
    scols_unref_table(view->table);
}

int job_view_show(struct job_view *view, const struct weir_job *job)
{
    view->failed =
        view->json ? !table_print_json(json_of_job(job, view->body)) : !add_row(view, job);
    return view->failed ? 1 : 0;
}

int job_view_print(struct job_view *view)
{
    return view->failed ? table_refuse() : view->json ? EX_OK : table_print(view->table);
}

int read_state(const char *name, const char *text, enum weir_job_state *ret_state)
{
    return text_read_state(text, ret_state) ? EX_OK
                                            : report(EX_USAGE,
                                                     "%s: %s: unknown state; expected one of "
                                                     "delayed, ready, reserved, buried, ended",
                                                     name, quote(text).text);
}

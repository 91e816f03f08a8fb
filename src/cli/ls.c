/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <sysexits.h>
#include <unistd.h>

#include <weir/admin.h>

#include "cli/ids.h"
#include "cli/job_view.h"
#include "cli/matching.h"
#include "cli/report.h"
#include "cli/store.h"

enum ls_option {
    OPTION_AFTER = OPTION_OWN,
    OPTION_BODY,
    OPTION_ID,
    OPTION_JSON,
    OPTION_LIMIT,
    OPTION_NEXT
};

#define LIMIT_DEFAULT 100

static const struct poptOption ls_options[] = {
    OPTION_VALUE("state", 's', MATCHING_STATE,
                 "Only jobs in this state: delayed, ready, reserved, buried or ended", "STATE"),
    OPTION_VALUE("text", 't', MATCHING_TEXT, "Only jobs with this text in body or reason", "TEXT"),
    OPTION_VALUE("attempts", '\0', MATCHING_ATTEMPTS, "Only jobs with at least so many attempts",
                 "N"),
    OPTION_VALUE("older", '\0', MATCHING_OLDER, "Only jobs that were put so long ago", "DURATION"),
    OPTION_VALUE("id", '\0', OPTION_ID, "The job of this id, instead of those of a tube", "ID"),
    OPTION_VALUE("after", '\0', OPTION_AFTER, "Go on behind this job", "ID"),
    OPTION_FLAG("next", '\0', OPTION_NEXT, "The first ones in the order in which they would run"),
    OPTION_VALUE("limit", 'n', OPTION_LIMIT, "At most so many jobs (default: 100)", "N"),
    OPTION_FLAG("body", '\0', OPTION_BODY, "Show bodies too, control characters escaped"),
    OPTION_FLAG("json", '\0', OPTION_JSON,
                "Print an object a job or tube; bodies that are not UTF-8 in base64"),
    POPT_TABLEEND,
};

struct ls {
    struct matching matching;
    struct job_view view;
    bool next;
    int64_t limit;
    int64_t shown;
    bool is_filtered; /* An option is for jobs only. */
    bool has_tube;    /* One was told of. */
    bool is_more;
    char last[WEIR_JOB_ID_SIZE];
};

static int set_option(int option, const char *name, const char *text, void *arg)
{
    struct ls *ls = arg;
    ls->is_filtered = ls->is_filtered || option != OPTION_JSON;
    switch ((enum ls_option)option) {
    case OPTION_AFTER:
        ls->matching.filter.after = text;
        return EX_OK;
    case OPTION_ID:
        ls->matching.filter.id = text;
        return EX_OK;
    case OPTION_NEXT:
        ls->next = true;
        return EX_OK;
    case OPTION_LIMIT:
        return read_number(name, text, 1, INT32_MAX, &ls->limit);
    case OPTION_BODY:
        ls->view.body = true;
        return EX_OK;
    case OPTION_JSON:
        ls->view.json = true;
        return EX_OK;
    }
    return matching_set(&ls->matching, option, name, text);
}

static int show_tube(const struct weir_tube_counts *counts, void *arg)
{
    struct ls *ls = arg;
    ls->has_tube = true;
    ls->view.failed = ls->matching.filter.tube != NULL ? false
                      : ls->view.json ? !table_print_json(json_pack("{s:s}", "tube", counts->tube))
                                      : puts(counts->tube) < 0;
    return ls->view.failed ? 1 : 0;
}

static int show_job(const struct weir_job *job, void *arg)
{
    struct ls *ls = arg;
    if (ls->shown == ls->limit) {
        ls->is_more = true;
        return 1;
    }
    ls->shown++;
    (void)snprintf(ls->last, sizeof(ls->last), "%s", job->id);
    return job_view_show(&ls->view, job);
}

static int show_progress(const char *id, void *arg)
{
    const struct ls *ls = arg;
    /* Jobs on the terminal show it already. */
    if ((!ls->view.json || isatty(STDOUT_FILENO) != 1) && report_progress_due()) {
        report_progress(true, "tube %s: %" PRId64 " jobs found up to %s",
                        quote(ls->matching.filter.tube).text, ls->shown, id);
    }
    return 0;
}

static int list_jobs(struct ls *ls, weir_broker *broker)
{
    struct weir_error error = {0};
    struct weir_job_filter *filter = &ls->matching.filter;
    if (!job_view_init(&ls->view)) {
        return report_status(WEIR_ENOMEM, "table", NULL);
    }
    filter->step = show_progress;
    filter->no_bodies = !ls->view.body;
    filter->first = ls->next ? (size_t)ls->limit : 0;
    enum weir_status status = weir_broker_list(broker, filter, show_job, ls, &error);
    report_progress_end();
    if (filter->id != NULL && status != WEIR_OK) {
        return ids_refuse(filter->id, status, &error);
    }
    if (status == WEIR_EINVAL) {
        return report(EX_USAGE, "--after: %s; expected an id that `weir put` printed", error.text);
    }
    if (status != WEIR_OK) {
        return report_status(status, quote(ls->matching.filter.tube).text, &error);
    }
    int code = job_view_print(&ls->view);
    if (code == EX_OK && ls->is_more) {
        (void)report(EX_OK, "there are more; --after %s goes on", ls->last);
    }
    return code;
}

/* The names of all tubes, or the jobs of one. */
static int list(struct ls *ls, weir_broker *broker)
{
    struct weir_error error = {0};
    const char *tube = ls->matching.filter.tube;
    enum weir_status status = weir_broker_find_tubes(broker, tube, show_tube, ls, &error);
    if (status != WEIR_OK) {
        return report_status(status, tube != NULL ? quote(tube).text : "tubes", &error);
    }
    if (ls->view.failed) {
        return table_refuse();
    }
    if (tube == NULL) {
        return EX_OK;
    }
    if (!ls->has_tube) {
        return report(EX_NOINPUT, "%s: no such tube; expected one that a job was put into",
                      quote(tube).text);
    }
    return list_jobs(ls, broker);
}

static int act(struct arguments *arguments, void *arg)
{
    struct ls *ls = arg;
    struct store store = {0};
    int code = EX_OK;
    if (ls->matching.filter.id != NULL && arguments->count > 0) {
        return report(EX_USAGE, "%s: a tube beside --id; expected one of them",
                      quote(arguments->operands[0]).text);
    }
    const struct weir_job_filter *filter = &ls->matching.filter;
    if (ls->next && (filter->text != NULL || filter->attempts_min > 0 || filter->after != NULL ||
                     filter->created_before_ns > 0)) {
        return report(EX_USAGE, "--next: beside another filter than --state; expected one of them");
    }
    if (arguments->count > 0) {
        ls->matching.filter.tube = arguments->operands[0];
        code = read_tube(ls->matching.filter.tube);
    } else if (ls->is_filtered && filter->id == NULL) {
        code = report(EX_USAGE, "no tube; expected one beside options for jobs");
    }
    code = code == EX_OK ? store_open(&store, arguments, STORE_READ) : code;
    if (code == EX_OK) {
        code = filter->id != NULL ? list_jobs(ls, store.broker) : list(ls, store.broker);
    }
    job_view_fini(&ls->view);
    store_close(&store);
    return code;
}

const struct command command_ls = {
    .name = "ls",
    .operands = "[TUBE] | --id ID",
    .names = {"tube"},
    .optional = 1,
    .summary = "list the tubes, or the jobs of one",
    .examples = "  weir ls\n"
                "  weir ls img --state buried --older 1d\n"
                "  weir ls img --text photo.jpg --json\n"
                "  weir ls --next --body img        those that would run first\n"
                "  weir ls --id 17 --body\n",
    .options = ls_options,
    .set = set_option,
    .act = act,
    .state = &(struct ls){.matching = {.filter = {0}}, .limit = LIMIT_DEFAULT},
};

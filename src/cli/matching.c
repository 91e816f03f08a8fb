/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/matching.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "cli/job_view.h"
#include "cli/moment.h"
#include "cli/report.h"
#include "cli/signals.h"
#include "cli/store.h"
#include "cli/table.h"
#include "view/timestamp.h"

/* Jobs that are changed in one transaction, so that others can write in between. */
#define STEP 1000

int matching_set(struct matching *matching, int option, const char *name, const char *text)
{
    struct weir_job_filter *filter = &matching->filter;
    int64_t number = 0;
    int code = EX_OK;
    if (matching->first == 0 && option != MATCHING_YES) {
        matching->first = option;
    }
    switch ((enum matching_option)option) {
    case MATCHING_TUBE:
        filter->tube = text;
        return read_tube(text);
    case MATCHING_STATE:
        return read_state(name, text, &filter->state);
    case MATCHING_TEXT:
        filter->text = text;
        filter->text_size = strlen(text);
        return EX_OK;
    case MATCHING_ATTEMPTS:
        code = read_number(name, text, 1, UINT32_MAX, &number);
        filter->attempts_min = (uint32_t)number;
        return code;
    case MATCHING_OLDER:
        code = read_duration(name, text, 0, &number);
        number = moment_now() - number;
        filter->created_before_ns = number > 0 ? number : 1;
        return code;
    case MATCHING_DRY_RUN:
        matching->dry_run = true;
        return EX_OK;
    case MATCHING_YES:
        matching->yes = true;
        break;
    }
    return EX_OK;
}

bool matching_is_of_all(const struct weir_job_filter *filter)
{
    return filter->state == 0 && filter->text == NULL && filter->attempts_min == 0 &&
           filter->created_before_ns == 0;
}

/* One pass over the jobs that match. */
struct pass {
    const struct matching *matching;
    const struct ids_verb *verb;
    struct quoted title;       /* Of the tube. */
    struct weir_change change; /* With the time of the next job, where they are spread. */
    weir_broker *broker;
    bool only_counts;
    char *ids[STEP];
    size_t held;
    uint64_t count;         /* Jobs that match, or were changed; also: */
    uint64_t asked;         /* asked to end */
    uint64_t left;          /* Jobs that were left: for a later time, or reserved. */
    int64_t until_ns;       /* Those for a later time are left; 0: none are. */
    int64_t latest_ns;      /* Of the run times of those that match. */
    struct signals signals; /* Of a pass that changes jobs. */
    bool is_interrupted;
    enum weir_status status;
    struct weir_error error;
};

/* Whether a job is in a state that the verb is for; others are left alone. */
static bool is_wanted(const struct pass *pass, enum weir_job_state state)
{
    return (pass->verb->states >> (unsigned)state & 1U) != 0;
}

/* A signal ends it between two steps. */
static void look_for_end(struct pass *pass)
{
    pass->is_interrupted =
        pass->is_interrupted || (!pass->only_counts && signals_read(&pass->signals) != 0);
}

/* Changes the jobs that are held. */
static void flush(struct pass *pass)
{
    enum weir_status statuses[STEP];
    if (pass->held > 0 && pass->status == WEIR_OK) {
        pass->status =
            weir_broker_change(pass->broker, &pass->change, (const char *const *)pass->ids,
                               pass->held, statuses, &pass->error);
        bool is_near = pass->change.start_ns < INT64_MAX / 2;
        pass->change.start_ns += is_near ? (int64_t)pass->held * pass->change.interval_ns : 0;
    }
    for (size_t i = 0; i < pass->held; i++) {
        enum weir_status status = pass->status == WEIR_OK ? statuses[i] : pass->status;
        bool is_asked = status == WEIR_ECANCELED && pass->change.kind == WEIR_CHANGE_CANCEL;
        pass->asked += is_asked;
        pass->count += status == WEIR_OK || (status == WEIR_ECANCELED && !is_asked);
        pass->left += status == WEIR_EBUSY && is_wanted(pass, WEIR_JOB_RESERVED);
        free(pass->ids[i]);
    }
    pass->held = 0;
    look_for_end(pass);
}

static int take(const struct weir_job *job, void *arg)
{
    struct pass *pass = arg;
    uint64_t limit = (uint64_t)pass->matching->limit;
    if (limit > 0 && pass->count + pass->asked + pass->held == limit) {
        return 1;
    }
    if (!is_wanted(pass, job->state)) {
        return 0;
    }
    if (pass->until_ns != 0 && job->run_at_ns > pass->until_ns) {
        pass->left++;
        return 0;
    }
    pass->latest_ns = job->run_at_ns > pass->latest_ns ? job->run_at_ns : pass->latest_ns;
    if (pass->only_counts) {
        pass->count++;
        return 0;
    }
    pass->ids[pass->held] = strdup(job->id);
    if (pass->ids[pass->held] == NULL) {
        pass->status = WEIR_ENOMEM;
        return 1;
    }
    pass->held++;
    if (pass->held == STEP) {
        flush(pass);
    }
    return pass->status != WEIR_OK || pass->is_interrupted;
}

static int show_progress(const char *id, void *arg)
{
    struct pass *pass = arg;
    look_for_end(pass);
    if (report_progress_due()) {
        report_progress(true, "tube %s: %" PRIu64 " jobs found up to %s", pass->title.text,
                        pass->count + pass->asked + pass->held, id);
    }
    return pass->is_interrupted;
}

/* A cluster lists no jobs: the first ones of a state are changed until so many as there were are
 * not in it any more. */
static enum weir_status walk_cluster(struct pass *pass, const struct weir_tube_counts *counts)
{
    const struct weir_job_filter *filter = &pass->matching->filter;
    uint64_t most = filter->state == WEIR_JOB_DELAYED ? counts->delayed
                    : filter->state == WEIR_JOB_READY ? counts->ready
                                                      : counts->buried;
    uint64_t before = 1;
    if (pass->only_counts) {
        pass->count = most;
        return WEIR_OK;
    }
    while (pass->status == WEIR_OK && !pass->is_interrupted && pass->count < most && before > 0) {
        uint64_t limit = most - pass->count;
        before = pass->count;
        enum weir_status status =
            weir_broker_peek(pass->broker, filter->tube, filter->state,
                             limit < STEP ? (size_t)limit : STEP, take, pass, &pass->error);
        flush(pass);
        if (status != WEIR_OK) {
            return status;
        }
        before = pass->count - before;
    }
    return pass->status;
}

/* Those that are buried now, without a look at each. A job that fails again meanwhile is not kicked
 * twice. */
static enum weir_status kick_all(struct pass *pass, const struct weir_tube_counts *counts)
{
    uint64_t limit = (uint64_t)pass->matching->limit;
    uint64_t most = limit > 0 && limit < counts->buried ? limit : counts->buried;
    enum weir_status status = WEIR_OK;
    size_t asked = 0;
    size_t step = 0;
    while (status == WEIR_OK && step == asked && pass->count < most && !pass->is_interrupted) {
        asked = most - pass->count < STEP ? (size_t)(most - pass->count) : STEP;
        status = weir_broker_kick(pass->broker, counts->tube, asked, &step, &pass->error);
        pass->count += status == WEIR_OK || status == WEIR_EUNKNOWN ? step : 0;
        look_for_end(pass);
    }
    return status;
}

static enum weir_status walk(struct pass *pass, const struct weir_tube_counts *counts)
{
    struct weir_job_filter filter = pass->matching->filter;
    filter.step = show_progress;
    filter.no_bodies = 1;
    if (filter.state == 0 && pass->verb->states == IDS_BURIED) {
        filter.state = WEIR_JOB_BURIED;
    }
    bool is_plain = filter.state != 0 && filter.state != WEIR_JOB_RESERVED && filter.text == NULL &&
                    filter.attempts_min == 0 && filter.created_before_ns == 0;
    if (is_plain && !pass->only_counts && pass->verb->states == IDS_BURIED &&
        pass->change.interval_ns == 0) {
        return kick_all(pass, counts);
    }
    enum weir_status status = weir_broker_list(pass->broker, &filter, take, pass, &pass->error);
    report_progress_end();
    if (status == WEIR_ENOTSUP && is_plain) {
        return walk_cluster(pass, counts);
    }
    flush(pass);
    return status == WEIR_OK ? pass->status : status;
}

/* Asks before more than one job is destroyed, or jobs run before their time. */
static bool is_agreed(const struct pass *pass)
{
    char question[sizeof(pass->title.text) + 128];
    char time[TIMESTAMP_SIZE];
    if (pass->matching->asks_of_time) {
        timestamp_write(pass->latest_ns, time);
        (void)snprintf(question, sizeof(question),
                       "run %" PRIu64 " jobs of %s now, the latest of which is for %s?",
                       pass->count, pass->title.text, time);
        return report_agreed(question);
    }
    (void)snprintf(question, sizeof(question), "%s %" PRIu64 " jobs of %s for good?",
                   pass->verb->plain, pass->count, pass->title.text);
    return pass->count < 2 || report_agreed(question);
}

static bool print_count(const struct pass *pass, bool json)
{
    const struct matching *matching = pass->matching;
    const struct ids_verb *verb = pass->verb;
    bool cancels = verb->change.kind == WEIR_CHANGE_CANCEL && !matching->dry_run;
    char name[32];
    if (matching->dry_run) {
        (void)snprintf(name, sizeof(name), "would %s", verb->plain);
    } else {
        (void)snprintf(name, sizeof(name), "%s", verb->done);
    }
    for (char *space = strchr(name, ' '); json && space != NULL; space = strchr(space, ' ')) {
        *space = '_';
    }
    if (!json) {
        return printf("%s %" PRIu64 " %s", name, pass->count, pass->count == 1 ? "job" : "jobs") >=
                   0 &&
               (!cancels || printf(", asked %" PRIu64 " to end", pass->asked) >= 0) &&
               putchar('\n') != EOF;
    }
    enum weir_job_state state = matching->filter.state;
    /* s* and o*: NULL leaves it out. */
    return table_print_json(json_pack("{s:s*, s:s*, s:I, s:o*}", "tube", matching->filter.tube,
                                      "state", state == 0 ? NULL : weir_job_state_name(state), name,
                                      (json_int_t)pass->count, "asked",
                                      cancels ? json_integer((json_int_t)pass->asked) : NULL));
}

static int change_all(const struct matching *matching, const struct ids_verb *verb, bool json,
                      weir_broker *broker)
{
    struct weir_tube_counts counts = {.tube = ""};
    struct pass pass = {
        .matching = matching, .verb = verb, .change = verb->change, .broker = broker};
    pass.until_ns = matching->until_ns;
    const char *tube = matching->filter.tube;
    pass.title = quote(tube != NULL ? tube : "all tubes");
    enum weir_status status =
        weir_broker_tubes(broker, tube, store_keep_counts, &counts, &pass.error);
    if (status == WEIR_OK && tube != NULL && counts.tube[0] == '\0') {
        return report(EX_NOINPUT, "%s: no such tube; expected one that a job was put into",
                      pass.title.text);
    }
    bool asks = (verb->asks || matching->asks_of_time) && !matching->yes && !matching->dry_run &&
                isatty(STDIN_FILENO) == 1;
    if (status == WEIR_OK && (matching->dry_run || asks)) {
        pass.only_counts = true;
        status = walk(&pass, &counts);
    }
    if (status == WEIR_OK && asks && pass.count > 0 && !is_agreed(&pass)) {
        return report(EX_TEMPFAIL, "%s: nothing was %s", pass.title.text, verb->done);
    }
    if (status == WEIR_OK && !matching->dry_run) {
        signals_block(&pass.signals, false);
        pass.only_counts = false;
        pass.count = 0;
        pass.left = 0;
        pass.until_ns = asks && matching->asks_of_time ? pass.latest_ns : pass.until_ns;
        status = walk(&pass, &counts);
    }
    bool printed = print_count(&pass, json);
    if (status != WEIR_OK) {
        return report_status(status, pass.title.text, &pass.error);
    }
    if (pass.left > 0 && verb->left != NULL) {
        (void)report(EX_OK, "%s: %" PRIu64 " %s", pass.title.text, pass.left, verb->left);
    }
    if (pass.is_interrupted) {
        return report(EX_TEMPFAIL, "%s: interrupted; all others are as they were", pass.title.text);
    }
    return printed ? EX_OK : table_refuse();
}

int matching_check_state(const struct matching *matching, const struct ids_verb *verb)
{
    enum weir_job_state state = matching->filter.state;
    return state == 0 || (verb->states >> (unsigned)state & 1U) != 0
               ? EX_OK
               : report(EX_USAGE, "--state: \"%s\": expected %s", weir_job_state_name(state),
                        verb->expected);
}

static int check(const struct matching *matching, const struct arguments *arguments,
                 const struct ids_verb *verb)
{
    const struct weir_job_filter *filter = &matching->filter;
    char name[64];
    const char *first = arguments_name(arguments, matching->first, name);
    if (filter->tube == NULL) {
        return report(EX_USAGE, "no --tube; expected one beside %s", first);
    }
    if (arguments->count > 0) {
        return report(EX_USAGE, "%s: an id beside %s; expected one of them",
                      quote(arguments->operands[0]).text, first);
    }
    if (matching_is_of_all(filter)) {
        return report(EX_USAGE, "no filter; expected --state, --text, --attempts or --older");
    }
    return matching_check_state(matching, verb);
}

int matching_apply(const struct matching *matching, const struct arguments *arguments,
                   const struct ids_verb *verb, bool json)
{
    struct store store;
    int code = store_open(&store, arguments, matching->dry_run ? STORE_READ : STORE_ALTER);
    code = code == EX_OK ? change_all(matching, verb, json, store.broker) : code;
    store_close(&store);
    return code;
}

int matching_run(const struct matching *matching, const struct arguments *arguments,
                 const struct ids_verb *verb, bool json)
{
    if (matching->first == 0) {
        int code = ids_check(arguments);
        return code == EX_OK ? ids_change(arguments, verb, json) : code;
    }
    int code = check(matching, arguments, verb);
    return code == EX_OK ? matching_apply(matching, arguments, verb, json) : code;
}

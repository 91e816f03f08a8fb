/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "cli/ids.h"
#include "cli/job_view.h"
#include "cli/report.h"
#include "cli/store.h"
#include "cli/table.h"

enum {
    OPTION_DRY_RUN = OPTION_OWN,
    OPTION_JSON,
    OPTION_STATE,
    OPTION_TUBE,
    OPTION_YES
};

/* Jobs deleted in one transaction, so that others can write in between. */
#define STEP 256

static const struct poptOption rm_options[] = {
    OPTION_VALUE("tube", '\0', OPTION_TUBE, "All jobs of this tube in a state, instead of by id",
                 "TUBE"),
    OPTION_VALUE("state", 's', OPTION_STATE, "The state: delayed, ready or buried", "STATE"),
    OPTION_FLAG("dry-run", '\0', OPTION_DRY_RUN, "Only tell how many jobs --tube would delete"),
    OPTION_FLAG("yes", 'y', OPTION_YES, "Do not ask"),
    OPTION_FLAG("json", '\0', OPTION_JSON, "Print objects instead of words"),
    POPT_TABLEEND,
};

struct rm {
    const char *tube;
    enum weir_job_state state;
    bool dry_run;
    bool yes;
    bool json;
};

static int set_option(int option, const char *name, const char *text, void *arg)
{
    struct rm *rm = arg;
    switch (option) {
    case OPTION_TUBE:
        rm->tube = text;
        return read_tube(text);
    case OPTION_STATE:
        return read_state(name, text, &rm->state);
    case OPTION_DRY_RUN:
        rm->dry_run = true;
        return EX_OK;
    case OPTION_YES:
        rm->yes = true;
        return EX_OK;
    default:
        rm->json = true;
        return EX_OK;
    }
}

static int keep_counts(const struct weir_tube_counts *counts, void *arg)
{
    *(struct weir_tube_counts *)arg = *counts;
    return 1;
}

/* Asks on a terminal before more than one job is destroyed. */
static bool is_agreed(const struct rm *rm, uint64_t count)
{
    char answer[16] = "";
    if (rm->yes || count < 2 || isatty(STDIN_FILENO) != 1) {
        return true;
    }
    report_progress(true, "delete %" PRIu64 " %s jobs of %s for good? [y/N] ", count,
                    weir_job_state_name(rm->state), quote(rm->tube).text);
    return fgets(answer, sizeof(answer), stdin) != NULL && (answer[0] == 'y' || answer[0] == 'Y');
}

/* The ids of a step. */
struct step {
    char *ids[STEP];
    size_t count;
};

static int keep_id(const struct weir_job *job, void *arg)
{
    struct step *step = arg;
    char *id = step->count < STEP ? strdup(job->id) : NULL;
    if (id != NULL) {
        step->ids[step->count++] = id;
    }
    return id == NULL ? 1 : 0;
}

/* Deletes some jobs. ret_count is 0 where there are none left. */
static enum weir_status remove_step(const struct rm *rm, weir_broker *broker, size_t most,
                                    size_t *ret_count, struct weir_error *error)
{
    struct step step = {.count = 0};
    size_t limit = most < STEP ? most : STEP;
    enum weir_status status =
        weir_broker_peek(broker, rm->tube, rm->state, limit, keep_id, &step, error);
    *ret_count = 0;
    if (status == WEIR_OK && step.count > 0) {
        status =
            weir_broker_remove(broker, (const char *const *)step.ids, step.count, ret_count, error);
    }
    for (size_t i = 0; i < step.count; i++) {
        free(step.ids[i]);
    }
    return status;
}

static bool print_count(const struct rm *rm, uint64_t count)
{
    const char *verb = rm->dry_run ? "would remove" : "removed";
    if (rm->json) {
        return table_print_json(
            json_pack("{s:s, s:s, s:I}", "tube", rm->tube, "state", weir_job_state_name(rm->state),
                      rm->dry_run ? "would_remove" : "removed", (json_int_t)count));
    }
    return printf("%s %" PRIu64 " %s\n", verb, count, count == 1 ? "job" : "jobs") >= 0;
}

/* Deletes those that are in the state now. */
static int remove_all(const struct rm *rm, weir_broker *broker)
{
    struct weir_tube_counts counts = {.tube = ""};
    struct weir_error error = {""};
    enum weir_status status = weir_broker_tubes(broker, rm->tube, keep_counts, &counts, &error);
    if (status == WEIR_OK && counts.tube[0] == '\0') {
        return report(EX_NOINPUT, "%s: no such tube; expected one that a job was put into",
                      quote(rm->tube).text);
    }
    uint64_t most = rm->state == WEIR_JOB_DELAYED ? counts.delayed
                    : rm->state == WEIR_JOB_READY ? counts.ready
                                                  : counts.buried;
    if (status == WEIR_OK && !rm->dry_run && !is_agreed(rm, most)) {
        return report(EX_TEMPFAIL, "%s: nothing was removed", quote(rm->tube).text);
    }
    uint64_t removed = rm->dry_run ? most : 0;
    size_t count = 1;
    while (status == WEIR_OK && count > 0 && removed < most) {
        status = remove_step(rm, broker, (size_t)(most - removed), &count, &error);
        removed += count;
    }
    bool printed = print_count(rm, removed);
    if (status != WEIR_OK) {
        return report_status(status, quote(rm->tube).text, &error);
    }
    return printed ? EX_OK : table_refuse();
}

static int check(const struct rm *rm, const struct arguments *arguments)
{
    bool is_bulk = rm->tube != NULL || rm->state != 0 || rm->dry_run;
    if (!is_bulk) {
        return arguments->count > 0
                   ? EX_OK
                   : report(EX_USAGE, "no id; expected %s", arguments->command->operands);
    }
    if (arguments->count > 0) {
        return report(EX_USAGE,
                      "%s: an id beside --tube, --state or --dry-run; expected one of them",
                      quote(arguments->operands[0]).text);
    }
    if (rm->tube == NULL) {
        return report(EX_USAGE, "no --tube; expected one beside --state or --dry-run");
    }
    if (rm->state == 0 || rm->state == WEIR_JOB_RESERVED) {
        return report(EX_USAGE, "--state: %s; expected delayed, ready or buried",
                      rm->state == 0 ? "not given" : "\"reserved\": a worker has these");
    }
    return EX_OK;
}

static int run_rm(const struct command *command, int argc, char **argv)
{
    static const struct ids_verb verb = {.what = IDS_REMOVE,
                                         .done = "removed",
                                         .expected = "a job that is delayed, ready or buried"};
    struct rm rm = {.tube = NULL};
    struct arguments arguments;
    int code = arguments_parse(&arguments, command, argc, argv, set_option, &rm);
    if (code == EX_OK && !arguments.helped) {
        code = check(&rm, &arguments);
        if (code == EX_OK && rm.tube == NULL) {
            code = ids_change(&arguments, &verb, rm.json);
        } else if (code == EX_OK) {
            struct store store;
            code = store_open(&store, &arguments, rm.dry_run ? STORE_READ : STORE_ALTER);
            code = code == EX_OK ? remove_all(&rm, store.broker) : code;
            store_close(&store);
        }
    }
    arguments_free(&arguments);
    return code;
}

const struct command command_rm = {
    .name = "rm",
    .operands = "ID... | --tube TUBE --state STATE",
    .summary = "delete jobs for good",
    .examples = "  weir rm 17 18\n"
                "  weir rm --tube img --state buried --dry-run\n"
                "  weir rm --tube img --state buried\n",
    .options = rm_options,
    .run = run_rm,
};

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include <weir/job_schedule.h>

#include "cli/arguments.h"
#include "cli/report.h"
#include "cli/schedule_entry.h"
#include "cli/store.h"
#include "cli/table.h"
#include "cli/when.h"
#include "view/json.h"
#include "view/text.h"
#include "view/timestamp.h"

enum schedule_command_option {
    OPTION_JSON = OPTION_OWN
};

static const struct poptOption schedule_options[] = {
    SCHEDULE_ENTRY_OPTIONS,
    OPTION_FLAG("json", '\0', OPTION_JSON, "ls: print an object a schedule"),
    POPT_TABLEEND,
};

static const struct table_column columns[] = {
    {"NAME", false, false}, {"TUBE", false, false},    {"WHEN", false, true},
    {"NEXT", false, false}, {"FIRED", true, false},    {"SKIPPED", true, false},
    {"LAST", false, false}, {"OUTCOME", false, false}, {"PROBLEM", false, true}};

#define COLUMN_COUNT (sizeof(columns) / sizeof(columns[0]))

struct schedule {
    struct weir_job_schedule_options options;
    int added; /* An option that is for add only; 0: none was given. */
    bool json;

    struct libscols_table *table;
    bool failed;
};

static int set_option(int option, const char *name, const char *text, void *arg)
{
    struct schedule *schedule = arg;
    switch ((enum schedule_command_option)option) {
    case OPTION_JSON:
        schedule->json = true;
        return EX_OK;
    }
    schedule->added = option;
    return schedule_entry_set(option, name, text, &schedule->options);
}

/* --- add --- */

static int tell_next(const struct weir_job_schedule *schedule, void *arg)
{
    char next[WHEN_SIZE];
    (void)arg;
    if (schedule->next_ns == WEIR_FOREVER) {
        (void)report(EX_OK, "%s: it never fires", schedule->name);
    } else {
        when_write(schedule->next_ns, next);
        (void)report(EX_OK, "%s: next at %s", schedule->name, next);
    }
    return 0;
}

static int add(struct schedule *schedule, const struct arguments *arguments)
{
    static const char *const names[] = {"add", "name", "tube", "body"};
    struct weir_job_schedule_options *options = &schedule->options;
    struct store store;
    struct weir_error error = {0};
    int code = arguments_expect(arguments, names, 4, 1);
    if (code == EX_OK) {
        code = read_tube(arguments->operands[2]);
    }
    if (code == EX_OK) {
        code = schedule_entry_check(options, "", "--");
    }
    if (code != EX_OK) {
        return code;
    }
    options->name = arguments->operands[1];
    options->tube = arguments->operands[2];
    const char *body = arguments->count > 3 ? arguments->operands[3] : "";
    options->body = (struct weir_body){body, strlen(body), NULL};
    code = store_open(&store, arguments, STORE_CHANGE);
    if (code == EX_OK) {
        code = schedule_entry_put(store.broker, options, "");
    }
    if (code == EX_OK) {
        enum weir_status status =
            weir_broker_schedules(store.broker, options->name, tell_next, NULL, &error);
        code = status == WEIR_OK ? EX_OK : report_status(status, quote(options->name).text, &error);
    }
    store_close(&store);
    return code;
}

/* --- ls --- */

/* A time of a cell: local, without its day's name. */
static void write_time(int64_t at_ns, char text[TIMESTAMP_SIZE])
{
    if (at_ns == 0 || at_ns == WEIR_FOREVER) {
        (void)snprintf(text, TIMESTAMP_SIZE, "%s", at_ns == 0 ? "" : "never");
    } else {
        timestamp_write(at_ns, text);
    }
}

static bool add_row(struct libscols_table *table, const struct weir_job_schedule *schedule)
{
    char when[WEIR_SCHEDULE_CRON_SIZE_MAX + WEIR_SCHEDULE_ZONE_SIZE_MAX + 8];
    char next[TIMESTAMP_SIZE];
    char last[TIMESTAMP_SIZE];
    char fired[24];
    char skipped[24];
    char every[32];
    char *problem = text_escape(schedule->problem, strlen(schedule->problem));
    (void)weir_duration_format(schedule->interval_ns, every, sizeof(every));
    bool has_zone = schedule->zone[0] != '\0';
    (void)snprintf(when, sizeof(when), "%s%s%s%s",
                   schedule->interval_ns > 0 ? "every " : schedule->cron,
                   schedule->interval_ns > 0 ? every : "", has_zone ? " " : "", schedule->zone);
    (void)snprintf(fired, sizeof(fired), "%" PRIu64, schedule->fired);
    (void)snprintf(skipped, sizeof(skipped), "%" PRIu64, schedule->skipped);
    write_time(schedule->next_ns, next);
    write_time(schedule->last_ns, last);
    char *when_shown = text_escape(when, strlen(when));
    const char *outcome =
        schedule->last_ended_ns == 0 ? "" : weir_job_outcome_name(schedule->last_outcome);
    const char *const cells[COLUMN_COUNT] = {
        schedule->name, schedule->tube, when_shown, schedule->is_paused ? "paused" : next,
        fired,          skipped,        last,       outcome,
        problem};
    bool added = problem != NULL && when_shown != NULL && table_add(table, cells, COLUMN_COUNT);
    free(when_shown);
    free(problem);
    return added;
}

static int show(const struct weir_job_schedule *shown, void *arg)
{
    struct schedule *schedule = arg;
    schedule->failed = schedule->json ? !table_print_json(json_of_schedule(shown, true))
                                      : !add_row(schedule->table, shown);
    return schedule->failed ? 1 : 0;
}

static int refuse(enum weir_status status, const char *name, const struct weir_error *error)
{
    return status == WEIR_ENOTFOUND
               ? report(EX_NOINPUT,
                        "%s: no such schedule; expected one that `weir schedule ls` "
                        "shows",
                        quote(name).text)
               : report_status(status, name != NULL ? quote(name).text : "schedules", error);
}

static int ls(struct schedule *schedule, const struct arguments *arguments)
{
    static const char *const names[] = {"ls", "name"};
    struct store store;
    struct weir_error error = {0};
    const char *name = arguments->count > 1 ? arguments->operands[1] : NULL;
    int code = arguments_expect(arguments, names, 2, 1);
    if (code != EX_OK) {
        return code;
    }
    code = store_open(&store, arguments, STORE_READ);
    schedule->table = table_new(columns, COLUMN_COUNT);
    if (code == EX_OK && schedule->table == NULL) {
        code = report_status(WEIR_ENOMEM, "table", NULL);
    }
    if (code == EX_OK) {
        enum weir_status status = weir_broker_schedules(store.broker, name, show, schedule, &error);
        code = status != WEIR_OK  ? refuse(status, name, &error)
               : schedule->failed ? table_refuse()
               : schedule->json   ? EX_OK
                                  : table_print(schedule->table);
    }
    scols_unref_table(schedule->table);
    store_close(&store);
    return code;
}

/* --- changes --- */

/* Makes a change of each schedule that is named; one that fails does not keep the others from it.
 */
static int change(const struct arguments *arguments, enum weir_schedule_change change)
{
    struct store store;
    int code =
        arguments->count > 1 ? EX_OK : report(EX_USAGE, "no name; expected one or more schedules");
    if (code != EX_OK) {
        return code;
    }
    code = store_open(&store, arguments, STORE_ALTER);
    for (size_t i = 1; i < arguments->count && store.broker != NULL; i++) {
        struct weir_error error = {0};
        struct weir_job_id id;
        enum weir_status status =
            weir_broker_schedule_change(store.broker, arguments->operands[i], change, &id, &error);
        if (status != WEIR_OK) {
            code = refuse(status, arguments->operands[i], &error);
        } else if (change == WEIR_SCHEDULE_RUN && (puts(id.text) < 0 || fflush(stdout) != 0)) {
            (void)table_refuse();
        }
    }
    store_close(&store);
    return code;
}

static int act(struct arguments *arguments, void *arg)
{
    struct schedule *schedule = arg;
    static const struct {
        const char *name;
        enum weir_schedule_change change;
    } changes[] = {{"rm", WEIR_SCHEDULE_REMOVE},
                   {"pause", WEIR_SCHEDULE_PAUSE},
                   {"resume", WEIR_SCHEDULE_RESUME},
                   {"run", WEIR_SCHEDULE_RUN}};
    const char *action = arguments->count > 0 ? arguments->operands[0] : "";
    if (strcmp(action, "add") == 0) {
        return schedule->json ? report(EX_USAGE, "--json: expected it beside ls")
                              : add(schedule, arguments);
    }
    if (schedule->added != 0) {
        char name[64];
        return report(EX_USAGE, "%s: expected it beside add",
                      arguments_name(arguments, schedule->added, name));
    }
    if (strcmp(action, "ls") == 0) {
        return ls(schedule, arguments);
    }
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        if (strcmp(action, changes[i].name) == 0) {
            return schedule->json ? report(EX_USAGE, "--json: expected it beside ls")
                                  : change(arguments, changes[i].change);
        }
    }
    return report(EX_USAGE, "%s: expected one of add, ls, rm, pause, resume, run",
                  action[0] != '\0' ? quote(action).text : "no action");
}

const struct command command_schedule = {
    .name = "schedule",
    .operands = "add NAME TUBE [BODY] | ls [NAME] | rm|pause|resume|run NAME...",
    .summary = "put jobs again and again, at times or at a rate",
    .examples = "  weir schedule add nightly backups --cron '30 2 * * *' --zone Europe/Berlin\n"
                "  weir schedule add poll feeds --every 10m --no-overlap\n"
                "  weir schedule ls\n"
                "  weir schedule run nightly     now as well\n",
    .options = schedule_options,
    .set = set_option,
    .act = act,
    .state = &(struct schedule){.options = {0}},
};

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include <jansson.h>

#include <weir/duration.h>
#include <weir/policy.h>

#include "cli/arguments.h"
#include "cli/report.h"
#include "cli/store.h"
#include "cli/table.h"
#include "view/json.h"

enum policy_option {
    OPTION_ARCHIVE = OPTION_OWN,
    OPTION_ARCHIVE_COUNT,
    OPTION_JSON,
    OPTION_LATE,
    OPTION_LATE_AFTER,
    OPTION_OVERDUE_RATE
};

static const struct poptOption policy_options[] = {
    OPTION_VALUE("archive", '\0', OPTION_ARCHIVE,
                 "Keep jobs that are done so long; `forever`; 0: delete them (the default)",
                 "DURATION"),
    OPTION_VALUE("archive-count", '\0', OPTION_ARCHIVE_COUNT,
                 "Keep at most so many, the newest; 0: any number (the default)", "N"),
    OPTION_VALUE("late", '\0', OPTION_LATE,
                 "What becomes of jobs that are found late: run (the default), bury or drop",
                 "WHAT"),
    OPTION_VALUE("late-after", '\0', OPTION_LATE_AFTER,
                 "Later than this after the run time is late (default: 30m)", "DURATION"),
    OPTION_VALUE("overdue-rate", '\0', OPTION_OVERDUE_RATE,
                 "Hand out at most so many jobs a second while the next one is overdue by more "
                 "than a minute; 0: any number (the default)",
                 "N"),
    OPTION_FLAG("json", '\0', OPTION_JSON, "Print an object"),
    POPT_TABLEEND,
};

/* What the options say; is_set of those that were given. */
struct asked {
    struct weir_tube_policy policy;
    bool is_set[OPTION_OVERDUE_RATE + 1];
    bool json;
};

static int read_late(const char *name, const char *text, uint32_t *ret_late)
{
    for (uint32_t late = WEIR_LATE_RUN; late <= WEIR_LATE_DROP; late++) {
        if (strcmp(text, weir_late_name((enum weir_late)late)) == 0) {
            *ret_late = late;
            return EX_OK;
        }
    }
    return report(EX_USAGE, "%s: %s: expected run, bury or drop", name, quote(text).text);
}

static int set_option(int option, const char *name, const char *text, void *arg)
{
    struct asked *asked = arg;
    struct weir_tube_policy *policy = &asked->policy;
    int64_t number = 0;
    int code;
    asked->is_set[option] = true;
    switch ((enum policy_option)option) {
    case OPTION_ARCHIVE:
        if (strcmp(text, "forever") == 0) {
            policy->archive_ns = WEIR_FOREVER;
            return EX_OK;
        }
        return read_duration(name, text, 0, &policy->archive_ns);
    case OPTION_ARCHIVE_COUNT:
        code = read_number(name, text, 0, INT64_C(999999999999999999), &number);
        policy->archive_count = (uint64_t)number;
        return code;
    case OPTION_LATE:
        return read_late(name, text, &policy->late);
    case OPTION_LATE_AFTER:
        return read_duration(name, text, 1, &policy->late_ns);
    case OPTION_OVERDUE_RATE:
        code = read_number(name, text, 0, UINT32_MAX, &number);
        policy->overdue_rate = (uint32_t)number;
        return code;
    case OPTION_JSON:
        asked->json = true;
        break;
    }
    return EX_OK;
}

/* Takes what was asked for into the policy that is there. A number of jobs to keep switches the
 * archive on, and a limit for late jobs their burial. */
static bool merge(const struct asked *asked, struct weir_tube_policy *policy)
{
    const bool *is_set = asked->is_set;
    const struct weir_tube_policy *wanted = &asked->policy;
    policy->archive_ns = is_set[OPTION_ARCHIVE] ? wanted->archive_ns : policy->archive_ns;
    policy->archive_count =
        is_set[OPTION_ARCHIVE_COUNT] ? wanted->archive_count : policy->archive_count;
    if (policy->archive_ns == 0 && !is_set[OPTION_ARCHIVE] && policy->archive_count > 0) {
        policy->archive_ns = WEIR_FOREVER;
    }
    policy->archive_count = policy->archive_ns == 0 ? 0 : policy->archive_count;
    policy->late = is_set[OPTION_LATE] ? wanted->late : policy->late;
    policy->late_ns = is_set[OPTION_LATE_AFTER] ? wanted->late_ns : policy->late_ns;
    if (policy->late == WEIR_LATE_RUN && is_set[OPTION_LATE_AFTER]) {
        policy->late = WEIR_LATE_BURY;
    }
    policy->late_ns = policy->late == WEIR_LATE_RUN ? 0 : policy->late_ns;
    policy->overdue_rate =
        is_set[OPTION_OVERDUE_RATE] ? wanted->overdue_rate : policy->overdue_rate;
    return is_set[OPTION_ARCHIVE] || is_set[OPTION_ARCHIVE_COUNT] || is_set[OPTION_LATE] ||
           is_set[OPTION_LATE_AFTER] || is_set[OPTION_OVERDUE_RATE];
}

static void print_duration(const char *name, int64_t ns, const char *none)
{
    char text[32];
    (void)weir_duration_format(ns, text, sizeof(text));
    (void)printf("%-14s%s\n", name, ns == 0 ? none : ns == WEIR_FOREVER ? "forever" : text);
}

static void print_number(const char *name, uint64_t number, const char *none)
{
    if (number == 0) {
        (void)printf("%-14s%s\n", name, none);
    } else {
        (void)printf("%-14s%" PRIu64 "\n", name, number);
    }
}

static int print(const char *tube, const struct weir_tube_policy *policy,
                 const struct weir_tube_policy_counts *counts, bool json)
{
    const char *late = weir_late_name((enum weir_late)policy->late);
    if (json) {
        return table_print_json(json_of_policy(tube, policy, counts)) ? EX_OK : table_refuse();
    }
    print_duration("archive", policy->archive_ns, "no");
    print_number("archive-count", policy->archive_count, "any number");
    (void)printf("%-14s%s\n", "late", late);
    print_duration("late-after", policy->late_ns, "-");
    print_number("overdue-rate", policy->overdue_rate, "any number");
    (void)printf("%-14s%" PRIu64 "\n%-14s%" PRIu64 "\n%-14s%" PRIu64 "\n", "archived",
                 counts->archived, "late buried", counts->buried, "late dropped", counts->dropped);
    return EX_OK;
}

/* Changes the policy where that was asked for, else shows it. */
static int apply(struct store *store, const char *tube, const struct asked *asked)
{
    struct weir_tube_policy policy = {0};
    struct weir_tube_policy_counts counts = {0, 0, 0};
    struct weir_error error = {0};
    enum weir_status status = weir_broker_policy(store->broker, tube, &policy, &counts, &error);
    bool is_known = status == WEIR_OK;
    bool is_changing = merge(asked, &policy);
    if (is_changing && (is_known || status == WEIR_ENOTFOUND)) {
        status = weir_broker_set_policy(store->broker, tube, &policy, &error);
    }
    if (status == WEIR_ENOTFOUND) {
        return report(EX_NOINPUT, "%s: no such tube; expected one that a job was put into",
                      quote(tube).text);
    }
    if (status != WEIR_OK) {
        return report_status(status, quote(tube).text, &error);
    }
    return is_changing ? EX_OK : print(tube, &policy, &counts, asked->json);
}

/* Refuses options that contradict each other. */
static int check(const struct asked *asked)
{
    const bool *is_set = asked->is_set;
    if (is_set[OPTION_ARCHIVE] && asked->policy.archive_ns == 0 &&
        asked->policy.archive_count > 0) {
        return report(EX_USAGE, "--archive-count: none are kept; expected --archive with a time");
    }
    if (is_set[OPTION_LATE] && asked->policy.late == WEIR_LATE_RUN && is_set[OPTION_LATE_AFTER]) {
        return report(EX_USAGE, "--late-after: late jobs run; expected --late bury or drop");
    }
    return EX_OK;
}

static bool is_change(const struct asked *asked)
{
    struct weir_tube_policy ignored = {0};
    return merge(asked, &ignored);
}

static int act(struct arguments *arguments, void *arg)
{
    const struct asked *asked = arg;
    struct store store = {0};
    const char *tube = arguments->operands[0];
    int code = read_tube(tube);
    code = code == EX_OK ? check(asked) : code;
    if (code == EX_OK) {
        code = store_open(&store, arguments, is_change(asked) ? STORE_CHANGE : STORE_READ);
    }
    code = code == EX_OK ? apply(&store, tube, asked) : code;
    store_close(&store);
    return code;
}

static int run_policy(const struct command *command, int argc, char **argv)
{
    struct asked asked = {.policy = {0}};
    return arguments_run(command, argc, argv, set_option, act, &asked);
}

const struct command command_policy = {
    .name = "policy",
    .operands = "TUBE",
    .names = {"tube"},
    .summary = "keep done jobs of a tube, and say what becomes of late ones",
    .examples = "  weir policy mail                                   show it\n"
                "  weir policy mail --archive 7d --archive-count 10000\n"
                "  weir policy mail --late bury --late-after 1h\n"
                "  weir policy mail --overdue-rate 50                 after an outage\n"
                "  weir ls mail --state archived\n",
    .options = policy_options,
    .run = run_policy,
};

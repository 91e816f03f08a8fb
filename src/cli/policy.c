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

#include "cli/policy_entry.h"
#include "cli/report.h"
#include "cli/store.h"
#include "cli/table.h"
#include "view/json.h"

enum own_option {
    OPTION_JSON = OPTION_OWN
};

static const struct poptOption policy_options[] = {
    POLICY_ENTRY_OPTIONS,
    OPTION_FLAG("json", '\0', OPTION_JSON, "Print an object"),
    POPT_TABLEEND,
};

struct asked {
    struct weir_tube_policy change;
    bool json;
};

static int set_option(int option, const char *name, const char *text, void *arg)
{
    struct asked *asked = arg;
    switch ((enum own_option)option) {
    case OPTION_JSON:
        asked->json = true;
        return EX_OK;
    }
    return policy_entry_set(option, name, text, &asked->change);
}

static void print_duration(const char *name, int64_t ns, const char *none)
{
    char text[32];
    (void)weir_duration_format(ns, text, sizeof(text));
    (void)printf("%-14s%s\n", name, ns <= 0 ? none : ns == WEIR_FOREVER ? "forever" : text);
}

static void print_number(const char *name, uint64_t number, const char *none)
{
    (void)(number == 0 ? printf("%-14s%s\n", name, none)
                       : printf("%-14s%" PRIu64 "\n", name, number));
}

static int print(const char *tube, const struct weir_tube_policy *policy,
                 const struct weir_tube_policy_counts *counts, bool json)
{
    if (json) {
        return table_print_json(json_of_policy(tube, policy, counts)) ? EX_OK : table_refuse();
    }
    print_duration("keep", policy->keep_ns, "none");
    print_number("keep-count", policy->keep_count, "-");
    (void)printf("%-14s%s\n", "archive", policy->archive != 0 ? "yes" : "no");
    (void)printf("%-14s%s\n", "late", weir_late_name((enum weir_late)policy->late));
    print_duration("late-after", policy->late_ns, "-");
    print_number("per-group", policy->group_limit, "any number");
    (void)printf("%-14s%" PRIu64 "\n%-14s%" PRIu64 "\n%-14s%" PRIu64 "\n", "ended", counts->ended,
                 "late buried", counts->buried, "late dropped", counts->dropped);
    return EX_OK;
}

static int show(struct store *store, const char *tube, bool json)
{
    struct weir_tube_policy policy;
    struct weir_tube_policy_counts counts;
    struct weir_error error = {0};
    enum weir_status status = weir_broker_policy(store->broker, tube, &policy, &counts, &error);
    if (status == WEIR_ENOTFOUND) {
        return report(EX_NOINPUT, "%s: no such tube; expected one that a job was put into",
                      quote(tube).text);
    }
    return status == WEIR_OK ? print(tube, &policy, &counts, json)
                             : report_status(status, quote(tube).text, &error);
}

/* Changes the policy where that was asked for, else shows it. */
static int act(struct arguments *arguments, void *arg)
{
    const struct asked *asked = arg;
    struct store store = {0};
    const char *tube = arguments->operands[0];
    bool is_change = asked->change.members != 0;
    int code = read_tube(tube);
    code = code == EX_OK ? policy_entry_check(&asked->change, "", "--") : code;
    if (code == EX_OK) {
        code = store_open(&store, arguments, is_change ? STORE_CHANGE : STORE_READ);
    }
    if (code == EX_OK) {
        code = is_change ? policy_entry_apply(store.broker, tube, &asked->change)
                         : show(&store, tube, asked->json);
    }
    store_close(&store);
    return code;
}

const struct command command_policy = {
    .name = "policy",
    .operands = "TUBE",
    .names = {"tube"},
    .summary = "keep ended jobs of a tube, bury late ones, limit its groups",
    .examples = "  weir policy mail                                   show it\n"
                "  weir policy mail --keep 7d --keep-count 10000\n"
                "  weir policy mail --late bury --late-after 1h\n"
                "  weir policy mail --per-group 2                     two of each group at once\n",
    .options = policy_options,
    .set = set_option,
    .act = act,
    .state = &(struct asked){.json = false},
};

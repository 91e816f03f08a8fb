/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <sysexits.h>

#include "cli/matching.h"

enum bury_option {
    OPTION_JSON = OPTION_OWN,
    OPTION_REASON
};

static const struct poptOption bury_options[] = {
    MATCHING_OPTIONS,
    OPTION_VALUE("reason", '\0', OPTION_REASON,
                 "Why, as `weir peek` shows it (default: buried by hand)", "TEXT"),
    OPTION_FLAG("json", '\0', OPTION_JSON, "Print an object a job"),
    POPT_TABLEEND,
};

struct bury {
    struct ids_verb verb;
    struct matching matching;
    bool json;
};

static int set_option(int option, const char *name, const char *text, void *arg)
{
    struct bury *bury = arg;
    switch ((enum bury_option)option) {
    case OPTION_REASON:
        bury->verb.change.reason = text;
        return EX_OK;
    case OPTION_JSON:
        bury->json = true;
        return EX_OK;
    }
    return matching_set(&bury->matching, option, name, text);
}

static int bury_jobs(struct arguments *arguments, void *arg)
{
    const struct bury *bury = arg;
    return matching_run(&bury->matching, arguments, &bury->verb, bury->json);
}

static int run_bury(const struct command *command, int argc, char **argv)
{
    struct bury bury = {.verb = {.change = {.kind = WEIR_CHANGE_BURY, .reason = "buried by hand"},
                                 .plain = "bury",
                                 .done = "buried",
                                 .states = IDS_WAITING,
                                 .expected = "a job that is delayed or ready"},
                        .matching = {.filter = {0}}};
    return arguments_run(command, argc, argv, set_option, bury_jobs, &bury);
}

const struct command command_bury = {
    .name = "bury",
    .operands = "ID... | --tube TUBE FILTER...",
    .summary = "set jobs aside until they are kicked",
    .examples = "  weir bury 17 18\n"
                "  weir bury --reason 'the printer is on fire' --tube print --older 1h\n",
    .options = bury_options,
    .run = run_bury,
};

/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <sysexits.h>

#include "cli/ids.h"
#include "cli/report.h"

enum {
    OPTION_JSON = OPTION_OWN,
    OPTION_REASON
};

static const struct poptOption bury_options[] = {
    OPTION_VALUE("reason", '\0', OPTION_REASON,
                 "Why, as `weir peek` shows it (default: buried by hand)", "TEXT"),
    OPTION_FLAG("json", '\0', OPTION_JSON, "Print an object a job"),
    POPT_TABLEEND,
};

struct bury {
    struct ids_verb verb;
    bool json;
};

static int set_option(int option, const char *name, const char *text, void *arg)
{
    struct bury *bury = arg;
    (void)name;
    if (option == OPTION_REASON) {
        bury->verb.reason = text;
    } else {
        bury->json = true;
    }
    return EX_OK;
}

static int run_bury(const struct command *command, int argc, char **argv)
{
    struct bury bury = {.verb = {.what = IDS_BURY,
                                 .done = "buried",
                                 .expected = "a job that is delayed or ready",
                                 .reason = "buried by hand"}};
    struct arguments arguments;
    int code = arguments_parse(&arguments, command, argc, argv, set_option, &bury);
    if (code == EX_OK && !arguments.helped) {
        code = arguments.count > 0 ? ids_change(&arguments, &bury.verb, bury.json)
                                   : report(EX_USAGE, "no id; expected %s", command->operands);
    }
    arguments_free(&arguments);
    return code;
}

const struct command command_bury = {
    .name = "bury",
    .operands = "ID...",
    .summary = "set jobs aside until they are kicked",
    .examples = "  weir bury 17 18\n"
                "  weir bury --reason 'the printer is on fire' 17\n",
    .options = bury_options,
    .run = run_bury,
};

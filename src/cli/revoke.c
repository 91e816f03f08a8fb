/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <sysexits.h>

#include "cli/ids.h"
#include "cli/report.h"

enum {
    OPTION_JSON = OPTION_OWN
};

static const struct poptOption revoke_options[] = {
    OPTION_FLAG("json", '\0', OPTION_JSON, "Print an object a job"),
    POPT_TABLEEND,
};

static int set_option(int option, const char *name, const char *text, void *arg)
{
    (void)option;
    (void)name;
    (void)text;
    *(bool *)arg = true;
    return EX_OK;
}

static int run_revoke(const struct command *command, int argc, char **argv)
{
    static const struct ids_verb verb = {.what = IDS_REMOVE,
                                         .done = "revoked",
                                         .expected = "a job that is delayed, ready or buried"};
    struct arguments arguments;
    bool json = false;
    int code = arguments_parse(&arguments, command, argc, argv, set_option, &json);
    if (code == EX_OK && !arguments.helped) {
        code = arguments.count > 0 ? ids_change(&arguments, &verb, json)
                                   : report(EX_USAGE, "no id; expected %s", command->operands);
    }
    arguments_free(&arguments);
    return code;
}

const struct command command_revoke = {
    .name = "revoke",
    .operands = "ID...",
    .summary = "take back jobs that do not run",
    .examples = "  weir revoke 17 18 19\n"
                "  id=$(weir put --delay 1h mail 'too hasty') && weir revoke \"$id\"\n",
    .options = revoke_options,
    .run = run_revoke,
};

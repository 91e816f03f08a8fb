/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <sysexits.h>

#include "cli/matching.h"

enum rm_option {
    OPTION_JSON = OPTION_OWN
};

static const struct poptOption rm_options[] = {
    MATCHING_OPTIONS,
    OPTION_FLAG("json", '\0', OPTION_JSON, "Print objects instead of words"),
    POPT_TABLEEND,
};

/* Of rm and of revoke, which do the same and say so in their own words. */
struct rm {
    const struct ids_verb *verb;
    struct matching matching;
    bool json;
};

static int set_option(int option, const char *name, const char *text, void *arg)
{
    struct rm *rm = arg;
    switch ((enum rm_option)option) {
    case OPTION_JSON:
        rm->json = true;
        return EX_OK;
    }
    return matching_set(&rm->matching, option, name, text);
}

static int act(struct arguments *arguments, void *arg)
{
    const struct rm *rm = arg;
    return matching_run(&rm->matching, arguments, rm->verb, rm->json);
}

static int run(const struct command *command, int argc, char **argv, const struct ids_verb *verb)
{
    struct rm rm = {.verb = verb, .matching = {.filter = {0}}};
    return arguments_run(command, argc, argv, set_option, act, &rm);
}

static int run_rm(const struct command *command, int argc, char **argv)
{
    static const struct ids_verb verb = {.change.kind = WEIR_CHANGE_REMOVE,
                                         .plain = "remove",
                                         .done = "removed",
                                         .states = IDS_AT_REST | IDS_ARCHIVED,
                                         .expected =
                                             "a job that is delayed, ready, buried or archived"};
    return run(command, argc, argv, &verb);
}

static int run_revoke(const struct command *command, int argc, char **argv)
{
    static const struct ids_verb verb = {.change.kind = WEIR_CHANGE_REMOVE,
                                         .plain = "revoke",
                                         .done = "revoked",
                                         .states = IDS_AT_REST,
                                         .expected = "a job that is delayed, ready or buried"};
    return run(command, argc, argv, &verb);
}

const struct command command_rm = {
    .name = "rm",
    .operands = "ID... | --tube TUBE FILTER...",
    .summary = "delete jobs for good",
    .examples = "  weir rm 17 18\n"
                "  weir rm --tube img --state buried --older 7d --dry-run\n"
                "  weir rm --tube img --text 'no such file'\n",
    .options = rm_options,
    .run = run_rm,
};

const struct command command_revoke = {
    .name = "revoke",
    .operands = "ID... | --tube TUBE FILTER...",
    .summary = "take back jobs that do not run",
    .examples = "  weir revoke 17 18 19\n"
                "  weir revoke --tube mail --state delayed --text 'to: you'\n"
                "  id=$(weir put --delay 1h mail 'too hasty') && weir revoke \"$id\"\n",
    .options = rm_options,
    .run = run_revoke,
};

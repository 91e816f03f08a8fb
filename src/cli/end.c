/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <sysexits.h>

#include "cli/matching.h"

/* `rm` and `bury`: each ends jobs, by their ids or all that match. */

enum end_option {
    OPTION_JSON = OPTION_OWN,
    OPTION_REASON
};

static const struct poptOption rm_options[] = {
    MATCHING_OPTIONS,
    OPTION_FLAG("json", '\0', OPTION_JSON, "Print objects instead of words"),
    POPT_TABLEEND,
};

static const struct poptOption bury_options[] = {
    MATCHING_OPTIONS,
    OPTION_VALUE("reason", '\0', OPTION_REASON,
                 "Why, as `weir ls` shows it (default: buried by hand)", "TEXT"),
    OPTION_FLAG("json", '\0', OPTION_JSON, "Print an object a job"),
    POPT_TABLEEND,
};

struct end {
    struct ids_verb verb;
    struct matching matching;
    bool json;
};

static int set_option(int option, const char *name, const char *text, void *arg)
{
    struct end *end = arg;
    switch ((enum end_option)option) {
    case OPTION_REASON:
        end->verb.change.reason = text;
        return EX_OK;
    case OPTION_JSON:
        end->json = true;
        return EX_OK;
    }
    return matching_set(&end->matching, option, name, text);
}

static int act(struct arguments *arguments, void *arg)
{
    const struct end *end = arg;
    return matching_run(&end->matching, arguments, &end->verb, end->json);
}

const struct command command_rm = {
    .name = "rm",
    .operands = "ID... | --tube TUBE FILTER...",
    .summary = "delete jobs for good",
    .examples = "  weir rm 17 18\n"
                "  weir rm --tube img --state buried --older 7d --dry-run\n"
                "  weir rm --tube img --text 'no such file'\n"
                "  id=$(weir put --delay 1h mail 'too hasty') && weir rm \"$id\"\n",
    .options = rm_options,
    .set = set_option,
    .act = act,
    .state = &(struct end){.verb = {.change = {.kind = WEIR_CHANGE_REMOVE},
                                    .plain = "remove",
                                    .done = "removed",
                                    .states = IDS_AT_REST | IDS_ARCHIVED,
                                    .expected = "a job that is delayed, ready, buried or archived"},
                           .matching = {.filter = {0}}},
};

const struct command command_bury = {
    .name = "bury",
    .operands = "ID... | --tube TUBE FILTER...",
    .summary = "set jobs aside until they are kicked",
    .examples = "  weir bury 17 18\n"
                "  weir bury --reason 'the printer is on fire' --tube print --older 1h\n",
    .options = bury_options,
    .set = set_option,
    .act = act,
    .state =
        &(struct end){.verb = {.change = {.kind = WEIR_CHANGE_BURY, .reason = "buried by hand"},
                               .plain = "bury",
                               .done = "buried",
                               .states = IDS_WAITING,
                               .expected = "a job that is delayed or ready"},
                      .matching = {.filter = {0}}},
};

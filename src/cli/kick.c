/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <sysexits.h>

#include "cli/matching.h"
#include "cli/report.h"
#include "cli/store.h"
#include "cli/table.h"

enum kick_option {
    OPTION_IDS = OPTION_OWN,
    OPTION_JSON
};

/* Jobs kicked in one transaction, so that others can write in between. */
#define STEP 1000

static const struct poptOption kick_options[] = {
    MATCHING_OPTIONS,
    OPTION_FLAG("ids", '\0', OPTION_IDS, "The operands are ids of jobs"),
    OPTION_FLAG("json", '\0', OPTION_JSON, "Print an object instead of words"),
    POPT_TABLEEND,
};

struct kick {
    struct matching matching;
    int64_t limit; /* INT64_MAX: all */
    bool ids;
    bool json;
};

static int set_option(int option, const char *name, const char *text, void *arg)
{
    struct kick *kick = arg;
    switch ((enum kick_option)option) {
    case OPTION_IDS:
        kick->ids = true;
        return EX_OK;
    case OPTION_JSON:
        kick->json = true;
        return EX_OK;
    }
    return matching_set(&kick->matching, option, name, text);
}

/* Kicks those that are buried now. A job that fails again meanwhile is not kicked twice. */
static int kick_tube(const struct kick *kick, const char *tube, weir_broker *broker)
{
    struct weir_tube_counts counts = {.tube = ""};
    struct weir_error error = {0};
    enum weir_status status = weir_broker_tubes(broker, tube, store_keep_counts, &counts, &error);
    if (status == WEIR_OK && counts.tube[0] == '\0') {
        return report(EX_NOINPUT, "%s: no such tube; expected one that a job was put into",
                      quote(tube).text);
    }
    uint64_t most = (uint64_t)kick->limit < counts.buried ? (uint64_t)kick->limit : counts.buried;
    uint64_t kicked = 0;
    size_t step = 1;
    size_t asked = 1;
    while (status == WEIR_OK && step == asked && kicked < most) {
        asked = most - kicked < STEP ? (size_t)(most - kicked) : STEP;
        status = weir_broker_kick(broker, tube, asked, &step, &error);
        kicked += status == WEIR_OK || status == WEIR_EUNKNOWN ? step : 0;
    }
    bool printed =
        kick->json
            ? table_print_json(json_pack("{s:s, s:I}", "tube", tube, "kicked", (json_int_t)kicked))
            : printf("kicked %" PRIu64 " %s\n", kicked, kicked == 1 ? "job" : "jobs") >= 0;
    if (status != WEIR_OK) {
        return report_status(status, quote(tube).text, &error);
    }
    return printed ? EX_OK : table_refuse();
}

static int run_tube(struct kick *kick, const struct arguments *arguments)
{
    static const char *const names[] = {"tube", "count"};
    struct store store = {0};
    int code = arguments_expect(arguments, names, 2, 1);
    if (code == EX_OK) {
        code = read_tube(arguments->operands[0]);
    }
    if (code == EX_OK && arguments->count == 2) {
        code = read_number("count", arguments->operands[1], 1, INT32_MAX, &kick->limit);
    }
    if (code == EX_OK) {
        code = store_open(&store, arguments, STORE_ALTER);
        if (code == EX_OK) {
            code = kick_tube(kick, arguments->operands[0], store.broker);
        }
        store_close(&store);
    }
    return code;
}

static int act(struct arguments *arguments, void *arg)
{
    static const struct ids_verb verb = {.change.kind = WEIR_CHANGE_KICK,
                                         .plain = "kick",
                                         .done = "kicked",
                                         .states = IDS_BURIED,
                                         .expected = "a buried job"};
    struct kick *kick = arg;
    return kick->ids || kick->matching.first != 0
               ? matching_run(&kick->matching, arguments, &verb, kick->json)
               : run_tube(kick, arguments);
}

static int run_kick(const struct command *command, int argc, char **argv)
{
    struct kick kick = {.matching = {.filter = {0}}, .limit = INT64_MAX};
    return arguments_run(command, argc, argv, set_option, act, &kick);
}

const struct command command_kick = {
    .name = "kick",
    .operands = "TUBE [N] | --ids ID... | --tube TUBE FILTER...",
    .summary = "run buried jobs again",
    .examples = "  weir kick img         all of the tube\n"
                "  weir kick img 10      the ten that were put first\n"
                "  weir kick --ids 17 18\n"
                "  weir kick --tube img --text 'timed out'\n",
    .options = kick_options,
    .run = run_kick,
};
